/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's forward-error bound. Derivation: gated_rmsnorm_bound.md.
 */
#include "gated_rmsnorm_oracle.h"

#include <math.h>

#include "bounds.h"
#include "words.h"

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

void oracle_gated_rmsnorm_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_gated_rmsnorm_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->w.extent[0];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, tiny = binary64 ? ORACLE_TINY64 : ORACLE_TINY32;
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = fabs(y->value[i]);
        double z = fabs(oracle_get(&a->z, i)), w = fabs(oracle_get(&a->w, i % width));
        double s = sigmoid(oracle_get(&a->z, i)), normed = y->aux[GATED_RMSNORM_AUX_NORMED][i];
        if (!isfinite(magnitude))
            continue;
        double silu = s > 0 ? z * s : 0;
        double underflow = binary64 ? tiny : fmin(tiny, s);
        y->term[ORACLE_TERM_ACCUMULATION][i] =
            0.5 * oracle_gamma((double)width + 2, ORACLE_U64) * magnitude;
        y->term[ORACLE_TERM_PRODUCTS][i] =
            oracle_gamma(4, u) * magnitude + tiny * (1 + normed + silu * (1 + w));
        y->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(8, u) * magnitude + normed * z * underflow;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}
