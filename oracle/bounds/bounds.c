/* SPDX-License-Identifier: MIT
 *
 * Rounding lemmas that the ops' bounds share.
 */
#include "bounds.h"

#include <math.h>

#include "words.h"

/* A quantity formed by at most six roundings of non-negative terms, rounded upwards. */
#define UPWARDS (1 + 0x1p-49)

double oracle_gamma(double n, double u)
{
    if (!(n > 0)) {
        return 0;
    }
    double nu = n * u;
    return nu < 1 ? nu / (1 - nu) * UPWARDS : INFINITY;
}

int64_t oracle_depth(const struct oracle_route *route, int64_t inner_length)
{
    return route != NULL && route->depth != NULL ? route->depth(inner_length) : inner_length;
}

void oracle_bound_output_rounding(struct oracle_output *output)
{
    double *rounding = output->term[ORACLE_TERM_OUTPUT];
    for (int64_t i = 0; i < output->count; i++) {
        if (!isfinite(output->value[i])) {
            rounding[i] = 0; /* compared by its pattern, not by distance */
            continue;
        }
        double reach = fabs(output->value[i]) + (output->own != NULL ? output->own[i] : 0);
        for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
            if (t != ORACLE_TERM_OUTPUT && output->term[t] != NULL) {
                reach += output->term[t][i];
            }
        }
        rounding[i] = oracle_half_ulp(reach * UPWARDS, output->dtype);
    }
}

/* Errors of rounding independent values, in half ulps: on the grid of k dropped bits the mean
 * square is 1/3 + 2/3 * 4^-k, so at most 1/2 (k = 1: a tie every second time) and 1/3 in the limit;
 * the square's standard deviation is at most 1/2, again at k = 1. Over `count` elements the mean
 * square stays below 1/2 + 3 / sqrt(count) by six standard errors on every grid. */
double oracle_rms_share_rounding(int64_t count)
{
    if (count <= 0) {
        return 1;
    }
    double share = sqrt(0.5 + 3 / sqrt((double)count));
    return share < 1 ? share : 1;
}

/* A few large elements carry most of a norm: with half ulps h_i the mean square scatters as that of
 * (sum h_i^2)^2 / sum h_i^4 equal elements would. */
static int64_t effective_count(const struct oracle_output *output)
{
    const double *rounding = output->term[ORACLE_TERM_OUTPUT];
    double squares = 0;
    double fourth_powers = 0;
    for (int64_t i = 0; i < output->count; i++) {
        double square = rounding[i] * rounding[i];
        if (isfinite(square)) {
            squares += square;
            fourth_powers += square * square;
        }
    }
    return fourth_powers > 0 ? (int64_t)(squares / fourth_powers * squares) : 0;
}

void oracle_bound_rms(struct oracle_output *output, bool independent, int64_t depth)
{
    for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
        output->rms_share[t] = 1;
    }
    if (!independent) {
        return;
    }
    output->rms_share[ORACLE_TERM_OUTPUT] = oracle_rms_share_rounding(effective_count(output));
    if (depth > 36) {
        output->rms_share[ORACLE_TERM_ACCUMULATION] = 6 / sqrt((double)depth);
    }
}

static _Thread_local bool inputs_independent;

bool oracle_inputs_independent(void)
{
    return inputs_independent;
}

void oracle_set_inputs_independent(bool independent)
{
    inputs_independent = independent;
}
