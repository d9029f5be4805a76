/* SPDX-License-Identifier: MIT
 *
 * argmax, vectorised: every lane keeps the best value of its columns and where it first stood; the
 * lanes are compared at the end, smaller indices first. Values are never rounded: exact.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/argmax/argmax_routes.h"

#include <math.h>

static int32_t row_argmax(const void *row, enum assay_dtype dtype, int64_t limit)
{
    vf best = vf_set(-INFINITY);
    vi best_at, at, nan = (vi)vf_set(0); /* all zero bits */
    for (int lane = 0; lane < SIMD_LANES; lane++)
        at[lane] = lane;
    const vi step = (at & 0) + SIMD_LANES;
    best_at = at; /* rows of -inf only: nothing is larger, column 0 is lane 0 */
    int64_t i = 0;
    for (; i + SIMD_LANES <= limit; i += SIMD_LANES) {
        vf value = vf_load_any(row, dtype, i);
        vi larger = (vi)(value > best);
        best = vf_select(larger, value, best);
        best_at = (larger & at) | (~larger & best_at);
        nan |= (vi)(value != value);
        at += step;
    }
    float lane_best[SIMD_LANES];
    vf_store(lane_best, best);
    float maximum = -INFINITY;
    int64_t id = 0;
    for (int lane = 0; lane < SIMD_LANES; lane++) {
        if (nan[lane] != 0)
            return -1;
        if (lane_best[lane] > maximum || (lane_best[lane] == maximum && best_at[lane] < id)) {
            maximum = lane_best[lane];
            id = best_at[lane];
        }
    }
    for (; i < limit; i++) { /* the tail holds the largest indices */
        float value = (float)word_to_f64(row, dtype, i);
        if (isnan(value))
            return -1;
        if (value > maximum) {
            maximum = value;
            id = i;
        }
    }
    return (int32_t)id;
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_argmax_args *a = argument;
    int32_t *ids = a->ids.data;
    for (int64_t t = first; t < last; t++)
        ids[t] = row_argmax(assay_tensor_row(&a->logits, t), a->logits.dtype, a->limit);
}

assay_status SIMD_NAME(argmax_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_argmax_args *a = args;
    (void)workspace;
    assay_parallel(context, a->ids.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
