/* SPDX-License-Identifier: MIT
 *
 * From the parts of a bound that ref leaves to its terms.
 */
#include "gdn_terms.h"

#include <math.h>
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

void gdn_bound_terms(const struct assay_tensor *q, struct oracle_output *outputs)
{
    struct oracle_output *o = &outputs[0], *state = &outputs[1];
    take_terms(o);
    oracle_bound_output_rounding(o);
    oracle_bound_rms(o, oracle_inputs_independent(), q->extent[2]);
    take_terms(state);
    /* A binary32 state is rounded by the update itself, and without tokens nothing is rounded. */
    if (state->dtype != ASSAY_F32 && q->extent[0] > 0)
        oracle_bound_output_rounding(state);
    /* Below the smallest fp16 number a rounding is the value itself, always the largest it can be:
     * no share less than the whole may be claimed. */
    oracle_bound_rms(state, oracle_inputs_independent() && state->dtype == ASSAY_F32, 1);
}

double gdn_ceiling(const void *args, enum assay_profile profile)
{
    (void)args;
    (void)profile;
    return INFINITY;
}
