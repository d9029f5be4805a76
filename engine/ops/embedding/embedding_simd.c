/* SPDX-License-Identifier: MIT
 *
 * embedding, vectorised: rows of the same format are copied, others widened or rounded.
 *
 * Profile exact. Moves each byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/embedding/embedding_routes.h"

static void convert(const void *from, enum assay_dtype from_type, void *to,
                    enum assay_dtype to_type, int64_t width)
{
    int64_t i = 0;
    for (; i + SIMD_LANES <= width; i += SIMD_LANES)
        vf_store_any(to, to_type, i, vf_load_any(from, from_type, i));
    if (i < width)
        vf_store_tail(to, to_type, i, width - i, vf_load_tail(from, from_type, i, width - i));
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_embedding_args *a = argument;
    const int32_t *ids = a->ids.data;
    int64_t width = a->y.extent[1];
    for (int64_t t = first; t < last; t++) {
        const void *from = assay_tensor_row(&a->table, ids[t]);
        void *to = assay_tensor_row(&a->y, t);
        if (a->table.dtype == a->y.dtype)
            memcpy(to, from, (size_t)width * assay_dtype_bytes(a->y.dtype));
        else
            convert(from, a->table.dtype, to, a->y.dtype, width);
    }
}

assay_status SIMD_NAME(embedding_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_embedding_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
