/* SPDX-License-Identifier: MIT
 *
 * linear_topk, the plain route: products and sums in binary64, columns in rising order, each logit
 * rounded to binary32 once and compared as it then is. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_grouped/grouped_planes.h"
#include "ops/linear_topk/linear_topk_routes.h"
#include "ops/linear_topk/topk_keys.h"

#include <math.h>
#include <stdlib.h>

static int falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

void topk_store(const struct assay_linear_topk_args *args, int64_t t, uint64_t *heap)
{
    int64_t k = args->values.extent[1];
    float *values = assay_tensor_row(&args->values, t);
    int32_t *ids = assay_tensor_row(&args->ids, t);
    qsort(heap, (size_t)k, sizeof *heap, falling);
    bool has_nan = heap[0] >> 32 == TOPK_NAN;
    for (int64_t i = 0; i < k; i++) {
        bool is_logit = heap[i] != 0 && !has_nan;
        values[i] = is_logit ? topk_value(heap[i]) : has_nan ? NAN : -INFINITY;
        ids[i] = is_logit ? (int32_t) ~(uint32_t)heap[i] : -1;
    }
}

static double bf16_logit(const struct assay_linear_topk_args *a, const void *x, int64_t v)
{
    const void *w = assay_tensor_row(&a->w.base, v);
    double sum = 0;
    for (int64_t k = 0; k < a->w.columns; k++)
        sum += word_to_f64(x, a->x.dtype, k) * word_to_f64(w, ASSAY_BF16, k);
    return sum;
}

static double grouped_logit(const struct assay_linear_topk_args *a, const void *x, int64_t v)
{
    const struct grouped_row w = grouped_row_of(&a->w, v);
    double sum = 0;
    for (int64_t k = 0; k < a->w.columns; k++)
        sum += word_to_f64(x, a->x.dtype, k) * (double)grouped_value(&w, k);
    return sum;
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_linear_topk_args *a = argument;
    bool is_grouped = any_weights_grouped(&a->w);
    for (int64_t t = first; t < last; t++) {
        const void *x = assay_tensor_row(&a->x, t);
        uint64_t heap[ASSAY_TOPK_MOST] = {0};
        for (int64_t v = 0; v < a->limit; v++) {
            double logit = is_grouped ? grouped_logit(a, x, v) : bf16_logit(a, x, v);
            topk_push(heap, (int)a->values.extent[1], topk_key((float)logit, v));
        }
        topk_store(a, t, heap);
    }
}

assay_status linear_topk_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_topk_args *a = args;
    (void)workspace;
    assay_parallel(context, a->x.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
