/* SPDX-License-Identifier: MIT
 *
 * The functions behind gdn_recurrent's route table.
 */
#ifndef ASSAY_GDN_RECURRENT_ROUTES_H
#define ASSAY_GDN_RECURRENT_ROUTES_H

#include <assay/ops/gdn_recurrent.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workspace of the vector routes: q (scaled) and k in binary32, [T, Hk, dk] each. */
size_t gdn_recurrent_workspace(const assay_context *context, const void *args);

assay_status gdn_recurrent_route_plain(assay_context *context, const void *args, void *workspace);
assay_status gdn_recurrent_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status gdn_recurrent_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(gdn_recurrent_route_state32)
DEVICE_ROUTE_DECLARE(gdn_recurrent_route_state16)

#ifdef __cplusplus
}
#endif
#endif
