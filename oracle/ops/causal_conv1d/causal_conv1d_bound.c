/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's forward-error bound. Derivation: causal_conv1d_bound.md.
 */
#include "causal_conv1d_oracle.h"

#include <math.h>

#include "bounds.h"

/* Binary64 routes may lose what is far below any output's last place. */
#define TINY64 0x1p-200

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

/* Largest |silu'| on [x - d, x + d]: 1.1 everywhere, and below -2 at most sigmoid (1 + |.|). */
static double slope(double x, double d)
{
    double high = x + d, low = fabs(x) + d;
    if (!(high < -2))
        return 1.1;
    double tail = sigmoid(high);
    return tail > 0 ? fmin(1.1, (1 + low) * tail * (1 + 0x1p-40)) : 0;
}

/* A binary32 sigmoid loses up to 2^-149 where it is subnormal; below 2^-170 it is zero. */
static double sigmoid_underflow(double x)
{
    double s = sigmoid(x);
    return s > 0x1p-170 ? ORACLE_TINY32 : s;
}

void oracle_causal_conv1d_bound(const void *arguments, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_causal_conv1d_args *args = arguments;
    struct oracle_output *y = &outputs[0];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, tiny = binary64 ? TINY64 : ORACLE_TINY32;
    double taps = (double)args->w.extent[1];
    for (int64_t i = 0; i < y->count; i++) {
        if (!isfinite(y->value[i]))
            continue;
        double sum = y->aux[CONV1D_AUX_SUM][i], magnitude = fabs(y->value[i]);
        double moved =
            oracle_gamma(taps + 1, u) * y->aux[CONV1D_AUX_MAGNITUDE][i] + (taps + 1) * tiny;
        y->term[ORACLE_TERM_ACCUMULATION][i] = args->silu ? slope(sum, moved) * moved : moved;
        y->term[ORACLE_TERM_PRODUCTS][i] = tiny;
        if (!args->silu)
            continue;
        double reach = fabs(sum) + moved;
        double underflow = binary64 ? 0 : sigmoid_underflow(sum + moved) * reach;
        y->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(6, u) * magnitude + underflow;
        y->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(2, u) * magnitude + tiny;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
    /* the state is stored input: no term at all */
}
