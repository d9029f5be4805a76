/* SPDX-License-Identifier: MIT
 *
 * linear_a8's bound: the rounding into y's format and nothing else. Why: linear_a8_bound.md.
 */
#include "linear_a8_oracle.h"

#include "bounds.h"

void oracle_linear_a8_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs)
{
    (void)args;
    (void)route;
    oracle_bound_output_rounding(&outputs[0]);
    oracle_bound_rms(&outputs[0], oracle_inputs_independent(), 0);
}
