/* SPDX-License-Identifier: MIT
 *
 * The functions behind moe_experts' route table.
 */
#ifndef ASSAY_MOE_EXPERTS_ROUTES_H
#define ASSAY_MOE_EXPERTS_ROUTES_H

#include <assay/ops/moe_experts.h>

#include "cuda/device_route.h"

/* Tokens up to which each pair of a token and a slot reads its expert's weights for itself. */
enum { MOE_EXPERTS_FEW = 8 };

#ifdef __cplusplus
extern "C" {
#endif

assay_status moe_experts_route_plain(assay_context *context, const void *args, void *workspace);
assay_status moe_experts_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status moe_experts_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(moe_experts_route_pairs)
DEVICE_ROUTE_DECLARE(moe_experts_route_grouped)

#ifdef __cplusplus
}
#endif
#endif
