/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_pair's route table.
 */
#ifndef ASSAY_LINEAR_PAIR_ROUTES_H
#define ASSAY_LINEAR_PAIR_ROUTES_H

#include <assay/ops/linear_pair.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

DEVICE_ROUTE_DECLARE(linear_pair_route_gemv)

/* On every device backend the same. */
size_t linear_pair_composed_workspace(const assay_context *context, const void *args);
assay_status linear_pair_route_composed(assay_context *context, const void *args, void *workspace);

assay_status linear_pair_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_pair_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_pair_route_avx512(assay_context *context, const void *args, void *workspace);

/* Rows of all matrices, one behind the other. */
static inline int64_t linear_pair_rows(const struct assay_linear_pair_args *a)
{
    int64_t rows = 0;
    for (int i = 0; i < a->num_products; i++)
        rows += a->w[i].rows;
    return rows;
}

#ifdef __cplusplus
}
#endif
#endif
