/* SPDX-License-Identifier: MIT
 *
 * kv_append, vectorised: rows of one format are copied, others pass through binary32, which holds
 * bf16 exactly, so the one rounding is the one into the cache.
 *
 * Profile exact. Moves each byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/kv_append/kv_append_routes.h"

void SIMD_NAME(kv_append_row)(const void *from, enum assay_dtype dtype,
                              const struct assay_tensor *cache, int64_t slot_row)
{
    void *to = assay_tensor_row(cache, slot_row);
    int64_t width = cache->extent[2], d = 0;
    if (dtype == cache->dtype) {
        memcpy(to, from, (size_t)width * assay_dtype_bytes(dtype));
        return;
    }
    for (; d + SIMD_LANES <= width; d += SIMD_LANES)
        vf_store_any(to, cache->dtype, d, vf_load_any(from, dtype, d));
    if (d < width)
        vf_store_tail(to, cache->dtype, d, width - d, vf_load_tail(from, dtype, d, width - d));
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_kv_append_args *a = argument;
    int64_t skipped = kv_append_start(a) * a->k.extent[1]; /* cache rows before the first new one */
    for (int64_t r = first; r < last; r++) {
        const void *k = assay_tensor_row(&a->k, r), *v = assay_tensor_row(&a->v, r);
        SIMD_NAME(kv_append_row)(k, a->k.dtype, &a->k_cache, skipped + r);
        SIMD_NAME(kv_append_row)(v, a->v.dtype, &a->v_cache, skipped + r);
    }
}

assay_status SIMD_NAME(kv_append_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_kv_append_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->k), 8, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
