/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu for one row of x in one launch: the kernels for one row of linear and
 * linear_grouped, each warp with rows of gate and up of the same column, so that both sums meet in
 * it. A row's sum has the order that it has there [LINEARSWIGLU-8].
 *
 * Profile f32 (bf16), a16x2 (grouped formats). Bound: linear_swiglu_bound.md. Moves both matrices
 * once through device memory, which limits it as it does those kernels. sass: word stores, one
 * output a warp.
 */
#include "ops/linear/linear_gemv.cuh"
#include "ops/linear_grouped/linear_grouped_gemv.cuh"
#include "ops/linear_swiglu/linear_swiglu_routes.h"
#include "ops/silu_mul/silu_device.cuh"

/* ---- bf16 ----------------------------------------------------------------------------------- */

struct swiglu_call {
    struct linear_call gate; /* its w: aligned where both matrices are; y is the op's */
    struct row_view up;
};

SIMT_KERNEL(linear_swiglu_row)(struct swiglu_call p)
{
    int64_t blocks = simt_grid_extent().x, num_warps = simt_block_extent().x / 32;
    for (int64_t n = simt_warp() * blocks + simt_block_index().x; n < p.gate.columns;
         n += num_warps * blocks) {
        float sums[PAIR] = {0, 0};
        const unsigned char *w[PAIR] = {linear_row(p.gate.w, n), linear_row(p.up, n)};
        pair_products(p.gate, p.gate.x.data, w, sums);
        pair_total(sums);
        if (simt_lane() == 0)
            linear_store(p.gate.y, 0, n, silu_times(sums[0], sums[1]));
    }
}

static assay_status launch_bf16(const struct assay_linear_swiglu_args *a,
                                struct simt_launch *launch)
{
    const struct assay_linear_args gate = {a->x, a->gate.base, a->y};
    struct swiglu_call p = {linear_call_of(&gate), row_view_of(&a->up.base)};
    p.gate.w.is_aligned = p.gate.w.is_aligned && p.up.is_aligned;
    struct pair_plan plan = pair_plan_for(p.gate.columns, PAIR_BLOCKS, PAIR_MAX_WARPS);
    launch->grid = {static_cast<unsigned>(plan.blocks), 1, 1};
    launch->block = {static_cast<unsigned>(32 * plan.warps), 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_swiglu_row, p);
}

/* ---- grouped formats ------------------------------------------------------------------------ */

template <int bits, bool is_aligned>
SIMT_KERNEL_RESIDENT(linear_swiglu_tile, 32 * gemv_format<bits>::most_warps, 1)
(struct gemv_call p)
{
    gemv_rows<bits, is_aligned, true>(p, static_cast<int>(simt_block_index().x));
}

template <int bits>
static assay_status launch_bits(const struct gemv_call &p, bool is_aligned,
                                struct simt_launch *launch)
{
    if (is_aligned)
        return SIMT_LAUNCH(launch, (linear_swiglu_tile<bits, true>), p);
    return SIMT_LAUNCH(launch, (linear_swiglu_tile<bits, false>), p);
}

static int64_t distance(const unsigned char *from, const unsigned char *to)
{
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) -
                                reinterpret_cast<uintptr_t>(from));
}

/* A tile has row n of gate, row n of up, then rows n + 1. The parts are those of the gate's own
 * product; where there are several, a warp takes one tile only, for which there may be twice as
 * many blocks. */
static assay_status launch_grouped(const struct assay_linear_swiglu_args *a,
                                   struct simt_launch *launch)
{
    const struct assay_linear_grouped_args gate = {a->x, a->gate, {}, a->y};
    const struct grouped_view up = grouped_view_of(&a->up);
    struct gemv_call p = gemv_call_of(&gate);
    gemv_plan(&p, GEMV_BLOCKS, GEMV_MAX_WARPS);
    p.up_bytes[0] = distance(p.w.base, up.base);
    p.up_bytes[1] = distance(p.w.high, up.high);
    p.up_bytes[2] = distance(p.w.scales, up.scales);
    p.tile_rows = GEMV_ROWS / 2;
    p.tiles = (p.columns + p.tile_rows - 1) / p.tile_rows;
    launch->shared_bytes =
        gemv_plan(&p, p.parts > 1 ? 2 * GEMV_BLOCKS : GEMV_BLOCKS, GEMV_MAX_WARPS);
    launch->grid = {static_cast<unsigned>(p.num_blocks), 1, 1};
    launch->block = {static_cast<unsigned>(32 * p.num_warps), 1, 1};
    bool is_aligned = gemv_is_aligned(p.w) && gemv_is_aligned(up);
    switch (p.w.bits) {
    case 4:
        return launch_bits<4>(p, is_aligned, launch);
    case 5:
        return launch_bits<5>(p, is_aligned, launch);
    case 6:
        return launch_bits<6>(p, is_aligned, launch);
    default:
        return launch_bits<8>(p, is_aligned, launch);
    }
}

static assay_status gemv_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_swiglu_args *a =
        static_cast<const struct assay_linear_swiglu_args *>(args);
    return a->gate.format == ASSAY_WEIGHT_BF16 ? launch_bf16(a, launch) : launch_grouped(a, launch);
}

DEVICE_ROUTE_RUN(linear_swiglu_route_gemv, &assay_op_linear_swiglu, gemv_launch)
