/* SPDX-License-Identifier: MIT
 *
 * The functions behind silu_mul's route table.
 */
#ifndef ASSAY_SILU_MUL_ROUTES_H
#define ASSAY_SILU_MUL_ROUTES_H

#include <assay/ops/silu_mul.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status silu_mul_route_plain(assay_context *context, const void *args, void *workspace);
assay_status silu_mul_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status silu_mul_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(silu_mul_route_row)

#ifdef __cplusplus
}
#endif
#endif
