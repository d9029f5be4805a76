/* SPDX-License-Identifier: MIT
 *
 * kv_append, the plain route: one element at a time. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/kv_append/kv_append_routes.h"

void kv_append_row_plain(const void *from, enum assay_dtype dtype, const struct assay_tensor *cache,
                         int64_t slot_row)
{
    void *to = assay_tensor_row(cache, slot_row);
    for (int64_t d = 0; d < cache->extent[2]; d++)
        word_from_f64(word_to_f64(from, dtype, d), to, cache->dtype, d);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_kv_append_args *a = argument;
    int64_t skipped = kv_append_start(a) * a->k.extent[1]; /* cache rows before the first new one */
    for (int64_t r = first; r < last; r++) {
        kv_append_row_plain(assay_tensor_row(&a->k, r), a->k.dtype, &a->k_cache, skipped + r);
        kv_append_row_plain(assay_tensor_row(&a->v, r), a->v.dtype, &a->v_cache, skipped + r);
    }
}

assay_status kv_append_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_kv_append_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->k), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
