/* SPDX-License-Identifier: MIT
 *
 * gdn_gating: a thread takes 8 heads of a token, blocks take the chunks of all tokens in a row:
 * there are few heads, and a block for each token would leave most of its threads idle.
 *
 * Profile f32. Bound: gdn_gating_bound.md. Of its gamma(12, u32) for the functions of g, expf and
 * log1pf within 2, 2 and 1 ulp and the sum use 11 u; beta uses the 6 u of its own. Elements whose
 * factors might leave the range of binary32 are taken in binary64. Moves a, b, g and beta once
 * through device memory; a_log and dt_bias stay in L1 and L2. About 8 operations an element, 4 of
 * them functions. Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/gdn_gating/gdn_gating_routes.h"

struct gdn_gating_chunks {
    struct row_view a, b, a_log, dt_bias, g, beta;
    int64_t chunks, chunks_per_row, heads;
};

/* Any x and a_log; gdn_gating_cpu.c says why in these three cases. An infinite x times the rate
 * is infinite, but times exp(-inf) = 0 it is NaN. */
SIMT_DEVICE float decay_of_extremes(float a, float dt_bias, float a_log)
{
    double x = static_cast<double>(a) + static_cast<double>(dt_bias);
    double rate = static_cast<double>(a_log);
    if (x < -40)
        return static_cast<float>(-exp(rate + x));
    if (x > 0x1p1000)
        return static_cast<float>(rate >= -0x1p1000 ? -x : x * 0);
    double softplus = log1p(exp(-fabs(x))) + (x > 0 ? x : 0);
    double half = exp(rate / 2);
    return static_cast<float>(-(half * softplus * half));
}

/* With |a_log| <= 60 and -60 <= x <= 2^13 every factor is a normal number; NaN is not in there. */
SIMT_DEVICE float decay(float a, float dt_bias, float a_log)
{
    float x = a + dt_bias;
    if (!(fabsf(a_log) <= 60 && x >= -60 && x <= 8192))
        return decay_of_extremes(a, dt_bias, a_log);
    float softplus = log1pf(expf(-fabsf(x))) + (x > 0 ? x : 0);
    return -(expf(a_log) * softplus);
}

/* exp(-|b|) never overflows; on the negative side it is the numerator, so that small values keep
 * their digits. */
SIMT_DEVICE float sigmoid(float b)
{
    float e = expf(-fabsf(b));
    return (b < 0 ? e : 1.0f) / (1.0f + e);
}

SIMT_KERNEL(gdn_gating_chunk)(struct gdn_gating_chunks p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    int64_t chunk = static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x;
    for (chunk += simt_thread(); chunk < p.chunks; chunk += step) {
        int64_t row = chunk / p.chunks_per_row, head = chunk % p.chunks_per_row * ROW_CHUNK;
        float value[ROW_CHUNK], rate[ROW_CHUNK], bias[ROW_CHUNK];
        row_load_chunk<true>(p.a_log, p.a_log.data, head, p.heads, rate);
        row_load_chunk<true>(p.dt_bias, p.dt_bias.data, head, p.heads, bias);
        row_load_chunk<false>(p.a, row_address(p.a, row), head, p.heads, value);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) value[i] =
            decay(value[i], bias[i], rate[i]);
        row_store_chunk(p.g, row_address(p.g, row), head, p.heads, value); /* g may be a */
        row_load_chunk<false>(p.b, row_address(p.b, row), head, p.heads, value);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) value[i] = sigmoid(value[i]);
        row_store_chunk(p.beta, row_address(p.beta, row), head, p.heads, value); /* or b */
    }
}

enum { BLOCK_THREADS = 128 };

static assay_status gdn_gating_chunk_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_gdn_gating_args *a = static_cast<const struct assay_gdn_gating_args *>(args);
    int64_t heads = a->a_log.extent[0], per_row = (heads + ROW_CHUNK - 1) / ROW_CHUNK;
    struct gdn_gating_chunks p = {row_view_of(&a->a),
                                  row_view_of(&a->b),
                                  row_view_of(&a->a_log),
                                  row_view_of(&a->dt_bias),
                                  row_view_of(&a->g),
                                  row_view_of(&a->beta),
                                  a->a.extent[0] * per_row,
                                  per_row,
                                  heads};
    if (p.chunks == 0)
        return ASSAY_OK;
    int64_t blocks = (p.chunks + BLOCK_THREADS - 1) / BLOCK_THREADS;
    if (blocks > ROW_MAX_BLOCKS)
        blocks = ROW_MAX_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {BLOCK_THREADS, 1, 1};
    return SIMT_LAUNCH(launch, gdn_gating_chunk, p);
}

DEVICE_ROUTE_RUN(gdn_gating_route_chunk, &assay_op_gdn_gating, gdn_gating_chunk_launch)
