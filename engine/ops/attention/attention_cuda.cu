/* SPDX-License-Identifier: MIT
 *
 * attention, any call: a block takes a query row and keeps its weights in the workspace. Written to
 * be read.
 *
 * Profile f32. Bound: attention_bound.md with the lengths themselves for depths: a score is a chain
 * of FMAs in each lane and a tree over the lanes, a value one chain over the keys; the sum of
 * weights is taken in binary64. Every query row reads its keys and values through L2, which limits
 * it. Speed on a device: not measured.
 * sass: word stores, lane after lane.
 */
#include "ops/attention/attention_device.cuh"

enum { WARPS = ATTENTION_GENERIC_WARPS, THREADS = WARPS * 32 };

/* weight[j] becomes scale q . k_j; a warp takes a key. */
SIMT_DEVICE void score_keys(const struct attention_call &p, const unsigned char *q, int64_t head,
                            int64_t count, float *weight)
{
    for (int64_t j = simt_warp(); j < count; j += WARPS) {
        const unsigned char *k = attention_row(p.k, j, head / p.group);
        float dot = 0;
        for (int64_t d = simt_lane() * ROW_CHUNK; d < p.width; d += 32 * ROW_CHUNK) {
            float x[ROW_CHUNK], y[ROW_CHUNK];
            row_load_chunk<false>(p.q, q, d, p.width, x); /* y may be q */
            row_load_chunk<true>(p.k, k, d, p.width, y);
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) dot = fmaf(x[i], y[i], dot);
        }
        SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) dot +=
            simt_shuffle_xor(SIMT_ALL_LANES, dot, bits);
        if (simt_lane() == 0)
            simt_store(weight + j, attention_score(dot, p.scale));
    }
    simt_sync_block();
}

SIMT_DEVICE float largest_score(struct simt_shared<float> partial, int64_t count,
                                const float *weight)
{
    float largest = -INFINITY;
    for (int64_t j = simt_thread(); j < count; j += THREADS)
        largest = fmaxf(largest, simt_load(weight + j));
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) largest =
        fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, bits));
    if (simt_lane() == 0)
        partial.store(simt_warp(), largest);
    simt_sync_block();
    for (int i = 0; i < WARPS; i++)
        largest = fmaxf(largest, partial.load(i));
    return largest;
}

/* Scores become weights, divided by their sum: a mean cannot overflow. */
SIMT_DEVICE void weigh_keys(struct simt_shared<float> maxima, struct simt_shared<double> sums,
                            int64_t count, float *weight)
{
    float largest = largest_score(maxima, count, weight);
    double sum = 0;
    for (int64_t j = simt_thread(); j < count; j += THREADS) {
        float w = attention_weight(simt_load(weight + j), largest);
        simt_store(weight + j, w);
        sum += static_cast<double>(w);
    }
    float divisor = static_cast<float>(row_block_sum(sums, sum));
    for (int64_t j = simt_thread(); j < count; j += THREADS)
        simt_store(weight + j, simt_load(weight + j) / divisor);
    simt_sync_block();
}

SIMT_KERNEL(attention_generic)(struct attention_call p, float *memory, int64_t pitch)
{
    SIMT_SHARED(float, maxima, WARPS);
    SIMT_SHARED(double, sums, WARPS);
    float *weight = memory + simt_block_index().x * pitch;
    int64_t start = attention_start_of(p);
    for (int64_t r = simt_block_index().x; r < p.tokens * p.heads; r += simt_grid_extent().x) {
        int64_t token = r / p.heads, head = r % p.heads, count = start + token + 1;
        score_keys(p, attention_row(p.q, token, head), head, count, weight);
        weigh_keys(maxima, sums, count, weight);
        for (int64_t d = simt_thread(); d < p.value_width; d += THREADS) {
            float total = 0;
            for (int64_t j = 0; j < count; j++) {
                const unsigned char *v = attention_row(p.v, j, head / p.group);
                float x = p.v.is_bf16 ? simt_bf16_to_f32(simt_load_constant(
                                            reinterpret_cast<const uint16_t *>(v) + d))
                                      : simt_load_constant(reinterpret_cast<const float *>(v) + d);
                total = fmaf(simt_load(weight + j), x, total);
            }
            attention_store(p, token, head, d, total);
        }
        simt_sync_block(); /* the next row overwrites the weights */
    }
}

static assay_status attention_generic_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_attention_args *a = static_cast<const struct assay_attention_args *>(args);
    struct attention_call p = attention_call_of(a);
    int64_t rows = p.tokens * p.heads, most = ATTENTION_GENERIC_BLOCKS;
    if (rows == 0)
        return ASSAY_OK;
    launch->grid = {static_cast<unsigned>(rows < most ? rows : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    return SIMT_LAUNCH(launch, attention_generic, p, static_cast<float *>(launch->workspace),
                       p.start + p.tokens);
}

DEVICE_ROUTE_RUN(attention_route_generic, &assay_op_attention, attention_generic_launch)
