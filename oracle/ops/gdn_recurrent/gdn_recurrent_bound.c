/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's forward-error bound: ref has propagated it, here it gets its names. Derivation:
 * gdn_recurrent_bound.md.
 */
#include "gdn_recurrent_oracle.h"

/* The route is not looked at: the state's format decides between f32 and state16; chains are dk
 * long in both. */
void oracle_gdn_recurrent_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = args;
    (void)route;
    gdn_bound_terms(&a->q, outputs);
}
