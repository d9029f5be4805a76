/* SPDX-License-Identifier: MIT
 *
 * The functions behind argmax's route table.
 */
#ifndef ASSAY_ARGMAX_ROUTES_H
#define ASSAY_ARGMAX_ROUTES_H

#include <assay/ops/argmax.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status argmax_route_plain(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx512(assay_context *context, const void *args, void *workspace);

/* argmax.split: elements of a row that a block takes, at first; and the most blocks of a row and
 * rows of a call. */
enum { ARGMAX_PART = 2048, ARGMAX_MAX_PARTS = 128, ARGMAX_MAX_SPLIT_ROWS = 64 };

static inline int64_t argmax_parts(const struct assay_argmax_args *a)
{
    int64_t parts = (a->limit + ARGMAX_PART - 1) / ARGMAX_PART;
    return parts < ARGMAX_MAX_PARTS ? parts : (int64_t)ARGMAX_MAX_PARTS;
}

DEVICE_ROUTE_DECLARE(argmax_route_split)
DEVICE_ROUTE_DECLARE(argmax_route_row)

#ifdef __cplusplus
}
#endif
#endif
