/* SPDX-License-Identifier: MIT
 *
 * l2norm's forward-error bound. Derivation: l2norm_bound.md.
 */
#include "l2norm_oracle.h"

#include <math.h>

#include "bounds.h"

void oracle_l2norm_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs)
{
    const struct assay_l2norm_args *a = args;
    struct oracle_output *y = &outputs[0];
    double width = (double)a->x.extent[a->x.rank - 1];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32;
    double tiny = binary64 ? 0 : ORACLE_TINY32;
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = fabs(y->value[i]);
        if (!isfinite(magnitude))
            continue;
        y->term[ORACLE_TERM_ACCUMULATION][i] =
            0.5 * oracle_gamma(width + 1, ORACLE_U64) * magnitude;
        y->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(1, u) * magnitude + tiny;
        y->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(2, u) * magnitude;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}
