/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's forward-error bound. Derivation: gdn_gating_bound.md.
 */
#include "gdn_gating_oracle.h"

#include <math.h>

#include "bounds.h"

/* Binary64 routes may lose what is far below any output's last place. */
#define TINY64 0x1p-200

/* What the rounding of x = a + dt_bias does to g, relative: softplus moves by at most |dx|, its
 * logarithm too. */
static double input_share(const struct oracle_output *g, int64_t i, double u)
{
    double dx = u * g->aux[GDN_GATING_AUX_X][i], softplus = g->aux[GDN_GATING_AUX_SOFTPLUS][i];
    double share = softplus > 0 ? fmin(expm1(dx), dx / softplus) : expm1(dx);
    return share + expm1(u * g->aux[GDN_GATING_AUX_EXPONENT][i]);
}

void oracle_gdn_gating_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs)
{
    (void)args;
    struct oracle_output *g = &outputs[0], *beta = &outputs[1];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, tiny = binary64 ? TINY64 : ORACLE_TINY32;
    for (int64_t i = 0; i < g->count; i++) {
        double magnitude = fabs(g->value[i]);
        if (!isfinite(magnitude)) /* compared by pattern */
            continue;
        g->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(2, u) * magnitude + tiny;
        if (magnitude <= 0) /* a limit; its share below could be 0 times infinity */
            continue;
        g->term[ORACLE_TERM_INPUT][i] = input_share(g, i, u) * magnitude;
        g->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(12, u) * magnitude;
    }
    for (int64_t i = 0; i < beta->count; i++) {
        double magnitude = fabs(beta->value[i]);
        if (isfinite(magnitude))
            beta->term[ORACLE_TERM_FUNCTIONS][i] = oracle_gamma(6, u) * magnitude + tiny;
    }
    oracle_bound_output_rounding(g);
    oracle_bound_output_rounding(beta);
    oracle_bound_rms(g, oracle_inputs_independent(), 1);
    oracle_bound_rms(beta, oracle_inputs_independent(), 1);
}
