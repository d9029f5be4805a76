/* SPDX-License-Identifier: MIT
 *
 * moe_router: a warp takes a row, and each of k rounds the largest key below the one before; the
 * logits stay in L1 from the first round on. The lane i % 32 holds the exponential of place i.
 *
 * Profile f32. Bound: moe_router_bound.md: exponentials, sum and quotient in binary32, the sum in
 * the order of the places. Moves each logit once through device memory; its time is that of the
 * launch and of k rounds of five exchanges, whatever E is. Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/argmax/argmax_keys.cuh"
#include "ops/moe_router/moe_router_routes.h"

enum { ROUTER_WARPS = 4 }; /* rows a block */

struct router_call {
    struct row_view logits;
    unsigned char *ids, *weights;
    int64_t ids_stride, weights_stride; /* bytes */
    int64_t rows;
    int experts, k;
};

SIMT_DEVICE float router_logit(const struct row_view &v, const unsigned char *row, int e)
{
    return v.is_bf16
               ? simt_bf16_to_f32(simt_load_constant(reinterpret_cast<const uint16_t *>(row) + e))
               : simt_load_constant(reinterpret_cast<const float *>(row) + e);
}

/* The largest key of the row up to `limit`, in every lane. */
SIMT_DEVICE uint64_t router_next(const struct router_call &p, const unsigned char *row,
                                 uint64_t limit)
{
    uint64_t best = 0;
    for (int e = simt_lane(); e < p.experts; e += 32) {
        uint64_t key =
            argmax_key(argmax_order(router_logit(p.logits, row, e)), static_cast<uint32_t>(e));
        if (key <= limit && key > best)
            best = key;
    }
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2)
    {
        uint64_t other = simt_shuffle_xor(SIMT_ALL_LANES, best, bits);
        best = other > best ? other : best;
    }
    return best;
}

SIMT_DEVICE void router_row(const struct router_call &p, int64_t t)
{
    const unsigned char *row = row_address(p.logits, t);
    int32_t *ids = reinterpret_cast<int32_t *>(p.ids + t * p.ids_stride);
    float *weights = reinterpret_cast<float *>(p.weights + t * p.weights_stride);
    float low = 0, high = 0, sum = 0,
          largest = 0;                          /* low, high: of places below 32 and from 32 on */
    uint64_t limit = ~static_cast<uint64_t>(0); /* the key of a NaN in the first place */
    bool has_nan = false;
    for (int i = 0; i < p.k; i++) {
        uint64_t key = router_next(p, row, limit);
        limit = key - 1;
        if (i == 0) /* a NaN is above all others */
            has_nan = key >> 32 == ARGMAX_NAN;
        int id = has_nan ? i : static_cast<int>(~static_cast<uint32_t>(key));
        float value = router_logit(p.logits, row, id);
        largest = i == 0 ? value : largest;
        float e = has_nan ? NAN : expf(value - largest);
        sum += e;
        if (simt_lane() == i % 32) {
            low = i < 32 ? e : low;
            high = i < 32 ? high : e;
            simt_store(ids + i, id);
        }
    }
    if (simt_lane() < p.k)
        simt_store(weights + simt_lane(), low / sum);
    if (simt_lane() + 32 < p.k)
        simt_store(weights + simt_lane() + 32, high / sum);
}

SIMT_KERNEL(moe_router_warp)(struct router_call p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * ROUTER_WARPS;
    for (int64_t t = static_cast<int64_t>(simt_block_index().x) * ROUTER_WARPS + simt_warp();
         t < p.rows; t += step)
        router_row(p, t);
}

static assay_status warp_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_moe_router_args *a = static_cast<const struct assay_moe_router_args *>(args);
    struct row_view ids = row_view_of(&a->ids), weights = row_view_of(&a->weights);
    struct router_call p = {row_view_of(&a->logits),
                            ids.data,
                            weights.data,
                            ids.outer_stride,
                            weights.outer_stride,
                            a->ids.extent[0],
                            static_cast<int>(a->logits.extent[1]),
                            static_cast<int>(a->ids.extent[1])};
    if (p.rows == 0)
        return ASSAY_OK;
    int64_t blocks = (p.rows + ROUTER_WARPS - 1) / ROUTER_WARPS;
    if (blocks > ROW_MAX_BLOCKS)
        blocks = ROW_MAX_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {32 * ROUTER_WARPS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, moe_router_warp, p);
}

DEVICE_ROUTE_RUN(moe_router_route_warp, &assay_op_moe_router, warp_launch)
