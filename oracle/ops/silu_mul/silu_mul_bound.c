/* SPDX-License-Identifier: MIT
 *
 * silu_mul's forward-error bound. Derivation: silu_mul_bound.md.
 */
#include "silu_mul_oracle.h"

#include <math.h>

#include "bounds.h"
#include "words.h"

void oracle_silu_mul_bound(const void *args, const struct oracle_route *route,
                           struct oracle_output *outputs)
{
    const struct assay_silu_mul_args *a = args;
    struct oracle_output *y = &outputs[0];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, tiny = binary64 ? ORACLE_TINY64 : ORACLE_TINY32;
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = fabs(y->value[i]);
        double gate = oracle_get(&a->gate, i), up = fabs(oracle_get(&a->up, i));
        double sigmoid = 1 / (1 + exp(-gate));
        if (!isfinite(magnitude))
            continue;
        double underflow = binary64 ? tiny : fmin(tiny, sigmoid);
        y->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(2, u) * magnitude + tiny * (1 + up);
        y->term[ORACLE_TERM_FUNCTIONS][i] =
            oracle_gamma(6, u) * magnitude + fabs(gate) * up * underflow;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}
