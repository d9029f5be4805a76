/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm: a block takes a row, each thread chunks of 8 elements; x is read twice, the second
 * time from L1 or L2.
 *
 * Profile f32. Bound: gated_rmsnorm_bound.md: the sigmoid in binary32; squares, scale and products
 * in binary64, so that no finite row overflows ([GRMSNORM-6]) and no product underflows on the way.
 * Moves x, z and y once through device memory, 8 operations an element; w stays in L2. Speed on a
 * device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/gated_rmsnorm/gated_rmsnorm_routes.h"

struct gated_rmsnorm_rows {
    struct row_view x, z, w, y;
    int64_t rows, width;
    double eps;
};

/* exp(-|z|) never overflows; on the negative side it is the numerator, so that small values keep
 * their digits down to the underflow of binary32. Below that the result is 0, which an infinite
 * weight must not meet: the sigmoid of a finite z is positive, so their product is infinite. */
SIMT_DEVICE float sigmoid_beside(float z, float weight)
{
    float e = expf(-fabsf(z));
    float s = (z < 0 ? e : 1.0f) / (1.0f + e);
    return s == 0 && isfinite(z) && isinf(weight) ? 0x1p-126f : s;
}

/* y may be x or z: each element is read, for the last time, and written by one thread. */
SIMT_DEVICE void write_gated(const struct gated_rmsnorm_rows &p, int64_t row, double scale,
                             int step)
{
    const unsigned char *from = row_address(p.x, row), *gate = row_address(p.z, row);
    unsigned char *to = row_address(p.y, row);
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        float x[ROW_CHUNK], z[ROW_CHUNK], w[ROW_CHUNK];
        row_load_chunk<false>(p.x, from, i, p.width, x);
        row_load_chunk<false>(p.z, gate, i, p.width, z);
        row_load_chunk<true>(p.w, p.w.data, i, p.width, w);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
        {
            double normed = static_cast<double>(x[j]) * scale * static_cast<double>(w[j]);
            double silu =
                static_cast<double>(z[j]) * static_cast<double>(sigmoid_beside(z[j], w[j]));
            x[j] = static_cast<float>(normed * silu);
        }
        row_store_chunk(p.y, to, i, p.width, x);
    }
}

SIMT_KERNEL(gated_rmsnorm_row)(struct gated_rmsnorm_rows p)
{
    SIMT_SHARED(double, partial, ROW_MAX_WARPS);
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        double share = row_sum_of_squares(p.x, row_address(p.x, r), p.width);
        double sum = row_block_sum(partial, share);
        double scale = 1 / sqrt(sum / static_cast<double>(p.width) + p.eps);
        write_gated(p, r, scale, step);
        simt_sync_block(); /* the next row writes the partial sums that this one reads */
    }
}

static assay_status gated_rmsnorm_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_gated_rmsnorm_args *a =
        static_cast<const struct assay_gated_rmsnorm_args *>(args);
    struct gated_rmsnorm_rows p = {row_view_of(&a->x),
                                   row_view_of(&a->z),
                                   row_view_of(&a->w),
                                   row_view_of(&a->y),
                                   assay_tensor_rows(&a->x),
                                   a->w.extent[0],
                                   a->eps};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch);
    return SIMT_LAUNCH(launch, gated_rmsnorm_row, p);
}

DEVICE_ROUTE_RUN(gated_rmsnorm_route_row, &assay_op_gated_rmsnorm, gated_rmsnorm_row_launch)
