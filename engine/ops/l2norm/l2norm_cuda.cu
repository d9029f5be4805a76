/* SPDX-License-Identifier: MIT
 *
 * l2norm: a block takes a row, each thread chunks of 8 elements; x is read twice, the second time
 * from L1 or L2.
 *
 * Profile f32. Bound: l2norm_bound.md; squares and scale are taken in binary64 as [L2NORM-6] asks.
 * Moves x and y once through device memory.
 */
#include "cuda/rows.cuh"
#include "ops/l2norm/l2norm_routes.h"

struct l2norm_rows {
    struct row_view x, y;
    int64_t rows, width;
    double eps;
};

/* y may be x: each element is read, for the last time, and written by one thread. */
SIMT_DEVICE void write_scaled(const struct l2norm_rows &p, const unsigned char *from,
                              unsigned char *to, double scale)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        float v[ROW_CHUNK];
        row_load_chunk<false>(p.x, from, i, p.width, v);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) v[j] =
            static_cast<float>(static_cast<double>(v[j]) * scale);
        row_store_chunk(p.y, to, i, p.width, v);
    }
}

SIMT_KERNEL(l2norm_row)(struct l2norm_rows p)
{
    SIMT_SHARED(double, partial, ROW_MAX_WARPS);
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *x = row_address(p.x, r);
        double sum = row_block_sum(partial, row_sum_of_squares(p.x, x, p.width));
        write_scaled(p, x, row_address(p.y, r), 1 / sqrt(sum + p.eps));
        simt_sync_block(); /* the next row writes the partial sums that this one reads */
    }
}

static assay_status l2norm_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_l2norm_args *a = static_cast<const struct assay_l2norm_args *>(args);
    struct l2norm_rows p = {row_view_of(&a->x), row_view_of(&a->y), assay_tensor_rows(&a->x),
                            a->x.extent[a->x.rank - 1], a->eps};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch);
    return SIMT_LAUNCH(launch, l2norm_row, p);
}

DEVICE_ROUTE_RUN(l2norm_route_row, &assay_op_l2norm, l2norm_row_launch)
