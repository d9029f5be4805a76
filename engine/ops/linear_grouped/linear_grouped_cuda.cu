/* SPDX-License-Identifier: MIT
 *
 * linear_grouped in plain binary32: a warp takes a row of x and a row of w, each lane every 32nd
 * chunk of 8 columns, whose products with the codes are summed before the group's scale is applied.
 *
 * Profile f32. Bound: linear_grouped_bound.md; 8 products a chunk by FMA, chunks by FMA, then a
 * tree of 5 additions. Moves the planes once for each row of x, from L2 but for the first; for
 * calls that no other route takes.
 * sass: word stores, one output a warp.
 */
#include "ops/linear_grouped/grouped_planes.cuh"
#include "ops/linear_grouped/linear_grouped_routes.h"

enum { GENERIC_WARPS = 8, GENERIC_BLOCKS = 132 * 8 };

struct generic_call {
    struct row_view x, residual, y;
    struct grouped_view w;
    int64_t rows, columns, inner; /* T, N, K */
    bool has_residual;
};

/* This lane's share of the products of a row of x and one of w. */
SIMT_DEVICE float generic_products(const struct generic_call &p, const unsigned char *x, int64_t n)
{
    float sum = 0;
    for (int64_t k = simt_lane() * ROW_CHUNK; k < p.inner; k += 32 * ROW_CHUNK) {
        float values[ROW_CHUNK], codes[ROW_CHUNK];
        row_load_chunk<true>(p.x, x, k, p.inner, values);
        grouped_codes(p.w, n, k, codes);
        float partial = values[0] * codes[0];
        SIMT_UNROLL for (int i = 1; i < ROW_CHUNK; i++) partial =
            fmaf(values[i], codes[i], partial);
        sum = fmaf(partial, grouped_scale(p.w, n, k), sum);
    }
    return sum;
}

/* One rounding into y; y may be the residual. */
SIMT_DEVICE void generic_store(const struct generic_call &p, int64_t t, int64_t n, float sum)
{
    unsigned char *to = row_address(p.y, t);
    if (p.has_residual)
        sum += simt_load(reinterpret_cast<const float *>(row_address(p.residual, t)) + n);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(to) + n, simt_bf16_from_f32(sum));
    else
        simt_store(reinterpret_cast<float *>(to) + n, sum);
}

/* The rows of x that meet a row of w follow each other. */
SIMT_KERNEL(linear_grouped_row)(struct generic_call p)
{
    int64_t items = p.columns * p.rows, step = GENERIC_WARPS * int64_t{simt_grid_extent().x};
    for (int64_t i = GENERIC_WARPS * int64_t{simt_block_index().x} + simt_warp(); i < items;
         i += step) {
        int64_t t = i % p.rows, n = i / p.rows;
        float sum = generic_products(p, row_address(p.x, t), n);
        SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) sum +=
            simt_shuffle_xor(SIMT_ALL_LANES, sum, bits);
        if (simt_lane() == 0)
            generic_store(p, t, n, sum);
    }
}

static assay_status generic_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_grouped_args *a =
        static_cast<const struct assay_linear_grouped_args *>(args);
    struct generic_call p = {row_view_of(&a->x), row_view_of(&a->residual),
                             row_view_of(&a->y), grouped_view_of(&a->w),
                             a->x.extent[0],     a->w.rows,
                             a->w.columns,       a->residual.data != NULL};
    int64_t blocks = (p.rows * p.columns + GENERIC_WARPS - 1) / GENERIC_WARPS;
    if (blocks == 0)
        return ASSAY_OK;
    if (blocks > GENERIC_BLOCKS)
        blocks = GENERIC_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {32 * GENERIC_WARPS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_grouped_row, p);
}

DEVICE_ROUTE_RUN(linear_grouped_route_generic, &assay_op_linear_grouped, generic_launch)
