/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm's forward-error bound. Derivation: add_rmsnorm_bound.md.
 */
#include "add_rmsnorm_oracle.h"

#include <math.h>

#include "bounds.h"

void oracle_add_rmsnorm_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_add_rmsnorm_args *a = args;
    struct oracle_output *y = &outputs[1]; /* outputs[0], s, is one number an element */
    int64_t width = a->w.extent[0];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32;
    double tiny = binary64 ? 0 : ORACLE_TINY32;
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = fabs(y->value[i]);
        y->term[ORACLE_TERM_ACCUMULATION][i] =
            0.5 * oracle_gamma((double)width + 2, ORACLE_U64) * magnitude;
        y->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(3, u) * magnitude + tiny;
        y->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(2, u) * magnitude;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}
