/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear's route table.
 */
#ifndef ASSAY_LINEAR_ROUTES_H
#define ASSAY_LINEAR_ROUTES_H

#include <assay/ops/linear.h>

#include "cuda/device_route.h"

/* The register tile of the vector routes: rows of x times rows of w. */
enum { LINEAR_TILE_N = 4, LINEAR_TILE_T_AVX2 = 3, LINEAR_TILE_T_AVX512 = 6 };

/* Rows of x up to which the kernel for few rows goes. */
enum { LINEAR_SMALL_ROWS = 32 };

/* Elements between rows of the planes that binary32 activations are split into. */
static inline int64_t linear_split_pitch(int64_t inner)
{
    return (inner + 7) / 8 * 8;
}

#ifdef __cplusplus
extern "C" {
#endif

DEVICE_ROUTE_DECLARE(linear_route_gemv)
DEVICE_ROUTE_DECLARE(linear_route_small)
DEVICE_ROUTE_DECLARE(linear_route_tiled)
DEVICE_ROUTE_DECLARE(linear_route_generic)

/* cuBLAS, and what it needs around its products. */
DEVICE_ROUTE_DECLARE(linear_split_planes)
DEVICE_ROUTE_DECLARE(linear_drop_nonfinite)
DEVICE_ROUTE_DECLARE(linear_round_sums)
bool linear_cublas_takes(const void *arguments);
size_t linear_cublas_workspace(const assay_context *context, const void *arguments);
assay_status linear_route_cublas(assay_context *context, const void *args, void *workspace);

/* Columns first .. last - 1 of y by the vector routes, in the calling thread: for ops that do more
 * with a tile of sums. */
void linear_columns_avx2(const struct assay_linear_args *args, int64_t first, int64_t last);
void linear_columns_avx512(const struct assay_linear_args *args, int64_t first, int64_t last);

assay_status linear_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_route_avx512(assay_context *context, const void *args, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
