/* SPDX-License-Identifier: MIT
 *
 * binary32 operands of gdn_chunked's tensor core kernels as sums of two bf16 numbers, and products
 * of tiles of them.
 *
 * x = high + low + r, high = x rounded to bf16, low = x - high (exact) rounded to bf16: |r| <=
 * 2^-17 |x| + 2^-134. A finite x does not round to infinity, and one that is not zero not to zero:
 * the nearest number of its class stands instead, and what it lacks is in low. Then high alone
 * decides about infinities and NaN.
 */
#ifndef ASSAY_GDN_SPLIT_CUH
#define ASSAY_GDN_SPLIT_CUH

#include "cuda/simt.cuh"

/* Two neighbours of a fragment, the first in the low halves. */
struct split_pair {
    uint32_t high, low;
};

/* A lane's part of a 16 x 16 operand. */
struct split_tile {
    struct simt_words high, low;
};

SIMT_DEVICE uint32_t split_high(float x)
{
    uint32_t magnitude = simt_f32_bits(x) & 0x7fffffffu;
    uint32_t word = simt_bf16_from_f32(x);
    if (magnitude < 0x7f800000u && (word & 0x7fffu) == 0x7f80u)
        word -= 1;
    if (magnitude != 0 && (word & 0x7fffu) == 0)
        word |= 1;
    return word;
}

SIMT_DEVICE float split_rest(float x, uint32_t high)
{
    bool is_finite = (simt_f32_bits(x) & 0x7f800000u) != 0x7f800000u;
    return is_finite ? x - simt_bf16_to_f32(static_cast<uint16_t>(high)) : 0.0f;
}

SIMT_DEVICE struct split_pair split_of(float first, float second)
{
    uint32_t a = split_high(first), b = split_high(second);
    return {a | b << 16, simt_bf16x2_from_f32(split_rest(first, a), split_rest(second, b))};
}

/* Tiles lie in memory as both parts of all lanes: 2 * 32 * 16 bytes. */
enum { SPLIT_TILE_BYTES = 1024 };

SIMT_DEVICE struct split_tile split_load(const unsigned char *tiles, int tile)
{
    const unsigned char *at = tiles + tile * SPLIT_TILE_BYTES + simt_lane() * 16;
    return {simt_load16(at), simt_load16(at + SPLIT_TILE_BYTES / 2)};
}

SIMT_DEVICE void split_store(unsigned char *tiles, int tile, struct split_tile t)
{
    unsigned char *at = tiles + tile * SPLIT_TILE_BYTES + simt_lane() * 16;
    simt_store16(at, t.high);
    simt_store16(at + SPLIT_TILE_BYTES / 2, t.low);
}

/* sums[n] += a b_n for one part of each and `count` groups of 8 columns, whose sums do not wait for
 * each other; b[2 n] and b[2 n + 1] are b_n's registers. A product of numbers in two parts is low
 * high + high high + high low. */
template <int count>
SIMT_DEVICE void split_mma(float (*sums)[4], const struct simt_words &a, const uint32_t *b)
{
    SIMT_UNROLL for (int n = 0; n < count; n++) simt_mma_bf16(sums[n], a.word, b + 2 * n, sums[n]);
}

#endif
