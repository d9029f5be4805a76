/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's forward-error bound: ref has worked it out, here it gets its names. Derivation:
 * gdn_chunked_bound.md.
 */
#include "gdn_chunked_oracle.h"

/* The route is not looked at: the state's format decides between f32 and state16. */
void oracle_gdn_chunked_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_gdn_chunked_args *a = args;
    (void)route;
    gdn_bound_terms(&a->q, outputs);
}
