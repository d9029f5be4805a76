/* SPDX-License-Identifier: MIT
 *
 * GGUF blocks to binary32. A factor of binary16 has 11 significant bits, a sub-block's scale at
 * most 7 beside its sign, a code at most 5: products are exact in binary32, in either order.
 */
#include "formats/gguf_blocks.h"

#include <assay/testing.h>

#include <stddef.h>
#include <string.h>

#include "core/core.h"
#include "numeric/float_words.h"

static const struct gguf_block blocks[] = {
#define GGUF_BLOCK_ROW(enumerator, id, name, values, bytes) {id, name, values, bytes},
    GGUF_BLOCK_TABLE(GGUF_BLOCK_ROW)
#undef GGUF_BLOCK_ROW
};

const struct gguf_block *gguf_block_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i].type == type)
            return &blocks[i];
    return NULL;
}

assay_status gguf_row_bytes(uint32_t type, int64_t columns, const char *what, int64_t *bytes,
                            struct assay_error *error)
{
    const struct gguf_block *block = gguf_block_find(type);
    if (block == NULL)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "gguf", what,
                          "tensor type %u is not read; F32, F16, BF16, Q4_0, Q8_0, Q4_K, Q5_K and "
                          "Q6_K are",
                          (unsigned)type);
    if (columns < 0 || columns > INT64_C(1) << 48)
        return assay_fail(error, ASSAY_E_SHAPE, "gguf", what, "a row of %lld values",
                          (long long)columns);
    if (columns % block->values != 0)
        return assay_fail(error, ASSAY_E_SHAPE, "gguf", what,
                          "a row of %lld values is not whole blocks of %lld (%s)",
                          (long long)columns, (long long)block->values, block->name);
    *bytes = columns / block->values * block->bytes;
    return ASSAY_OK;
}

static float half_at(const uint8_t *bytes)
{
    return f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
}

static void decode_q4_0(const uint8_t *block, float *values)
{
    float d = half_at(block);
    const uint8_t *codes = block + 2;
    for (int e = 0; e < 16; e++) {
        values[e] = d * (float)((codes[e] & 15) - 8);
        values[e + 16] = d * (float)((codes[e] >> 4) - 8);
    }
}

static void decode_q8_0(const uint8_t *block, float *values)
{
    float d = half_at(block);
    for (int e = 0; e < 32; e++)
        values[e] = d * (float)(int8_t)block[2 + e];
}

/* Six bits each of scale and minimum for eight sub-blocks, in twelve bytes. */
static void sub_block_factors(const uint8_t *s, int j, int *scale, int *minimum)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *minimum = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        *minimum = s[j + 4] >> 4 | s[j] >> 6 << 4;
    }
}

/* Q4_K, and with the fifth bits `high` Q5_K. */
static void decode_with_minimum(const uint8_t *block, const uint8_t *high, const uint8_t *codes,
                                float *values)
{
    float d = half_at(block), d_minimum = half_at(block + 2);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        sub_block_factors(block + 4, j, &scale, &minimum);
        float step = d * (float)scale, offset = d_minimum * (float)minimum;
        for (int l = 0; l < 32; l++) {
            int code = codes[32 * (j / 2) + l] >> 4 * (j % 2) & 15;
            if (high != NULL)
                code |= (high[l] >> j & 1) << 4;
            values[32 * j + l] = step * (float)code - offset;
        }
    }
}

static void decode_q6_k(const uint8_t *block, float *values)
{
    const uint8_t *low = block, *high = block + 128, *scales = block + 192;
    float d = half_at(block + 208);
    for (int e = 0; e < 256; e++) {
        int h = e / 128, t = e % 128 / 32, l = e % 32;
        int code = (low[64 * h + 32 * (t & 1) + l] >> 4 * (t >> 1) & 15) |
                   (high[32 * h + l] >> 2 * t & 3) << 4;
        values[e] = d * (float)(int8_t)scales[e / 16] * (float)(code - 32);
    }
}

static void decode_block(uint32_t type, const uint8_t *block, float *values)
{
    switch (type) {
    case GGUF_TYPE_Q4_0:
        decode_q4_0(block, values);
        break;
    case GGUF_TYPE_Q8_0:
        decode_q8_0(block, values);
        break;
    case GGUF_TYPE_Q4_K:
        decode_with_minimum(block, NULL, block + 16, values);
        break;
    case GGUF_TYPE_Q5_K:
        decode_with_minimum(block, block + 16, block + 48, values);
        break;
    default:
        decode_q6_k(block, values);
        break;
    }
}

void gguf_decode_row(uint32_t type, const void *row, int64_t columns, float *values)
{
    const uint8_t *bytes = row;
    const struct gguf_block *block = gguf_block_find(type);
    if (block == NULL)
        return;
    for (int64_t k = 0; k < columns; k += block->values, bytes += block->bytes) {
        if (type == GGUF_TYPE_F32)
            memcpy(values + k, bytes, sizeof *values);
        else if (type == GGUF_TYPE_F16)
            values[k] = half_at(bytes);
        else if (type == GGUF_TYPE_BF16)
            values[k] = bf16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
        else
            decode_block(type, bytes, values + k);
    }
}

assay_status assay_testing_gguf_row_bytes(uint32_t type, int64_t columns, int64_t *bytes,
                                          struct assay_error *error)
{
    return gguf_row_bytes(type, columns, "row", bytes, error);
}

void assay_testing_gguf_decode_row(uint32_t type, const void *row, int64_t columns, float *values)
{
    gguf_decode_row(type, row, columns, values);
}
