/* SPDX-License-Identifier: MIT
 *
 * linear in plain binary32, as a part of a kernel: a warp takes a row of x and two rows of w, each
 * lane every 32nd chunk of 8 elements; eight 16-byte loads of weights a lane are under way before
 * their products are taken. x stays in L1.
 *
 * Profile f32. Bound: linear_bound.md; a lane's running sum by FMA, then a tree of 5 additions.
 * At T = 1 moves w once through device memory, which limits it: 2 operations a weight.
 */
#ifndef ASSAY_LINEAR_GEMV_CUH
#define ASSAY_LINEAR_GEMV_CUH

#include "ops/linear/linear_device.cuh"

enum {
    PAIR = 2,       /* rows of w a warp */
    PAIR_LOADS = 4, /* chunks of each under way */
    PAIR_STEP = 32 * ROW_CHUNK,
    PAIR_BLOCKS = 132,  /* one on each multiprocessor of an H200 */
    PAIR_MAX_WARPS = 24 /* of 72 registers a lane */
};

SIMT_DEVICE float add_products(struct simt_words w, const float *x, float sum)
{
    SIMT_UNROLL for (int i = 0; i < 4; i++)
    {
        sum = fmaf(simt_f32_from_bits(w.word[i] << 16), x[2 * i], sum);
        sum = fmaf(simt_f32_from_bits(w.word[i] & 0xffff0000u), x[2 * i + 1], sum);
    }
    return sum;
}

/* This lane's share of the products of two rows. constant: nothing writes x during the launch. */
template <bool constant = true>
SIMT_DEVICE void pair_products(const struct linear_call &p, const unsigned char *x,
                               const unsigned char *const *w, float *sums)
{
    int64_t k = simt_lane() * ROW_CHUNK;
    float values[ROW_CHUNK];
    if (p.w.is_aligned) {
        for (; k + (PAIR_LOADS - 1) * PAIR_STEP + ROW_CHUNK <= p.inner;
             k += PAIR_LOADS * PAIR_STEP) {
            struct simt_words words[PAIR_LOADS][PAIR];
            SIMT_UNROLL for (int i = 0; i < PAIR_LOADS; i++)
                SIMT_UNROLL for (int r = 0; r < PAIR; r++) words[i][r] =
                    simt_load16_once(w[r] + 2 * (k + i * PAIR_STEP));
            SIMT_UNROLL for (int i = 0; i < PAIR_LOADS; i++)
            {
                row_load_chunk<constant>(p.x, x, k + i * PAIR_STEP, p.inner, values);
                SIMT_UNROLL for (int r = 0; r < PAIR; r++) sums[r] =
                    add_products(words[i][r], values, sums[r]);
            }
        }
    }
    for (; k < p.inner; k += PAIR_STEP) {
        row_load_chunk<constant>(p.x, x, k, p.inner, values);
        bool is_whole = p.w.is_aligned && k + ROW_CHUNK <= p.inner;
        SIMT_UNROLL for (int r = 0; r < PAIR; r++)
        {
            struct simt_words words =
                is_whole ? simt_load16_once(w[r] + 2 * k) : linear_gather(w[r], k, p.inner);
            sums[r] = add_products(words, values, sums[r]);
        }
    }
}

/* The sums over all lanes, in each of them. */
SIMT_DEVICE void pair_total(float *sums)
{
    SIMT_UNROLL for (int r = 0; r < PAIR; r++) SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2)
        sums[r] += simt_shuffle_xor(SIMT_ALL_LANES, sums[r], bits);
}

/* Both rows of a pair into y, if there are two. */
SIMT_DEVICE void pair_store(const struct linear_call &p, int64_t row, int64_t column,
                            const float *sums)
{
    if (simt_lane() == 0)
        linear_store(p.y, row, column, sums[0]);
    else if (simt_lane() == 1 && column + 1 < p.columns)
        linear_store(p.y, row, column + 1, sums[1]);
}

/* Pairs whose row of x is `row`, from rows `column` and, where it exists, column + 1 of w. */
SIMT_DEVICE void pair_of_rows(const struct linear_call &p, int64_t row, int64_t column)
{
    float sums[PAIR] = {0, 0};
    bool has_both = column + 1 < p.columns;
    const unsigned char *w[PAIR] = {linear_row(p.w, column),
                                    linear_row(p.w, has_both ? column + 1 : column)};
    pair_products(p, linear_row(p.x, row), w, sums);
    pair_total(sums);
    pair_store(p, row, column, sums);
}

/* Blocks and warps of each for a number of items that a warp takes. */
struct pair_plan {
    int64_t blocks, warps;
};

/* As few warps as give each the same number of items. */
static inline struct pair_plan pair_plan_for(int64_t items, int64_t most_blocks, int most_warps)
{
    int64_t blocks = items < most_blocks ? items : most_blocks;
    int64_t in_block = (items + blocks - 1) / blocks;
    int64_t turns = (in_block + most_warps - 1) / most_warps;
    return {blocks, (in_block + turns - 1) / turns};
}

#endif
