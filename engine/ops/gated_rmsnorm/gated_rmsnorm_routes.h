/* SPDX-License-Identifier: MIT
 *
 * The functions behind gated_rmsnorm's route table.
 */
#ifndef ASSAY_GATED_RMSNORM_ROUTES_H
#define ASSAY_GATED_RMSNORM_ROUTES_H

#include <assay/ops/gated_rmsnorm.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status gated_rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status gated_rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status gated_rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(gated_rmsnorm_route_row)

#ifdef __cplusplus
}
#endif
#endif
