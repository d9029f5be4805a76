/* SPDX-License-Identifier: MIT
 *
 * The functions behind kv_append's route table.
 */
#ifndef ASSAY_KV_APPEND_ROUTES_H
#define ASSAY_KV_APPEND_ROUTES_H

#include <assay/ops/kv_append.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The start of a call whose tensors the host can read [KVAPPEND-7]. */
static inline int64_t kv_append_start(const struct assay_kv_append_args *a)
{
    if (a->start_at.data == NULL)
        return a->start;
    int32_t at = *(const int32_t *)a->start_at.data;
    int64_t least = at > 0 ? at : 0;
    return least < a->start ? least : a->start;
}

/* cache's row `slot_row` = the row `from` of the format: what the routes of an instruction set
 * share with the ops that append. */
void kv_append_row_plain(const void *from, enum assay_dtype dtype, const struct assay_tensor *cache,
                         int64_t slot_row);
void kv_append_row_avx2(const void *from, enum assay_dtype dtype, const struct assay_tensor *cache,
                        int64_t slot_row);
void kv_append_row_avx512(const void *from, enum assay_dtype dtype,
                          const struct assay_tensor *cache, int64_t slot_row);

/* All checks of the contract, as errors of the op that asks. */
assay_status kv_append_check(assay_context *context, const char *op,
                             const struct assay_kv_append_args *a);
/* The reach of a cache: the new slots and no other; with start_at, which the host may not be able
 * to read, all that may be. */
void kv_append_reach(const struct assay_kv_append_args *a, struct assay_tensor *view);

assay_status kv_append_route_plain(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(kv_append_route_warp)

#ifdef __cplusplus
}
#endif
#endif
