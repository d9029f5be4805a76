/* SPDX-License-Identifier: MIT
 *
 * rmsnorm: a block takes a row, each thread chunks of 8 elements; x is read twice, the second time
 * from L1 or L2.
 *
 * Profile f32. Bound: rmsnorm_bound.md; squares and scale are taken in binary64 as [RMSNORM-6]
 * asks, so that no finite row overflows. Moves x and y once through device memory; w stays in L2.
 */
#include "cuda/rows.cuh"
#include "ops/rmsnorm/rmsnorm_routes.h"

struct rmsnorm_rows {
    struct row_view x, w, y;
    int64_t rows, width;
    double eps;
    float offset; /* of the weights: 1 or 0 */
};

/* y may be x: each element is read, for the last time, and written by one thread. */
SIMT_DEVICE void write_scaled(const struct rmsnorm_rows &p, const unsigned char *from,
                              unsigned char *to, double scale, int step)
{
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        float x[ROW_CHUNK], w[ROW_CHUNK], y[ROW_CHUNK];
        row_load_chunk<false>(p.x, from, i, p.width, x);
        row_load_chunk<true>(p.w, p.w.data, i, p.width, w);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) y[j] = static_cast<float>(
            static_cast<double>(x[j]) * scale * static_cast<double>(w[j] + p.offset));
        row_store_chunk(p.y, to, i, p.width, y);
    }
}

SIMT_KERNEL(rmsnorm_row)(struct rmsnorm_rows p)
{
    SIMT_SHARED(double, partial, ROW_NORM_WARPS);
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *x = row_address(p.x, r);
        double sum = row_block_sum(partial, row_sum_of_squares(p.x, x, p.width));
        double scale = 1 / sqrt(sum / static_cast<double>(p.width) + p.eps);
        write_scaled(p, x, row_address(p.y, r), scale, step);
        simt_sync_block(); /* the next row writes the partial sums that this one reads */
    }
}

static assay_status rmsnorm_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_rmsnorm_args *a = static_cast<const struct assay_rmsnorm_args *>(args);
    struct rmsnorm_rows p = {row_view_of(&a->x),          row_view_of(&a->w), row_view_of(&a->y),
                             assay_tensor_rows(&a->x),    a->w.extent[0],     a->eps,
                             a->unit_offset ? 1.0f : 0.0f};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch, ROW_NORM_THREADS);
    return SIMT_LAUNCH(launch, rmsnorm_row, p);
}

DEVICE_ROUTE_RUN(rmsnorm_route_row, &assay_op_rmsnorm, rmsnorm_row_launch)
