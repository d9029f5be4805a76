/* SPDX-License-Identifier: MIT
 *
 * The parts of the oracles of moe_experts and moe_experts_grouped. h of a slot is linear_swiglu's
 * oracle for one row.
 */
#ifndef ORACLE_MOE_EXPERTS_H
#define ORACLE_MOE_EXPERTS_H

#include <assay/ops/linear_swiglu.h>
#include <assay/ops/moe_experts.h>

#include "oracle.h"

/* aux of y: not 0 where the contract makes no promise [MOEEXPERTS-6]. */
enum { MOE_AUX_OPEN };

/* A call with banks of any format. */
struct moe_call {
    struct assay_tensor x, ids, weights, y;
    struct assay_weights gate_up, down; /* of expert 0: [2F, H], [H, F] */
    int64_t gate_up_step, down_step;    /* to the next expert: bf16 elements, else rows */
    int64_t experts;
};
struct moe_call oracle_moe_call(const struct assay_moe_experts_args *a);

/* One slot of one token. */
struct moe_slot {
    int64_t expert; /* -1: its id is none, the row is NaN */
    double weight;
    struct assay_linear_swiglu_args swiglu; /* of its h */
    struct assay_weights down;              /* [H, F] of its expert */
};
struct moe_slot oracle_moe_slot(const struct moe_call *c, int64_t t, int64_t i);

/* h [F] of a slot that has an expert; with a route its bound, too. Destroy it in any case. */
assay_status oracle_moe_hidden(const struct moe_slot *slot, const struct oracle_route *route,
                               struct oracle_output *h);

/* What struct oracle_op asks for. */
assay_status oracle_moe_ref(const struct moe_call *c, struct oracle_output *outputs);
assay_status oracle_moe_mpfr(const struct moe_call *c, long precision,
                             struct oracle_output *outputs);
void oracle_moe_bound(const struct moe_call *c, const struct oracle_route *route,
                      struct oracle_output *outputs);
double oracle_moe_work(const struct moe_call *c);

assay_status oracle_moe_experts_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_moe_experts_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
