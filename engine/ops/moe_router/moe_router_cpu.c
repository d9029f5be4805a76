/* SPDX-License-Identifier: MIT
 *
 * moe_router, the plain route: k passes over the logits, the formula in binary64, one rounding into
 * the weights. Written to be read; a row of 256 logits is little beside one expert's product.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/moe_router/moe_router_routes.h"

#include <math.h>

/* Each pass takes the best logit that comes after the last one taken, in falling order of logits
 * and rising order of equal ones' indices: no list of what is taken is needed. */
static int64_t next_best(const void *logits, enum assay_dtype dtype, int64_t count, int64_t last)
{
    double bound = last < 0 ? INFINITY : word_to_f64(logits, dtype, last), most = -INFINITY;
    int64_t best = -1;
    for (int64_t e = 0; e < count; e++) {
        double value = word_to_f64(logits, dtype, e);
        bool is_open = value < bound || (value == bound && e > last);
        if (is_open && (best < 0 || value > most)) {
            best = e;
            most = value;
        }
    }
    return best;
}

static bool has_nan(const void *logits, enum assay_dtype dtype, int64_t count)
{
    for (int64_t e = 0; e < count; e++)
        if (isnan(word_to_f64(logits, dtype, e)))
            return true;
    return false;
}

static void row(const struct assay_moe_router_args *a, int64_t t)
{
    const void *logits = assay_tensor_row(&a->logits, t);
    const enum assay_dtype dtype = a->logits.dtype;
    int32_t *ids = assay_tensor_row(&a->ids, t);
    float *weights = assay_tensor_row(&a->weights, t);
    int64_t count = a->logits.extent[1], k = a->ids.extent[1], last = -1;
    double exponential[ASSAY_MOE_MOST], sum = 0, largest = 0;
    bool is_nan = has_nan(logits, dtype, count);
    for (int64_t i = 0; i < k; i++) {
        last = is_nan ? i : next_best(logits, dtype, count, last);
        ids[i] = (int32_t)last;
        double value = is_nan ? (double)NAN : word_to_f64(logits, dtype, last);
        largest = i == 0 ? value : largest;
        exponential[i] = exp(value - largest);
        sum += exponential[i];
    }
    for (int64_t i = 0; i < k; i++)
        weights[i] = (float)(exponential[i] / sum);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    for (int64_t t = first; t < last; t++)
        row(argument, t);
}

assay_status moe_router_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_moe_router_args *a = args;
    (void)workspace;
    assay_parallel(context, a->ids.extent[0], 8, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
