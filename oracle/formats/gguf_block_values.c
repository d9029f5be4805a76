/* SPDX-License-Identifier: MIT
 *
 * GGUF blocks, one element at a time. A block's 6-bit numbers are read here as the published format
 * describes them: eight scales and eight minima, the first four of each in the low six bits of a
 * byte, of the others the low four bits in the last four bytes and the upper two on top of the
 * first ones.
 */
#include "oracle_formats.h"

#include <math.h>
#include <string.h>

#include "words.h"

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14, BF16 = 30 };

struct oracle_gguf_block oracle_gguf_block(uint32_t type)
{
    switch (type) {
    case F32:
        return (struct oracle_gguf_block){1, 4};
    case F16:
    case BF16:
        return (struct oracle_gguf_block){1, 2};
    case Q4_0:
        return (struct oracle_gguf_block){32, 2 + 16};
    case Q8_0:
        return (struct oracle_gguf_block){32, 2 + 32};
    case Q4_K:
        return (struct oracle_gguf_block){256, 2 + 2 + 12 + 128};
    case Q5_K:
        return (struct oracle_gguf_block){256, 2 + 2 + 12 + 32 + 128};
    case Q6_K:
        return (struct oracle_gguf_block){256, 128 + 64 + 16 + 2};
    default:
        return (struct oracle_gguf_block){0, 0};
    }
}

static uint16_t word_at(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] + 256 * bytes[1]);
}

static double f16_at(const uint8_t *bytes)
{
    return oracle_f16_value(word_at(bytes));
}

static int signed_byte(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

static int bits_of(uint8_t byte, int first, int count)
{
    return byte / (1 << first) % (1 << count);
}

/* which 0: the scales, 1: the minima */
static int six_bits(const uint8_t *packed, int which, int j)
{
    if (j < 4)
        return bits_of(packed[4 * which + j], 0, 6);
    return bits_of(packed[8 + j - 4], 4 * which, 4) + 16 * bits_of(packed[4 * which + j - 4], 6, 2);
}

static double with_minimum(const uint8_t *block, int e, const uint8_t *fifth, const uint8_t *low)
{
    int sub_block = e / 32, place = e % 32;
    int code = bits_of(low[sub_block / 2 * 32 + place], sub_block % 2 * 4, 4);
    if (fifth != NULL)
        code += 16 * bits_of(fifth[place], sub_block, 1);
    double step = f16_at(block) * six_bits(block + 4, 0, sub_block);
    double minimum = f16_at(block + 2) * six_bits(block + 4, 1, sub_block);
    return step * code - minimum;
}

/* Halves of 128 elements: 64 bytes of low nibbles, 32 bytes of upper pairs of bits, 8 scales. */
static double q6_k(const uint8_t *block, int e)
{
    int half = e / 128, quarter = e % 128 / 32, place = e % 32;
    const uint8_t *low = block + 64 * half, *high = block + 128 + 32 * half;
    int code = bits_of(low[quarter % 2 * 32 + place], quarter / 2 * 4, 4) +
               16 * bits_of(high[place], 2 * quarter, 2);
    return f16_at(block + 208) * signed_byte(block[192 + e / 16]) * (code - 32);
}

double oracle_gguf_value(uint32_t type, const void *row, int64_t column)
{
    struct oracle_gguf_block size = oracle_gguf_block(type);
    if (size.values == 0)
        return NAN;
    const uint8_t *block = (const uint8_t *)row + column / size.values * size.bytes;
    int e = (int)(column % size.values);
    float single;
    switch (type) {
    case F32:
        memcpy(&single, block, sizeof single);
        return (double)single;
    case F16:
        return f16_at(block);
    case BF16:
        return oracle_bf16_value(word_at(block));
    case Q4_0:
        return f16_at(block) * (bits_of(block[2 + e % 16], e / 16 * 4, 4) - 8);
    case Q8_0:
        return f16_at(block) * signed_byte(block[2 + e]);
    case Q4_K:
        return with_minimum(block, e, NULL, block + 16);
    case Q5_K:
        return with_minimum(block, e, block + 16, block + 48);
    default:
        return q6_k(block, e);
    }
}
