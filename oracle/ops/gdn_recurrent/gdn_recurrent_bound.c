/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's forward-error bound: ref has propagated it, here it gets its names. Derivation:
 * gdn_recurrent_bound.md.
 */
#include "gdn_recurrent_oracle.h"

#include <string.h>

#include "bounds.h"

static void take_terms(struct oracle_output *out)
{
    size_t bytes = (size_t)out->count * sizeof *out->value;
    if (bytes == 0)
        return;
    memcpy(out->term[ORACLE_TERM_PRODUCTS], out->aux[GDN_AUX_PRODUCTS], bytes);
    memcpy(out->term[ORACLE_TERM_ACCUMULATION], out->aux[GDN_AUX_ACCUMULATION], bytes);
    memcpy(out->term[ORACLE_TERM_STORAGE], out->aux[GDN_AUX_STORAGE], bytes);
}

void oracle_gdn_recurrent_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = args;
    (void)
        route; /* the state's format decides between f32 and state16; chains are dk long in both */
    struct oracle_output *o = &outputs[0], *state = &outputs[1];
    take_terms(o);
    oracle_bound_output_rounding(o);
    oracle_bound_rms(o, oracle_inputs_independent(), a->q.extent[2]);
    take_terms(state);
    /* A binary32 state is rounded by the update itself, and without tokens nothing is rounded. */
    if (state->dtype != ASSAY_F32 && a->q.extent[0] > 0)
        oracle_bound_output_rounding(state);
    /* Below the smallest fp16 number a rounding is the value itself, always the largest it can be:
     * no share less than the whole may be claimed. */
    oracle_bound_rms(state, oracle_inputs_independent() && state->dtype == ASSAY_F32, 1);
}
