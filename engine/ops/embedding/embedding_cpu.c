/* SPDX-License-Identifier: MIT
 *
 * embedding, the plain route: element by element through binary64, which holds every binary32 and
 * bf16 value. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/embedding/embedding_routes.h"

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_embedding_args *a = argument;
    const int32_t *ids = a->ids.data;
    for (int64_t t = first; t < last; t++) {
        const void *from = assay_tensor_row(&a->table, ids[t]);
        void *to = assay_tensor_row(&a->y, t);
        for (int64_t i = 0; i < a->y.extent[1]; i++)
            word_from_f64(word_to_f64(from, a->table.dtype, i), to, a->y.dtype, i);
    }
}

assay_status embedding_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_embedding_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
