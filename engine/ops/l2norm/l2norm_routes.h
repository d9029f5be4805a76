/* SPDX-License-Identifier: MIT
 *
 * The functions behind l2norm's route table.
 */
#ifndef ASSAY_L2NORM_ROUTES_H
#define ASSAY_L2NORM_ROUTES_H

#include <assay/ops/l2norm.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status l2norm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status l2norm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status l2norm_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(l2norm_route_row)

#ifdef __cplusplus
}
#endif
#endif
