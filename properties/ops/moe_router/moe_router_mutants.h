/* SPDX-License-Identifier: MIT
 *
 * moe_router's planted faults, and the control.
 */
#ifndef PROPERTIES_MOE_ROUTER_MUTANTS_H
#define PROPERTIES_MOE_ROUTER_MUTANTS_H

#include <assay/ops/moe_router.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                             \
    X(NONE, "control", NULL, "")                                                                   \
    X(TIES_HIGHER, "ties", "among equal logits the higher index comes first", "")                  \
    X(RISING, "rising", "the experts come in rising order of their logits", "")                    \
    X(BY_INDEX, "by_index", "the experts come in order of their indices", "")                      \
    X(NAN_REPEATS, "nan_repeats", "with a NaN among the logits every round takes expert 0",        \
      "B092")                                                                                      \
    X(NAN_SKIPPED, "nan_skipped", "a NaN is passed over", "B092")                                  \
    X(RAW_LOGITS, "raw", "the weights are the logits", "B094")                                     \
    X(NOT_RENORMALISED, "no_renorm", "the weights are the probabilities over all experts", "B094") \
    X(EVEN_PLACES, "even", "only every other place is divided by the sum", "B095")                 \
    X(HIGH_PLACES, "high", "places from 32 on are not divided by the sum", "B095")                 \
    X(SUM_OF_32, "sum_32", "the sum has the first 32 places only", "B095")                         \
    X(SIGMOID, "sigmoid", "sigmoids instead of exponentials", "")                                  \
    X(UNSHIFTED, "unshifted", "the largest logit is not subtracted: binary32 overflows", "")       \
    X(BF16_WEIGHTS, "bf16", "the weights are rounded to bf16", "")                                 \
    X(BF16_COMPARED, "bf16_order", "logits are compared as rounded to bf16", "")                   \
    X(BY_MAGNITUDE, "magnitude", "logits are ordered by magnitude", "")                            \
    X(TAIL_SKIPPED, "tail", "experts behind the last whole 32 are not looked at", "B095")          \
    X(WEIGHTS_SHIFTED, "shifted", "weights stand one place below their ids", "")                   \
    X(LAST_REPEATED, "last", "the last place repeats the one before it", "")                       \
    X(ROW_ABOVE, "row_above", "the weights of the row above", "")

enum { MOE_ROUTER_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant moe_router_mutants[MOE_ROUTER_NUM_MUTANTS];

#endif
