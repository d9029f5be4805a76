/* SPDX-License-Identifier: MIT
 *
 * moe_router's forward-error bound; ids have none. Derivation: moe_router_bound.md.
 */
#include "moe_router_oracle.h"

#include <math.h>

#include "bounds.h"
#include "words.h"

/* This file's own arithmetic is in binary64. */
#define UPWARDS (1 + 0x1p-40)

/* Relative error of exp(l - largest) in roundings: the difference's, times its size, and 3. */
static double roundings(double distance)
{
    return distance + 3;
}

static void bound_row(const struct assay_moe_router_args *a, int64_t t, double u, double tiny,
                      struct oracle_output *outputs)
{
    const struct oracle_output *ids = &outputs[ROUTER_IDS];
    struct oracle_output *weights = &outputs[ROUTER_WEIGHTS];
    int64_t k = a->ids.extent[1], experts = a->logits.extent[1];
    double distance[ASSAY_MOE_MOST], sum = 0, weighted = 0;
    for (int64_t i = 0; i < k; i++) {
        distance[i] = oracle_get(&a->logits, t * experts + (int64_t)ids->value[t * k]) -
                      oracle_get(&a->logits, t * experts + (int64_t)ids->value[t * k + i]);
        double part = exp(-distance[i]);
        sum += part;
        weighted += part > 0 ? part * roundings(distance[i]) : 0;
    }
    for (int64_t i = 0; i < k; i++) {
        double value = weights->value[t * k + i];
        if (isnan(value) || isinf(distance[i]))
            continue; /* NaN by its pattern; exactly 0 */
        /* Past 1000 the exponential is 0 in every format but for what `tiny` allows. */
        double own = distance[i] < 1000 ? roundings(distance[i]) : 0;
        double all = own + weighted / sum + (double)k;
        weights->term[ORACLE_TERM_FUNCTIONS][t * k + i] =
            oracle_gamma(all * UPWARDS, u) * value * UPWARDS + 2 * tiny;
        weights->term[ORACLE_TERM_PRODUCTS][t * k + i] = oracle_gamma(2, u) * value + tiny;
    }
}

void oracle_moe_router_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs)
{
    const struct assay_moe_router_args *a = args;
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    for (int64_t t = 0; t < a->ids.extent[0]; t++)
        bound_row(a, t, binary64 ? ORACLE_U64 : ORACLE_U32,
                  binary64 ? ORACLE_TINY64 : ORACLE_TINY32, outputs);
    oracle_bound_output_rounding(&outputs[ROUTER_WEIGHTS]);
    oracle_bound_rms(&outputs[ROUTER_WEIGHTS], oracle_inputs_independent(), 1);
}
