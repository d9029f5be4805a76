/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_add's route table.
 */
#ifndef ASSAY_LINEAR_ADD_ROUTES_H
#define ASSAY_LINEAR_ADD_ROUTES_H

#include <assay/ops/linear_add.h>

#include "cuda/device_route.h"
#include "ops/linear_add/any_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same call as one of linear_grouped. */
struct assay_linear_grouped_args linear_add_grouped(const struct assay_linear_add_args *args);

assay_status linear_add_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_add_route_bf16_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_add_route_bf16_avx512(assay_context *context, const void *args,
                                          void *workspace);
assay_status linear_add_route_grouped_avx2(assay_context *context, const void *args,
                                           void *workspace);
assay_status linear_add_route_grouped_avx512(assay_context *context, const void *args,
                                             void *workspace);

/* Workspace of the product's row `method` of either device backend, and of the sums of bf16. */
size_t linear_add_device_workspace(const assay_context *context,
                                   const struct assay_linear_add_args *args, const char *method);

/* Product and addition in stream order; grouped formats are one launch of linear_grouped's. */
DEVICE_ROUTE_DECLARE(linear_add_route_gemv)
DEVICE_ROUTE_DECLARE(linear_add_route_small)
DEVICE_ROUTE_DECLARE(linear_add_route_tiled)
assay_status linear_add_route_cublas_cuda(assay_context *context, const void *args,
                                          void *workspace);

#ifdef __cplusplus
}
#endif
#endif
