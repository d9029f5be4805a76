/* SPDX-License-Identifier: MIT
 *
 * argmax, the plain route: one pass a row.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/argmax/argmax_routes.h"

#include <math.h>

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_argmax_args *a = argument;
    int32_t *ids = a->ids.data;
    for (int64_t t = first; t < last; t++) {
        const void *row = assay_tensor_row(&a->logits, t);
        double best = word_to_f64(row, a->logits.dtype, 0);
        int32_t id = isnan(best) ? -1 : 0;
        for (int64_t i = 1; i < a->limit && id >= 0; i++) {
            double value = word_to_f64(row, a->logits.dtype, i);
            if (isnan(value)) {
                id = -1;
            } else if (value > best) { /* equal values keep the smaller index */
                best = value;
                id = (int32_t)i;
            }
        }
        ids[t] = id;
    }
}

assay_status argmax_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_argmax_args *a = args;
    (void)workspace;
    assay_parallel(context, a->ids.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
