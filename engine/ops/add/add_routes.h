/* SPDX-License-Identifier: MIT
 *
 * The functions behind add's route table.
 */
#ifndef ASSAY_ADD_ROUTES_H
#define ASSAY_ADD_ROUTES_H

#include <assay/ops/add.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows are short against the cost of handing out work: a range has about this many elements. */
#define ADD_RANGE_ELEMENTS INT64_C(16384)

static inline int64_t add_grain(const struct assay_add_args *a)
{
    int64_t rows = ADD_RANGE_ELEMENTS / a->y.extent[1];
    return rows > 0 ? rows : 1;
}

/* Row r of a call: what the routes of an instruction set share with the ops that add. */
void add_row_plain(const struct assay_add_args *args, int64_t r);
void add_row_avx2(const struct assay_add_args *args, int64_t r);
void add_row_avx512(const struct assay_add_args *args, int64_t r);

assay_status add_route_plain(assay_context *context, const void *args, void *workspace);
assay_status add_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status add_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(add_route_row)

#ifdef __cplusplus
}
#endif
#endif
