/* SPDX-License-Identifier: MIT
 *
 * moe_experts' planted faults, and the control.
 */
#ifndef PROPERTIES_MOE_EXPERTS_MUTANTS_H
#define PROPERTIES_MOE_EXPERTS_MUTANTS_H

#include <assay/ops/moe_experts.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                           \
    X(NONE, "control", NULL, "")                                                                 \
    X(SWAPPED, "swapped", "silu is taken of up instead of gate", "")                             \
    X(INTERLEAVED, "interleaved", "rows of gate and up alternate in gate_up", "")                \
    X(DOWN_OF_NEXT, "down_next", "down of the next expert", "")                                  \
    X(DOWN_TRANSPOSED, "transposed", "down is read as [E, F, H]", "")                            \
    X(WEIGHT_ON_X, "weight_on_x", "the weight multiplies x instead of the product", "")          \
    X(WEIGHTS_NORMALISED, "renormalised", "the weights are divided by their sum again", "")      \
    X(WEIGHT_BY_PLACE, "place", "a pair takes the weight of its place among its expert's pairs", \
      "B100")                                                                                    \
    X(TILE_IDS, "tile_ids", "pairs of an expert from 4 on take the tokens of the first four",    \
      "B097")                                                                                    \
    X(CAPACITY, "capacity", "an expert takes four pairs and drops the others", "")               \
    X(LAST_SLOT_DROPPED, "last_slot", "the last slot does not count", "")                        \
    X(REPEATED_ONCE, "repeated", "an expert that a row has twice counts once", "")               \
    X(EXPERT_0_EMPTY, "expert_0", "expert 0 stands for no expert", "")                           \
    X(INVALID_IGNORED, "invalid", "a slot whose id is no expert counts as zero", "")             \
    X(INVALID_WRAPPED, "wrapped", "an id is taken modulo the number of experts", "")             \
    X(ALL_EXPERTS, "all", "experts that a row does not have take part with weight 0", "B101")    \
    X(ZERO_SKIPPED, "zero_skipped", "a slot of weight 0 is skipped, and its NaN with it", "")    \
    X(H_IN_BF16, "bf16_h", "h is rounded to bf16", "")                                           \
    X(D_IN_BF16, "bf16_d", "each slot's product is rounded to bf16", "")                         \
    X(SUM_IN_BF16, "bf16_sum", "the slots are added in bf16", "")                                \
    X(F_TAIL, "f_tail", "h behind the last whole 8 is left out", "B105")                         \
    X(H_TAIL, "h_tail", "x behind the last whole 8 is left out", "B105")                         \
    X(ROW_OF_SLOT, "row_of_slot", "slot i reads row i of x", "")                                 \
    X(EXPERTS_PACKED, "packed", "experts are taken for packed where they are strided", "")       \
    X(TAIL_OF_TOKENS, "tokens", "tokens behind the last whole 4 keep what y held", "")           \
    X(ONE_WRONG_ELEMENT, "one_element", "one element of y is a bf16 step off", "")

enum { MOE_EXPERTS_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant moe_experts_mutants[MOE_EXPERTS_NUM_MUTANTS];

#endif
