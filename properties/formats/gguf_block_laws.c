/* SPDX-License-Identifier: MIT
 *
 * GGUF blocks: the engine against the oracle on random bytes and on every binary16 factor; blocks
 * put together from known numbers; rows that are refused.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/testing.h>

#include "oracle_formats.h"
#include "philox.h"
#include "words.h"

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14, BF16 = 30 };

static const uint32_t types[] = {F32, F16, Q4_0, Q8_0, Q4_K, Q5_K, Q6_K, BF16};
#define NUM_TYPES (sizeof types / sizeof types[0])
enum { MOST_VALUES = 2048, MOST_BYTES = 8192 };

/* The oracle's value is exact; the engine's is that rounded to binary32. Overflow of binary32 is
 * impossible in the blocks: 65504 * 63 * 31 and 65504 * 128 * 32 are far below. */
static void expect_row(uint32_t type, const uint8_t *row, int64_t columns)
{
    static float values[MOST_VALUES + 1];
    values[columns] = 123;
    assay_testing_gguf_decode_row(type, row, columns, values);
    cr_assert_eq(values[columns], 123, "type %u writes behind the row", type);
    for (int64_t k = 0; k < columns; k++) {
        double value = oracle_gguf_value(type, row, k);
        if (isnan(value))
            cr_assert(isnan(values[k]), "type %u, value %d: %a, not NaN", type, (int)k,
                      (double)values[k]);
        else
            cr_assert(values[k] == (float)value, "type %u, value %d: %a, not %a", type, (int)k,
                      (double)values[k], value);
    }
}

Test(gguf, random_bytes)
{
    static uint8_t bytes[MOST_BYTES + 4];
    for (size_t t = 0; t < NUM_TYPES; t++) {
        struct oracle_gguf_block block = oracle_gguf_block(types[t]);
        int64_t columns = MOST_VALUES / block.values * block.values, size;
        cr_assert_eq(assay_testing_gguf_row_bytes(types[t], columns, &size, NULL), ASSAY_OK);
        cr_assert_eq(size, columns / block.values * block.bytes);
        for (uint64_t seed = 0; seed < 200; seed++) {
            uint8_t *row = bytes + seed % 4; /* any alignment */
            for (int64_t i = 0; i < size; i += 8) {
                uint64_t word = philox_u64(seed, "gguf", (uint64_t)i);
                memcpy(row + i, &word, size - i < 8 ? (size_t)(size - i) : 8);
            }
            expect_row(types[t], row, columns);
        }
    }
}

/* Every binary16 word in the place of each factor. */
Test(gguf, all_factors)
{
    static const struct {
        uint32_t type;
        int places[2];
    } factors[] = {{Q4_0, {0, 0}},     {Q8_0, {0, 0}}, {Q4_K, {0, 2}}, {Q5_K, {0, 2}},
                   {Q6_K, {208, 208}}, {F16, {0, 0}},  {BF16, {0, 0}}};
    uint8_t row[256];
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        struct oracle_gguf_block block = oracle_gguf_block(factors[i].type);
        for (int place = 0; place < 2; place++)
            for (int word = 0; word < 65536; word += place == 0 ? 1 : 7) {
                if (word % 64 == 0)
                    for (int b = 0; b < block.bytes; b++)
                        row[b] = (uint8_t)philox_u64((uint64_t)word, "block", (uint64_t)b);
                row[factors[i].places[place]] = (uint8_t)(word & 255);
                row[factors[i].places[place] + 1] = (uint8_t)(word >> 8);
                expect_row(factors[i].type, row, block.values);
            }
    }
}

/* ---- blocks from known numbers --------------------------------------------------------------- */

static void put_half(uint8_t *bytes, double value)
{
    uint16_t word = oracle_f16_word(value);
    bytes[0] = (uint8_t)(word & 255);
    bytes[1] = (uint8_t)(word >> 8);
}

static void expect_values(uint32_t type, const uint8_t *block, const double *expected)
{
    int count = oracle_gguf_block(type).values;
    float values[256];
    assay_testing_gguf_decode_row(type, block, count, values);
    for (int e = 0; e < count; e++) {
        cr_assert((double)values[e] == expected[e], "type %u, value %d: engine %g, not %g", type, e,
                  (double)values[e], expected[e]);
        cr_assert(oracle_gguf_value(type, block, e) == expected[e],
                  "type %u, value %d: oracle %g, not %g", type, e,
                  oracle_gguf_value(type, block, e), expected[e]);
    }
}

