/* SPDX-License-Identifier: MIT
 *
 * rope's forward-error bound. Derivation: rope_bound.md.
 */
#include "rope_oracle.h"

#include <math.h>

#include "bounds.h"

/* [ROPE-6]: error of the angle that the contract allows. */
#define ANGLE_ERROR 1e-7

static void bound_element(bool binary64, int64_t i, struct oracle_output *y)
{
    double u = binary64 ? ORACLE_U64 : ORACLE_U32;
    double products = y->aux[0][i], slope = y->aux[1][i];
    if (!isfinite(y->value[i]) || (products == 0 && slope == 0))
        return; /* compared by its pattern; a copy, or a pair of zeros */
    double tiny = binary64 ? 0 : ORACLE_TINY32;
    /* Slope and products hold each operand once with cos and once with sin: their sum is at least
     * |u| + |v| over sqrt(2). */
    y->term[ORACLE_TERM_INPUT][i] = ANGLE_ERROR * (slope + ANGLE_ERROR * products);
    y->term[ORACLE_TERM_FUNCTIONS][i] =
        oracle_gamma(2, u) * products + 2 * tiny * (products + slope);
    y->term[ORACLE_TERM_PRODUCTS][i] = oracle_gamma(2, u) * products + 2 * tiny;
}

void oracle_rope_bound(const void *args, const struct oracle_route *route,
                       struct oracle_output *outputs)
{
    (void)args;
    struct oracle_output *y = &outputs[0];
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    for (int64_t i = 0; i < y->count; i++)
        bound_element(binary64, i, y);
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}
