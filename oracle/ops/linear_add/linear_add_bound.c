/* SPDX-License-Identifier: MIT
 *
 * linear_add's forward-error bound: the product's, and the addition. Derivation:
 * linear_add_bound.md.
 */
#include "linear_add_oracle.h"

#include <math.h>

#include "bounds.h"
#include "ops/linear/linear_oracle.h"
#include "words.h"

/* What |sum of the route| may be beyond M: |high| + |low| <= (1 + 2^-6) |x| where x is split. */
static double reach_of(const struct assay_linear_add_args *a, const struct oracle_route *route,
                       double magnitude)
{
    double u = route->profile == ASSAY_PROFILE_F64 ? ORACLE_U64 : ORACLE_U32;
    double all = oracle_gamma((double)oracle_depth(route, a->w.columns) + 1, u);
    bool is_split = route->profile == ASSAY_PROFILE_A16X2 && a->x.dtype == ASSAY_F32;
    return magnitude * (is_split ? 1 + 0x1p-6 : 1) * (1 + all);
}

void oracle_linear_add_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs)
{
    const struct assay_linear_add_args *a = args;
    struct oracle_output *y = &outputs[0];
    if (a->w.format != ASSAY_WEIGHT_BF16) {
        struct assay_linear_grouped_args grouped = oracle_linear_add_grouped(a);
        oracle_find("linear_grouped")->bound(&grouped, route, outputs);
        return;
    }
    struct assay_linear_args product = oracle_linear_add_product(a);
    oracle_linear_bound(&product, route, outputs);
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, limit = oracle_max_finite(ASSAY_F32);
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = y->aux[LINEAR_AUX_MAGNITUDE][i], r = fabs(oracle_get(&a->r, i));
        if (!isfinite(magnitude) || !isfinite(r))
            continue; /* NaN and infinities are compared by their pattern */
        double reach = reach_of(a, route, magnitude);
        /* sum + r in f32 is the output rounding itself; into bf16 it comes before that. */
        if (binary64 || y->dtype != ASSAY_F32)
            y->term[ORACLE_TERM_ACCUMULATION][i] += u * (reach + r);
        if (!binary64 && reach + r > limit)
            y->term[ORACLE_TERM_ACCUMULATION][i] = INFINITY;
    }
    oracle_bound_output_rounding(y);
    bool is_tensor = route->profile == ASSAY_PROFILE_A16 || route->profile == ASSAY_PROFILE_A16X2;
    oracle_bound_rms(y, oracle_inputs_independent(),
                     is_tensor ? 0 : oracle_depth(route, a->w.columns));
}
