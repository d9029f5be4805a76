/* SPDX-License-Identifier: MIT
 *
 * The parts of moe_experts' oracle. h of a slot is linear_swiglu's oracle for one row.
 */
#ifndef ORACLE_MOE_EXPERTS_H
#define ORACLE_MOE_EXPERTS_H

#include <assay/ops/linear_swiglu.h>
#include <assay/ops/moe_experts.h>

#include "oracle.h"

/* aux of y: not 0 where the contract makes no promise [MOEEXPERTS-6]. */
enum { MOE_AUX_OPEN };

/* One slot of one token. */
struct moe_slot {
    int64_t expert; /* -1: its id is none, the row is NaN */
    double weight;
    struct assay_linear_swiglu_args swiglu; /* of its h */
    struct assay_tensor down;               /* [H, F] of its expert */
};
struct moe_slot oracle_moe_slot(const struct assay_moe_experts_args *a, int64_t t, int64_t i);

/* h [F] of a slot that has an expert; with a route its bound, too. Destroy it in any case. */
assay_status oracle_moe_hidden(const struct moe_slot *slot, const struct oracle_route *route,
                               struct oracle_output *h);

assay_status oracle_moe_experts_ref(const void *args, struct oracle_output *outputs);
assay_status oracle_moe_experts_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_moe_experts_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
