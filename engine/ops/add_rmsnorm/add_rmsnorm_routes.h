/* SPDX-License-Identifier: MIT
 *
 * The functions behind add_rmsnorm's route table, and its two ops as calls of their own.
 */
#ifndef ASSAY_ADD_RMSNORM_ROUTES_H
#define ASSAY_ADD_RMSNORM_ROUTES_H

#include <assay/ops/add.h>
#include <assay/ops/add_rmsnorm.h>
#include <assay/ops/rmsnorm.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline struct assay_add_args add_rmsnorm_sum(const struct assay_add_rmsnorm_args *a)
{
    struct assay_add_args sum = {a->residual, a->x, a->s};
    return sum;
}

static inline struct assay_rmsnorm_args add_rmsnorm_norm(const struct assay_add_rmsnorm_args *a)
{
    struct assay_rmsnorm_args norm = {a->s, a->w, a->y, a->unit_offset, a->eps};
    return norm;
}

assay_status add_rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status add_rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status add_rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(add_rmsnorm_route_row)

#ifdef __cplusplus
}
#endif
#endif
