/* SPDX-License-Identifier: MIT
 *
 * linear_pair's forward-error bound: that of each product. Derivation: linear_pair_bound.md.
 */
#include "linear_pair_oracle.h"

#include <math.h>

#include "bounds.h"
#include "matrix_product_oracle.h"

/* What a binary32 product of a bf16 matrix may lose to underflow and one in tensor cores may not.
 */
static void add_underflow(const struct assay_linear_pair_args *a, const struct oracle_route *route,
                          struct oracle_output *y)
{
    double inner = (double)a->x.extent[1];
    double all = oracle_gamma((double)oracle_depth(route, a->x.extent[1]), ORACLE_U32);
    for (int64_t i = 0; i < y->count; i++)
        if (isfinite(y->value[i]))
            y->term[ORACLE_TERM_ACCUMULATION][i] += 0.5 * ORACLE_TINY32 * inner * (1 + all);
    oracle_bound_rms(y, oracle_inputs_independent(), 0); /* truncations share a sign */
}

void oracle_linear_pair_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_linear_pair_args *a = args;
    bool is_tensor = route->profile == ASSAY_PROFILE_A16 || route->profile == ASSAY_PROFILE_A16X2;
    for (int i = 0; i < a->num_products; i++) {
        oracle_product_bound(&a->x, &a->w[i], &a->y[i], route, &outputs[i]);
        if (is_tensor && a->w[i].format == ASSAY_WEIGHT_BF16)
            add_underflow(a, route, &outputs[i]);
    }
}
