/* SPDX-License-Identifier: MIT
 *
 * linear_topk's forward-error bound: that of the logits which the reference has selected. Which
 * others a route may select is settled on what it did select. Derivation: linear_topk_bound.md.
 */
#include "linear_topk_oracle.h"

#include <math.h>

/* A row in which some logit has no bound has none. */
static void bound_row(const struct assay_linear_topk_args *a, const struct topk_logits *l,
                      int64_t t, struct oracle_output *outputs)
{
    int64_t k = a->values.extent[1];
    struct oracle_output *values = &outputs[TOPK_VALUES], *ids = &outputs[TOPK_IDS];
    bool is_promised = true;
    for (int64_t i = 0; i < a->limit && is_promised; i++)
        is_promised = isfinite(oracle_topk_logits_bound(l, t * a->limit + i));
    for (int64_t at = t * k; at < (t + 1) * k; at++) {
        int64_t id = (int64_t)ids->value[at];
        for (int term = 0; term < ORACLE_NUM_TERMS; term++)
            values->term[term][at] = id >= 0 ? l->y.term[term][t * a->limit + id] : 0;
        if (!is_promised)
            values->term[ORACLE_TERM_ACCUMULATION][at] = ids->term[ORACLE_TERM_ACCUMULATION][at] =
                INFINITY;
    }
}

void oracle_linear_topk_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_linear_topk_args *a = args;
    struct topk_logits l;
    bool good =
        oracle_topk_logits_create(&l, a) && oracle_topk_logits_evaluate(&l, route) == ASSAY_OK;
    for (int64_t t = 0; t < a->x.extent[0] && good; t++)
        bound_row(a, &l, t, outputs);
    for (int64_t i = 0; i < outputs[TOPK_VALUES].count && !good; i++) /* no memory: no comparison */
        outputs[TOPK_VALUES].term[ORACLE_TERM_ACCUMULATION][i] = INFINITY;
    oracle_topk_logits_destroy(&l);
}
