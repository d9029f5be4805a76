/* SPDX-License-Identifier: MIT
 *
 * The functions behind gdn_gating's route table.
 */
#ifndef ASSAY_GDN_GATING_ROUTES_H
#define ASSAY_GDN_GATING_ROUTES_H

#include <assay/ops/gdn_gating.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One element in binary64, over the whole range of the inputs. */
double gdn_gating_decay(double a, double dt_bias, double a_log);
double gdn_gating_beta(double b);

assay_status gdn_gating_route_plain(assay_context *context, const void *args, void *workspace);
assay_status gdn_gating_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status gdn_gating_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(gdn_gating_route_chunk)

#ifdef __cplusplus
}
#endif
#endif
