/* SPDX-License-Identifier: MIT
 *
 * The functions behind moe_router's route table.
 */
#ifndef ASSAY_MOE_ROUTER_ROUTES_H
#define ASSAY_MOE_ROUTER_ROUTES_H

#include <assay/ops/moe_router.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status moe_router_route_plain(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(moe_router_route_warp)

#ifdef __cplusplus
}
#endif
#endif
