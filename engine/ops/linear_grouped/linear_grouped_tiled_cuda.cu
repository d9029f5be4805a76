/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for many rows of x, in tensor cores (linear_grouped_mma.cuh): a block takes 256
 * rows of w (q8g32: 192), which are small, and 64 of x, each of 8 warps 64 by 32; or 64 by 64 where
 * that would be too few blocks.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_grouped_bound.md. 2 T N K operations a plane;
 * limited by instructions: for 16 mma a warp unpacks codes and applies scales with twice as many.
 */
#include "ops/linear_grouped/linear_grouped_mma.cuh"

/* Large tiles where there are enough for most multiprocessors. The executor's sweep shall reach
 * them with small shapes. */
static bool takes_large_tiles(const struct mma_call &p)
{
#if defined(__CUDACC__)
    return (p.x_tiles / 8) * ((p.columns + 255) / 256) >= 100;
#else
    return p.rows > 64 || p.columns > 128;
#endif
}

template <int bits, int planes>
static assay_status launch_planes(struct mma_call *p, struct simt_launch *launch)
{
    typedef mma_shape<bits, planes, bits == 8 ? 3 : 4, 4, 4, 2, 1, 1> large_tiles;
    typedef mma_shape<bits, planes, 2, 2, 4, 2, 1, 1> small_tiles;
    bool is_large = takes_large_tiles(*p);
    p->block_rows = is_large ? large_tiles::rows : small_tiles::rows;
    return is_large ? mma_launch<large_tiles>(p, launch) : mma_launch<small_tiles>(p, launch);
}

template <int bits> static assay_status launch_bits(struct mma_call *p, struct simt_launch *launch)
{
    return p->num_planes == 1 ? launch_planes<bits, 1>(p, launch)
                              : launch_planes<bits, 2>(p, launch);
}

static assay_status tiled_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_grouped_args *a =
        static_cast<const struct assay_linear_grouped_args *>(args);
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    struct mma_call p = mma_call_of(a, LINEAR_GROUPED_TILED_TILES);
    assay_status status = mma_order_x(&p, launch);
    if (status != ASSAY_OK)
        return status;
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

DEVICE_ROUTE_RUN(linear_grouped_route_tiled, &assay_op_linear_grouped, tiled_launch)
