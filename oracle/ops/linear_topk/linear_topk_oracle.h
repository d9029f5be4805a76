/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_topk's oracle. Logits are the product oracles'.
 */
#ifndef ORACLE_LINEAR_TOPK_H
#define ORACLE_LINEAR_TOPK_H

#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>
#include <assay/ops/linear_topk.h>

#include "oracle.h"

/* The outputs, in order. */
enum { TOPK_VALUES, TOPK_IDS };

/* All logits of a call as the one output of the product's oracle: [T, limit], binary32. */
struct topk_logits {
    const struct oracle_op *op;
    union {
        struct assay_linear_args bf16;
        struct assay_linear_grouped_args grouped;
    } args;
    struct oracle_output y;
};
/* False: out of memory. Destroy in any case. */
bool oracle_topk_logits_create(struct topk_logits *l, const struct assay_linear_topk_args *a);
void oracle_topk_logits_destroy(struct topk_logits *l);
/* Values and terms of bounds for a route: in FP64, and then once more in MPFR where that is not
 * sure enough of what was selected. */
assay_status oracle_topk_logits_evaluate(struct topk_logits *l, const struct oracle_route *route);
assay_status oracle_topk_logits_sharpen(struct topk_logits *l, const struct oracle_route *route);
/* How far a route's logit may be from y.value[at]: 0 where it is infinite, and so compared by its
 * pattern; infinity where there is no promise. */
double oracle_topk_logits_bound(const struct topk_logits *l, int64_t at);

/* Values and ids from logits with `precision` bits, 0: in bounded binary64. */
assay_status oracle_topk_sorted(const struct assay_linear_topk_args *a, long precision,
                                struct oracle_output *outputs);

assay_status oracle_linear_topk_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_linear_topk_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);
assay_status oracle_linear_topk_settle(const void *args, const struct oracle_route *route,
                                       struct oracle_output *outputs);

#endif
