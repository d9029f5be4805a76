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

/* One row, y = x's normalised: what the routes of an instruction set share with the ops that
 * normalise. Of the args: formats, w, unit_offset and eps. */
void rmsnorm_row_plain(const struct assay_rmsnorm_args *a, const void *x, void *y);
void rmsnorm_row_avx2(const struct assay_rmsnorm_args *a, const void *x, void *y);
void rmsnorm_row_avx512(const struct assay_rmsnorm_args *a, const void *x, void *y);

assay_status rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(rmsnorm_route_row)

#ifdef __cplusplus
}
#endif
#endif
