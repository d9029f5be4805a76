/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's forward-error bound. Derivation: linear_grouped_bound.md.
 */
#include "linear_grouped_oracle.h"

#include <math.h>

#include "bounds.h"
#include "words.h"

void oracle_linear_grouped_bound(const void *args, const struct oracle_route *route,
                                 struct oracle_output *outputs)
{
    const struct assay_linear_grouped_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t inner = a->w.columns, depth = oracle_depth(route, inner);
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
