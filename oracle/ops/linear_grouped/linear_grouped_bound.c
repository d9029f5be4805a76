/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's forward-error bound. Derivation: linear_grouped_bound.md.
 */
#include "linear_grouped_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "oracle_formats.h"
#include "words.h"

/* sum |w| of each row of w, for what a split loses beside the relative part. */
static double *row_magnitudes(const struct assay_weights *w)
{
    int group = oracle_weight_format(w->format).group;
    double *sums = malloc((size_t)w->rows * sizeof *sums);
    for (int64_t n = 0; sums != NULL && n < w->rows; n++) {
        sums[n] = 0;
        for (int64_t k = 0; k < w->columns; k++)
            sums[n] += fabs(oracle_weight_code(w, n, k) * oracle_weight_scale(w, n, k / group));
    }
    return sums;
}

/* Profiles a16 and a16x2: exact products of codes; `depth` counts the truncations of mma as
 * roundings. */
static void bound_tensor_cores(const struct assay_linear_grouped_args *a, int64_t depth,
                               struct oracle_output *y)
{
    double all = oracle_gamma((double)depth, ORACLE_U32), limit = oracle_max_finite(ASSAY_F32);
    double underflow = 0.5 * ORACLE_TINY32 * (double)a->w.columns * (1 + all);
    bool is_split = a->x.dtype == ASSAY_F32, has_residual = a->residual.data != NULL;
    double more = is_split ? 1 + 0x1p-6 : 1; /* |high| + |low| <= more |x| */
    double *weights = is_split ? row_magnitudes(&a->w) : NULL;
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = y->aux[LINEAR_GROUPED_AUX_MAGNITUDE][i];
        double reach = y->aux[LINEAR_GROUPED_AUX_REACH][i];
        double residual = has_residual ? fabs(oracle_get(&a->residual, i)) : 0;
        if (!isfinite(magnitude) || !isfinite(residual))
            continue;
        if (is_split) {
            double tiny = weights != NULL ? 0x1p-134 * weights[i % a->w.rows] : INFINITY;
            y->term[ORACLE_TERM_INPUT][i] = 0x1p-17 * (1 + 0x1p-40) * magnitude + tiny;
        }
        y->term[ORACLE_TERM_ACCUMULATION][i] = all * more * magnitude + underflow;
        if (has_residual && y->dtype != ASSAY_F32)
            y->term[ORACLE_TERM_ACCUMULATION][i] +=
                ORACLE_U32 * (1 + all) * (more * magnitude + residual);
        if (reach * more * (1 + all) + residual > limit)
            y->term[ORACLE_TERM_ACCUMULATION][i] = INFINITY;
    }
    free(weights);
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 0); /* truncations share a sign */
}

void oracle_linear_grouped_bound(const void *args, const struct oracle_route *route,
                                 struct oracle_output *outputs)
{
    const struct assay_linear_grouped_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t inner = a->w.columns, depth = oracle_depth(route, inner);
    if (route->profile == ASSAY_PROFILE_A16 || route->profile == ASSAY_PROFILE_A16X2) {
        bound_tensor_cores(a, depth, y);
        return;
    }
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    bool has_residual = a->residual.data != NULL;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32;
    double products = binary64 ? 0 : oracle_gamma(1, u); /* exact in binary64 */
    double all = oracle_gamma((double)depth + (binary64 ? 0 : 1), u);
    double underflow = binary64 ? 0 : 0.5 * ORACLE_TINY32 * (double)inner * (1 + all);
    double limit = oracle_max_finite(ASSAY_F32);
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = y->aux[LINEAR_GROUPED_AUX_MAGNITUDE][i];
        double reach = y->aux[LINEAR_GROUPED_AUX_REACH][i];
        double residual = has_residual ? fabs(oracle_get(&a->residual, i)) : 0;
        if (!isfinite(magnitude) || !isfinite(residual))
            continue; /* NaN and infinities are compared by their pattern */
        y->term[ORACLE_TERM_PRODUCTS][i] = products * magnitude + underflow;
        y->term[ORACLE_TERM_ACCUMULATION][i] = (all - products) * magnitude;
        /* y + residual in f32 is the output rounding itself; into bf16 it comes before that. */
        if (has_residual && (binary64 || y->dtype != ASSAY_F32))
            y->term[ORACLE_TERM_ACCUMULATION][i] += u * (1 + all) * (magnitude + residual);
        if (!binary64 && reach * (1 + all) + residual > limit)
            y->term[ORACLE_TERM_ACCUMULATION][i] = INFINITY;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), depth);
}
