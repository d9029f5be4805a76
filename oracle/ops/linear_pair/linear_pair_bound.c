/* SPDX-License-Identifier: MIT
 *
 * linear_pair's forward-error bound: that of each product. Derivation: linear_pair_bound.md.
 */
#include "linear_pair_oracle.h"

#include "matrix_product_oracle.h"

void oracle_linear_pair_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_linear_pair_args *a = args;
    for (int i = 0; i < a->num_products; i++)
        oracle_product_bound(&a->x, &a->w[i], &a->y[i], route, &outputs[i]);
}
