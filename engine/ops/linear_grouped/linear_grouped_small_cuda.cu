/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for up to 32 rows of x, in tensor cores (linear_grouped_mma.cuh): a block takes up
 * to 288 rows of w and all of x, its warps share the rows and the units of a step.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_grouped_bound.md. Moves the planes once
 * through device memory and x once a block through L2; limited by the former, at 32 rows of
 * binary32 x by tensor cores as well.
 */
#include "ops/linear_grouped/linear_grouped_mma.cuh"

/* One block on each multiprocessor of an H200 (132), or the same number of times: all end at the
 * same time, and x is read least often. The executor's sweep shall reach every shape with few rows.
 */
#if defined(__CUDACC__)
enum { SMALL_BLOCKS = 132 };
#else
enum { SMALL_BLOCKS = 1 };
#endif

/* Shapes for blocks of up to 48, 144 and 288 rows of w. How many warps share a row decides about
 * the order of a sum, which is the same for all T; for more than 8 rows of x a warp has more tiles,
 * so that x is read from shared memory less often. */
enum { SMALL_FEW_ROWS = 48, SMALL_SOME_ROWS = 144, SMALL_MOST_ROWS = 288 };

template <int bits, int planes, int x_tiles> struct small_shapes {
    typedef mma_shape<bits, planes, 3, 1, x_tiles, 1, 8, 8> few;
    typedef mma_shape<bits, planes, 3, 3, x_tiles, 1, 2, 4> some;
    typedef mma_shape<bits, planes, 3, 6, x_tiles, 1, 1, bits == 8 ? 2 : 4> most;
};

template <int bits, int planes> struct small_shapes<bits, planes, 1> {
    typedef mma_shape<bits, planes, 1, 3, 1, 1, 8, 8> few;
    typedef mma_shape<bits, planes, 1, 9, 1, 1, 2, 4> some;
    typedef mma_shape<bits, planes, 1, 18, 1, 1, 1, 4> most;
};

template <int bits, int planes, int x_tiles>
static assay_status launch_rows(struct mma_call *p, struct simt_launch *launch)
{
    typedef small_shapes<bits, planes, x_tiles> shapes;
    int64_t each = (p->columns + SMALL_BLOCKS - 1) / SMALL_BLOCKS;
    int64_t turns = (each + SMALL_MOST_ROWS - 1) / SMALL_MOST_ROWS;
    int64_t rows = (p->columns + turns * SMALL_BLOCKS - 1) / (turns * SMALL_BLOCKS);
    p->block_rows = static_cast<int>((rows + 7) / 8 * 8);
    if (p->block_rows <= SMALL_FEW_ROWS)
        return mma_launch<typename shapes::few>(p, launch);
    if (p->block_rows <= SMALL_SOME_ROWS)
        return mma_launch<typename shapes::some>(p, launch);
    return mma_launch<typename shapes::most>(p, launch);
}

template <int bits> static assay_status launch_bits(struct mma_call *p, struct simt_launch *launch)
{
    if (p->x_tiles == 1)
        return p->num_planes == 1 ? launch_rows<bits, 1, 1>(p, launch)
                                  : launch_rows<bits, 2, 1>(p, launch);
    return p->num_planes == 1 ? launch_rows<bits, 1, 4>(p, launch)
                              : launch_rows<bits, 2, 4>(p, launch);
}

static assay_status small_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_grouped_args *a =
        static_cast<const struct assay_linear_grouped_args *>(args);
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    struct mma_call p = mma_call_of(a, a->x.extent[0] <= 8 ? 1 : 4);
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

DEVICE_ROUTE_RUN(linear_grouped_route_small, &assay_op_linear_grouped, small_launch)
