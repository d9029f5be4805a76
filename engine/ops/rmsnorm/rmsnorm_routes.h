/* SPDX-License-Identifier: MIT
 *
 * The functions behind rmsnorm's route table.
 */
#ifndef ASSAY_RMSNORM_ROUTES_H
#define ASSAY_RMSNORM_ROUTES_H

#include <assay/ops/rmsnorm.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(rmsnorm_route_row)

#ifdef __cplusplus
}
#endif
#endif
