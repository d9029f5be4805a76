/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped's forward-error bound. Derivation: moe_experts_grouped_bound.md.
 */
#include "moe_experts_grouped_oracle.h"

void oracle_moe_experts_grouped_bound(const void *args, const struct oracle_route *route,
                                      struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_grouped_call(args);
    oracle_moe_bound(&c, route, outputs);
}
