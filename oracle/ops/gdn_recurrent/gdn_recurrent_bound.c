/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's forward-error bound: ref has propagated it, here it gets its names. Derivation:
 * gdn_recurrent_bound.md.
 */
#include "gdn_recurrent_oracle.h"

#include <math.h>

/* Where an infinity has met what a route may have rounded to zero, ref leaves NaN for a bound. The
 * verdict judges NaN and infinities of the oracle whatever the bound is, so here they give way to a
 * number, and the bound keeps that from being judged. */
static void drop_undecided(struct oracle_output *out)
{
    for (int64_t i = 0; i < out->count; i++)
        if (isnan(out->aux[GDN_AUX_PRODUCTS][i]))
            out->value[i] = 0;
}

/* The route is not looked at: the state's format decides between f32 and state16; chains are dk
 * long in both. */
void oracle_gdn_recurrent_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = args;
    (void)route;
    drop_undecided(&outputs[0]);
    drop_undecided(&outputs[1]);
    gdn_bound_terms(&a->q, outputs);
}
