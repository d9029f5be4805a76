/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_w8row's route table.
 */
#ifndef ASSAY_LINEAR_W8ROW_ROUTES_H
#define ASSAY_LINEAR_W8ROW_ROUTES_H

#include <assay/ops/linear_w8row.h>

#include "cuda/device_route.h"
#include "ops/linear_w8row/w8row_image.h"

#ifdef __cplusplus
extern "C" {
#endif

DEVICE_ROUTE_DECLARE(linear_w8row_route_mma)

/* What cuBLAS needs before its products, all but `sums`; and after each, rows of y from `sums`:
 * args is a struct w8row_tile. The workspace has cuBLAS's part. */
DEVICE_ROUTE_DECLARE(w8row_quantise)
DEVICE_ROUTE_DECLARE(w8row_scale)

bool linear_w8row_cublas_takes(const void *args);
size_t linear_w8row_cublas_workspace(const assay_context *context, const void *args);
assay_status linear_w8row_route_cublas(assay_context *context, const void *args, void *workspace);

assay_status linear_w8row_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_w8row_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_w8row_route_avx512(assay_context *context, const void *args, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
