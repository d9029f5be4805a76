/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_grouped's route table.
 */
#ifndef ASSAY_LINEAR_GROUPED_ROUTES_H
#define ASSAY_LINEAR_GROUPED_ROUTES_H

#include <assay/ops/linear_grouped.h>

#include "cuda/device_route.h"
#include "ops/linear_grouped/grouped_planes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The register tile of the vector routes: rows of x, and rows of w where x has one. */
enum {
    LINEAR_GROUPED_TILE_T = 4,
    LINEAR_GROUPED_TILE_N_AVX2 = 2,
    LINEAR_GROUPED_TILE_N_AVX512 = 4
};

/* The kernel for one row of x: x fits shared memory; warps that share a row of w. */
enum { LINEAR_GROUPED_GEMV_INNER = 32768, LINEAR_GROUPED_GEMV_PARTS = 4 };

/* Tensor cores: rows of x up to which the kernel for few rows goes; columns in a unit; tiles of 8
 * rows of x that a block of the kernel for many rows takes. */
enum { LINEAR_GROUPED_SMALL_ROWS = 32, LINEAR_GROUPED_UNIT = 64, LINEAR_GROUPED_TILED_TILES = 8 };

/* The kernel for few rows of x and many of w: rows of x that it takes, from which on and from how
 * many of w (96 for each multiprocessor of an H200) it is the faster one; columns of its operand.
 */
enum {
    LINEAR_GROUPED_WIDE_ROWS = 32,
    LINEAR_GROUPED_WIDE_FROM = 9,
    LINEAR_GROUPED_WIDE_OUTPUTS = 96 * 132,
    LINEAR_GROUPED_WIDE_COLUMNS = 64
};

/* Columns of the operand that x is, of 1 or 2 planes: 16, 32 or 64. */
static inline int linear_grouped_wide_columns(int64_t rows, int num_planes)
{
    int64_t columns = rows * num_planes;
    if (num_planes == 2) /* of each plane whole tiles of 8 */
        columns = (rows + 7) / 8 * 16;
    return columns <= 16 ? 16 : columns <= 32 ? 32 : LINEAR_GROUPED_WIDE_COLUMNS;
}

/* Units of K, rounded up to a step. */
static inline int64_t linear_grouped_wide_units(int64_t inner)
{
    return (inner + 4 * LINEAR_GROUPED_UNIT - 1) / (4 * LINEAR_GROUPED_UNIT) * 4;
}

/* Tiles of 8 rows of x, rounded up to a multiple. */
static inline int64_t linear_grouped_x_tiles(int64_t rows, int multiple)
{
    return (rows + 8 * multiple - 1) / (8 * multiple) * multiple;
}

/* Columns of a stored row: K and the padding. */
static inline int64_t linear_grouped_padded(int64_t inner)
{
    return (inner + ASSAY_WEIGHT_PADDING - 1) / ASSAY_WEIGHT_PADDING * ASSAY_WEIGHT_PADDING;
}

/* The chain of the kernel for one row of x, for the ops that contain it: of a group of 64 columns 4
 * mma, each as 36 roundings (linear_bound.md), an FMA a group (q8g32 has most), the three parts of
 * x and both halves of a row, parts. */
static inline int64_t linear_grouped_depth_gemv(int64_t inner_length)
{
    return 4 * 36 + (inner_length + 31) / 32 + 3 + LINEAR_GROUPED_GEMV_PARTS;
}

DEVICE_ROUTE_DECLARE(linear_grouped_route_gemv)
DEVICE_ROUTE_DECLARE(linear_grouped_route_small)
DEVICE_ROUTE_DECLARE(linear_grouped_route_wide)
DEVICE_ROUTE_DECLARE(linear_grouped_route_tiled)
DEVICE_ROUTE_DECLARE(linear_grouped_route_generic)

/* The vector routes in two parts, for ops that do more with a tile of sums: x in the order of the
 * codes, into [T, linear_grouped_padded(K)]; columns first .. last - 1 of y from it, in the calling
 * thread. */
void linear_grouped_prepare_avx2(assay_context *context,
                                 const struct assay_linear_grouped_args *args, float *x);
void linear_grouped_prepare_avx512(assay_context *context,
                                   const struct assay_linear_grouped_args *args, float *x);
void linear_grouped_columns_avx2(const struct assay_linear_grouped_args *args, const float *x,
                                 int64_t first, int64_t last);
void linear_grouped_columns_avx512(const struct assay_linear_grouped_args *args, const float *x,
                                   int64_t first, int64_t last);

assay_status linear_grouped_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_grouped_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_grouped_route_avx512(assay_context *context, const void *args, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