/* 0.5 times codes that count up: nibble pairs (e, e + 16). */
Test(gguf, by_hand)
{
    uint8_t block[256] = {0x00, 0x38}; /* 0.5 */
    double expected[256];
    for (int e = 0; e < 16; e++) {
        block[2 + e] = (uint8_t)(e | (15 - e) << 4);
        expected[e] = 0.5 * (e - 8);
        expected[e + 16] = 0.5 * (7 - e);
    }
    expect_values(Q4_0, block, expected);
    for (int e = 0; e < 32; e++) {
        block[2 + e] = (uint8_t)(8 * e - 128);
        expected[e] = 0.5 * (e < 16 ? 8 * e - 128 : 8 * e - 128);
    }
    expect_values(Q8_0, block, expected);
    /* 1.0 and infinity in both 16-bit formats. */
    expect_values(F16, (const uint8_t[]){0x00, 0x3c}, (const double[]){1});
    expect_values(F16, (const uint8_t[]){0x01, 0x00}, (const double[]){0x1p-24});
    expect_values(BF16, (const uint8_t[]){0x80, 0x3f}, (const double[]){1});
    expect_values(BF16, (const uint8_t[]){0x80, 0xff}, (const double[]){-INFINITY});
    expect_values(F32, (const uint8_t[]){0x00, 0x00, 0xc0, 0x3f}, (const double[]){1.5});
}

/* Sub-block j: scale 7 j + 9 and minimum 63 - 5 j (of 6 bits: all of 9 .. 58 and 28 .. 63). */
static void pack_six_bits(uint8_t *packed)
{
    int scale[8], minimum[8];
    for (int j = 0; j < 8; j++) {
        scale[j] = 7 * j + 9;
        minimum[j] = 63 - 5 * j;
    }
    for (int j = 0; j < 4; j++) {
        packed[j] = (uint8_t)(scale[j] + 64 * (scale[j + 4] / 16));
        packed[j + 4] = (uint8_t)(minimum[j] + 64 * (minimum[j + 4] / 16));
        packed[j + 8] = (uint8_t)(scale[j + 4] % 16 + 16 * (minimum[j + 4] % 16));
    }
}

Test(gguf, k_blocks)
{
    for (int fifth = 0; fifth < 2; fifth++) {
        uint8_t block[256] = {0};
        uint8_t *high = block + 16, *low = block + (fifth ? 48 : 16);
        double expected[256];
        put_half(block, 0.25);
        put_half(block + 2, -1.5);
        pack_six_bits(block + 4);
        for (int e = 0; e < 256; e++) {
            int j = e / 32, l = e % 32, code = (11 * e + e / 32) % (fifth ? 32 : 16);
            low[e / 64 * 32 + l] |= (uint8_t)(code % 16 << (j % 2 == 1 ? 4 : 0));
            if (fifth)
                high[l] |= (uint8_t)(code / 16 << j);
            expected[e] = 0.25 * (7 * j + 9) * code + 1.5 * (63 - 5 * j);
        }
        expect_values(fifth ? Q5_K : Q4_K, block, expected);
    }
    uint8_t block[256] = {0};
    double expected[256];
    put_half(block + 208, 0.125);
    for (int g = 0; g < 16; g++)
        block[192 + g] = (uint8_t)(17 * g - 128);
    for (int e = 0; e < 256; e++) {
        int half = e / 128, quarter = e / 32 % 4, l = e % 32, code = (13 * e + 5 * (e / 64)) % 64;
        int place = 64 * half + (quarter == 1 || quarter == 3 ? 32 : 0) + l;
        block[place] |= (uint8_t)(code % 16 << (quarter >= 2 ? 4 : 0));
        block[128 + 32 * half + l] |= (uint8_t)(code / 16 << 2 * quarter);
        expected[e] = 0.125 * (17 * (e / 16) - 128) * (code - 32);
    }
    expect_values(Q6_K, block, expected);
}

Test(gguf, refused)
{
    int64_t bytes;
    struct assay_error error = {0};
    for (uint32_t type = 0; type < 64; type++) {
        struct oracle_gguf_block block = oracle_gguf_block(type);
        assay_status status = assay_testing_gguf_row_bytes(type, 256, &bytes, NULL);
        cr_assert_eq(status, block.values > 0 ? ASSAY_OK : ASSAY_E_UNSUPPORTED, "type %u", type);
        if (block.values > 0)
            cr_assert_eq(bytes, 256 / block.values * block.bytes);
        if (block.values > 1)
            for (int64_t columns = 1; columns < 512; columns++)
                cr_assert_eq(assay_testing_gguf_row_bytes(type, columns, &bytes, NULL),
                             columns % block.values == 0 ? ASSAY_OK : ASSAY_E_SHAPE);
    }
    cr_assert_eq(assay_testing_gguf_row_bytes(UINT32_MAX, 256, &bytes, NULL), ASSAY_E_UNSUPPORTED);
    cr_assert_eq(assay_testing_gguf_row_bytes(Q4_K, -256, &bytes, NULL), ASSAY_E_SHAPE);
    cr_assert_eq(assay_testing_gguf_row_bytes(F32, INT64_MAX, &bytes, NULL), ASSAY_E_SHAPE);
    cr_assert_eq(assay_testing_gguf_row_bytes(Q6_K, INT64_C(1) << 48, &bytes, NULL), ASSAY_OK);
    cr_assert_eq(bytes, (INT64_C(1) << 40) * 210);
    cr_assert_eq(assay_testing_gguf_row_bytes(Q5_K, 100, &bytes, &error), ASSAY_E_SHAPE);
    cr_assert(strstr(error.message, "Q5_K") != NULL, "%s", error.message);
}
