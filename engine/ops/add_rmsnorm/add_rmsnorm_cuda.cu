/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm: a block takes a row, each thread chunks of 8 elements: it adds them and stores the
 * sums and, after the block has the sum of squares, scales them.
 *
 *   kept  One chunk a thread, in registers as it was stored, and all loads at once: for a few rows,
 *         which wait for memory.
 *   read  The sums are read back from s, by the thread that wrote them, from L1 or L2: for rows of
 *         more chunks than threads, and for many rows, whose blocks share the registers.
 *
 * Profile f32 (the sum: exact). Bound: add_rmsnorm_bound.md; squares and scale are taken in
 * binary64 as [ADDNORM-6] asks. Both have the order of sums of rmsnorm.row, so that the bits are
 * those of add.row and rmsnorm.row one after the other. Moves each element of residual, x, s and y
 * once through device memory; w stays in L2.
 */
#include "cuda/rows.cuh"
#include "ops/add/add_sum.cuh"
#include "ops/add_rmsnorm/add_rmsnorm_routes.h"

enum { FEW_ROWS = 132 }; /* blocks that have a processor for themselves */

struct add_rmsnorm_rows {
    struct row_view residual, x, w, s, y;
    int64_t rows, width;
    double eps;
    float offset; /* of the weights: 1 or 0 */
};

/* a = a + b as s stores it. */
SIMT_DEVICE void add_chunk(const struct add_rmsnorm_rows &p, float *a, const float *b)
{
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) a[j] =
        p.s.is_bf16 ? simt_bf16_to_f32(simt_bf16_from_f32(sum_to_odd(a[j], b[j]))) : a[j] + b[j];
}

/* The squares in turn onto `sum`. */
SIMT_DEVICE double add_squares(double sum, const float *s)
{
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) sum +=
        static_cast<double>(s[j]) * static_cast<double>(s[j]);
    return sum;
}

SIMT_DEVICE void write_scaled(const struct add_rmsnorm_rows &p, const float *s, const float *w,
                              unsigned char *to, int64_t i, double scale)
{
    float y[ROW_CHUNK];
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) y[j] = static_cast<float>(
        static_cast<double>(s[j]) * scale * static_cast<double>(w[j] + p.offset));
    row_store_chunk(p.y, to, i, p.width, y);
}

SIMT_DEVICE double scale_of(const struct add_rmsnorm_rows &p, double sum)
{
    return 1 / sqrt(sum / static_cast<double>(p.width) + p.eps);
}

/* An element of all five tensors is one thread's: s and y may be residual or x. */
SIMT_DEVICE void norm_kept(const struct add_rmsnorm_rows &p, int64_t r,
                           struct simt_shared<double> partial)
{
    int64_t i = simt_thread() * ROW_CHUNK;
    float s[ROW_CHUNK], b[ROW_CHUNK], w[ROW_CHUNK];
    row_load_chunk<false>(p.residual, row_address(p.residual, r), i, p.width, s);
    row_load_chunk<false>(p.x, row_address(p.x, r), i, p.width, b);
    row_load_chunk<true>(p.w, p.w.data, i, p.width, w);
    add_chunk(p, s, b);
    double scale = scale_of(p, row_block_sum(partial, add_squares(0, s))); /* zeros past the end */
    if (i >= p.width)
        return;
    row_store_chunk(p.s, row_address(p.s, r), i, p.width, s);
    write_scaled(p, s, w, row_address(p.y, r), i, scale);
}

SIMT_DEVICE void norm_read(const struct add_rmsnorm_rows &p, int64_t r,
                           struct simt_shared<double> partial)
{
    const unsigned char *residual = row_address(p.residual, r), *x = row_address(p.x, r);
    unsigned char *s_row = row_address(p.s, r), *y = row_address(p.y, r);
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    float s[ROW_CHUNK], b[ROW_CHUNK];
    double sum = 0;
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        row_load_chunk<false>(p.residual, residual, i, p.width, s);
        row_load_chunk<false>(p.x, x, i, p.width, b);
        add_chunk(p, s, b);
        sum = add_squares(sum, s);
        row_store_chunk(p.s, s_row, i, p.width, s);
    }
    double scale = scale_of(p, row_block_sum(partial, sum));
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        row_load_chunk<false>(p.s, s_row, i, p.width, s);
        row_load_chunk<true>(p.w, p.w.data, i, p.width, b);
        write_scaled(p, s, b, y, i, scale);
    }
}

template <bool kept> SIMT_KERNEL(add_rmsnorm_row)(struct add_rmsnorm_rows p)
{
    SIMT_SHARED(double, partial, ROW_NORM_WARPS);
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        if (kept)
            norm_kept(p, r, partial);
        else
            norm_read(p, r, partial);
        simt_sync_block(); /* the next row writes the partial sums that this one reads */
    }
}

static assay_status add_rmsnorm_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_add_rmsnorm_args *a =
        static_cast<const struct assay_add_rmsnorm_args *>(args);
    struct add_rmsnorm_rows p = {};
    p.residual = row_view_of(&a->residual);
    p.x = row_view_of(&a->x);
    p.w = row_view_of(&a->w);
    p.s = row_view_of(&a->s);
    p.y = row_view_of(&a->y);
    p.rows = assay_tensor_rows(&a->y);
    p.width = a->w.extent[0];
    p.eps = a->eps;
    p.offset = a->unit_offset ? 1.0f : 0.0f;
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch, ROW_NORM_THREADS);
    if (p.rows <= FEW_ROWS && p.width <= static_cast<int64_t>(launch->block.x) * ROW_CHUNK)
        return SIMT_LAUNCH(launch, add_rmsnorm_row<true>, p);
    return SIMT_LAUNCH(launch, add_rmsnorm_row<false>, p);
}

DEVICE_ROUTE_RUN(add_rmsnorm_route_row, &assay_op_add_rmsnorm, add_rmsnorm_row_launch)
