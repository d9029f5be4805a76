/* SPDX-License-Identifier: MIT
 *
 * linear_add with bf16 weights, vectorised: a tile of linear's sums, then add's rows. The sums have
 * linear's order, r is added to the finished ones, so that y has the bits of linear into f32
 * followed by add.
 *
 * Profile f32. Bound: linear_add_bound.md. Moves w, r and y once, x once for each tile of columns.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/add/add_routes.h"
#include "ops/linear/linear_routes.h"
#include "ops/linear_add/linear_add_routes.h"

/* A tile stays in the first-level cache; its rows of x are whole register tiles of linear's. A
 * range of the thread pool has RANGE_WORK multiply-adds. */
enum { TILE_ROWS = 4 * LINEAR_TILE_T_AVX512, TILE_COLUMNS = 32 };
#if defined(ASSAY_PARANOID)
enum { RANGE_WORK = 1 };
#else
enum { RANGE_WORK = 256 * 1024 };
#endif

/* Columns first .. first + count - 1 of rows t .. t + rows - 1. */
static struct assay_tensor part(const struct assay_tensor *tensor, int64_t t, int64_t rows,
                                int64_t first, int64_t count)
{
    struct assay_tensor view = *tensor;
    view.data =
        (char *)assay_tensor_row(tensor, t) + first * (int64_t)assay_dtype_bytes(tensor->dtype);
    view.extent[0] = rows;
    view.extent[1] = count;
    return view;
}

static void tile(const struct assay_linear_add_args *a, int64_t t, int64_t rows, int64_t first,
                 int64_t count)
{
    float sums[TILE_ROWS * TILE_COLUMNS];
    struct assay_linear_args product = {
        .x = part(&a->x, t, rows, 0, a->x.extent[1]),
        .w = part(&a->w.base, first, count, 0, a->x.extent[1]),
        .y = assay_tensor_2d(sums, ASSAY_F32, rows, count),
    };
    SIMD_NAME(linear_columns)(&product, 0, count);
    struct assay_add_args sum = {.a = part(&a->r, t, rows, first, count),
                                 .b = product.y,
                                 .y = part(&a->y, t, rows, first, count)};
    for (int64_t row = 0; row < rows; row++)
        SIMD_NAME(add_row)(&sum, row);
}

static void columns(void *argument, int64_t first, int64_t last)
{
    const struct assay_linear_add_args *a = argument;
    int64_t rows = a->x.extent[0];
    for (int64_t n = first; n < last; n += TILE_COLUMNS) {
        int64_t count = last - n < TILE_COLUMNS ? last - n : TILE_COLUMNS;
        for (int64_t t = 0; t < rows; t += TILE_ROWS)
            tile(a, t, rows - t < TILE_ROWS ? rows - t : TILE_ROWS, n, count);
    }
}

assay_status SIMD_NAME(linear_add_route_bf16)(assay_context *context, const void *args,
                                              void *workspace)
{
    const struct assay_linear_add_args *a = args;
    (void)workspace;
    int64_t work = a->x.extent[1] * (a->x.extent[0] > 0 ? a->x.extent[0] : 1); /* of a row of w */
    int64_t grain = RANGE_WORK / work / TILE_COLUMNS * TILE_COLUMNS;
    assay_parallel(context, a->w.rows, grain < TILE_COLUMNS ? TILE_COLUMNS : grain, columns,
                   (void *)(uintptr_t)args);
    return ASSAY_OK;
}
