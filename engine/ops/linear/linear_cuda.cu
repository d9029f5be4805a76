/* SPDX-License-Identifier: MIT
 *
 * linear in plain binary32 (linear_gemv.cuh). At T > 1 (route linear.generic) w comes from L2 again
 * for each row of x: for calls that no other route takes.
 *
 * sass: word stores, one output a warp.
 */
#include "ops/linear/linear_gemv.cuh"

/* Blocks take pairs in turn, so that their numbers differ by one at most; the rows of x that meet
 * a pair follow each other. */
SIMT_KERNEL(linear_pair)(struct linear_call p)
{
    int64_t items = (p.columns + PAIR - 1) / PAIR * p.rows;
    int64_t blocks = simt_grid_extent().x, num_warps = simt_block_extent().x / 32;
    for (int64_t i = simt_warp() * blocks + simt_block_index().x; i < items;
         i += num_warps * blocks)
        pair_of_rows(p, i % p.rows, i / p.rows * PAIR);
}

static assay_status pair_launch(const void *args, struct simt_launch *launch)
{
    struct linear_call p = linear_call_of(args);
    int64_t items = (p.columns + PAIR - 1) / PAIR * p.rows;
    if (items == 0)
        return ASSAY_OK;
    struct pair_plan plan = pair_plan_for(items, PAIR_BLOCKS, PAIR_MAX_WARPS);
    launch->grid = {static_cast<unsigned>(plan.blocks), 1, 1};
    launch->block = {static_cast<unsigned>(32 * plan.warps), 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_pair, p);
}

DEVICE_ROUTE_RUN(linear_route_gemv, &assay_op_linear, pair_launch)
DEVICE_ROUTE_RUN(linear_route_generic, &assay_op_linear, pair_launch)
