/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for one row of x: linear_grouped_gemv.cuh alone in a kernel.
 *
 * sass: word stores, one output a row of w.
 */
#include "ops/linear_grouped/linear_grouped_gemv.cuh"

template <int bits, bool is_aligned>
SIMT_KERNEL_RESIDENT(linear_grouped_gemv, 32 * gemv_format<bits>::most_warps, 1)
(struct gemv_call p)
{
    gemv_rows<bits, is_aligned, false>(p, static_cast<int>(simt_block_index().x));
}

template <int bits>
static assay_status launch_bits(const struct gemv_call *p, struct simt_launch *launch)
{
    if (gemv_is_aligned(p->w))
        return SIMT_LAUNCH(launch, (linear_grouped_gemv<bits, true>), *p);
    return SIMT_LAUNCH(launch, (linear_grouped_gemv<bits, false>), *p);
}

static assay_status gemv_launch(const void *args, struct simt_launch *launch)
{
    struct gemv_call p = gemv_call_of(static_cast<const struct assay_linear_grouped_args *>(args));
    launch->shared_bytes = gemv_plan(&p, GEMV_BLOCKS, GEMV_MAX_WARPS);
    launch->grid = {static_cast<unsigned>(p.num_blocks), 1, 1};
    launch->block = {static_cast<unsigned>(32 * p.num_warps), 1, 1};
    switch (p.w.bits) {
    case 4:
        return launch_bits<4>(&p, launch);
    case 5:
        return launch_bits<5>(&p, launch);
    case 6:
        return launch_bits<6>(&p, launch);
    default:
        return launch_bits<8>(&p, launch);
    }
}

DEVICE_ROUTE_RUN(linear_grouped_route_gemv, &assay_op_linear_grouped, gemv_launch)
