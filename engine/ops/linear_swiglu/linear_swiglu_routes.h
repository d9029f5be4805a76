/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_swiglu's route table.
 */
#ifndef ASSAY_LINEAR_SWIGLU_ROUTES_H
#define ASSAY_LINEAR_SWIGLU_ROUTES_H

#include <assay/ops/linear_swiglu.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

DEVICE_ROUTE_DECLARE(linear_swiglu_route_gemv)

/* On every device backend the same. */
size_t linear_swiglu_composed_workspace(const assay_context *context, const void *args);
assay_status linear_swiglu_route_composed(assay_context *context, const void *args,
                                          void *workspace);

assay_status linear_swiglu_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_swiglu_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_swiglu_route_avx512(assay_context *context, const void *args, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
