/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu's forward-error bound, from those of its products. Derivation:
 * linear_swiglu_bound.md.
 */
#include "linear_swiglu_oracle.h"

#include <math.h>
#include <string.h>

#include "matrix_product_oracle.h"
#include "bounds.h"

/* This file's own arithmetic is in binary64. */
#define UPWARDS (1 + 0x1p-40)

/* The bound of one sum: its terms, but for the output rounding, which it has none of. */
static bool sum_bound(const struct assay_linear_swiglu_args *a, const struct assay_weights *w,
                      const struct oracle_route *route, const struct oracle_output *y, int aux,
                      struct oracle_output *sum)
{
    if (!oracle_output_create(sum, "y", ASSAY_F32, y->count))
        return false;
    size_t bytes = (size_t)y->count * sizeof(double);
    memcpy(sum->value, y->aux[aux], bytes);
    for (int i = 0; i < ORACLE_PRODUCT_AUX; i++)
        memcpy(sum->aux[i], y->aux[aux + 1 + i], bytes);
    oracle_product_bound(&a->x, w, &a->y, route, sum);
    memset(sum->term[ORACLE_TERM_OUTPUT], 0, bytes);
    return true;
}

/* What element i of a sum is off by at most, the error of its own value here included. */
static double total(const struct oracle_output *sum, int64_t i, int64_t inner)
{
    double bound = oracle_gamma(2 * (double)inner + 8, ORACLE_U64) * sum->aux[0][i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        bound += sum->term[t][i];
    return bound * UPWARDS;
}

/* Of silu on [g - e, g + e]: its slope s (1 + z (1 - s)) is at most 1.0999 in magnitude, and at
 * most s(g + e) (1 + |z|). */
static double slope(double g, double e)
{
    double sigmoid = 1 / (1 + exp(-(g + e)));
    return fmin(1.0999, sigmoid * (1 + fabs(g) + e) * UPWARDS);
}

static void element(const struct oracle_output *gate, const struct oracle_output *up, int64_t i,
                    int64_t inner, bool binary64, struct oracle_output *y)
{
    double g = gate->value[i], u = up->value[i];
    double g_error = total(gate, i, inner), u_error = total(up, i, inner);
    if (!isfinite(g) || !isfinite(u) || !isfinite(g_error) || !isfinite(u_error)) {
        y->term[ORACLE_TERM_ACCUMULATION][i] = INFINITY; /* no promise */
        return;
    }
    double unit = binary64 ? ORACLE_U64 : ORACLE_U32,
           tiny = binary64 ? ORACLE_TINY64 : ORACLE_TINY32;
    double sigmoid = 1 / (1 + exp(-(g + g_error))), most_u = fabs(u) + u_error;
    double by_gate = slope(g, g_error) * most_u * UPWARDS;
    double by_up = fabs(g) / (1 + exp(-g)) * UPWARDS + slope(g, g_error) * g_error;
    double reach = fabs(y->value[i]) + y->own[i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
        y->term[t][i] = by_gate * gate->term[t][i] + by_up * up->term[t][i];
        reach += y->term[t][i];
    }
    double underflow = binary64 ? tiny : fmin(tiny, sigmoid);
    y->term[ORACLE_TERM_PRODUCTS][i] += oracle_gamma(2, unit) * reach + tiny * (1 + most_u);
    y->term[ORACLE_TERM_FUNCTIONS][i] =
        oracle_gamma(6, unit) * reach + (fabs(g) + g_error) * most_u * underflow;
}

void oracle_linear_swiglu_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_linear_swiglu_args *a = args;
    struct oracle_output *y = &outputs[0], gate = {.value = NULL}, up = {.value = NULL};
    bool is_there = sum_bound(a, &a->gate, route, y, LINEAR_SWIGLU_AUX_GATE, &gate) &&
                    sum_bound(a, &a->up, route, y, LINEAR_SWIGLU_AUX_UP, &up);
    bool is_tensor = route->profile == ASSAY_PROFILE_A16 || route->profile == ASSAY_PROFILE_A16X2;
    for (int64_t i = 0; i < y->count; i++) {
        if (!isfinite(y->value[i]))
            continue; /* NaN and infinities are compared by their pattern */
        if (is_there)
            element(&gate, &up, i, a->gate.columns, route->profile == ASSAY_PROFILE_F64, y);
        else
            y->term[ORACLE_TERM_ACCUMULATION][i] = INFINITY;
    }
    oracle_output_destroy(&gate);
    oracle_output_destroy(&up);
    oracle_bound_output_rounding(y);
    /* Truncations of tensor cores share a sign. */
    oracle_bound_rms(y, oracle_inputs_independent(),
                     is_tensor ? 0 : oracle_depth(route, a->gate.columns));
}
