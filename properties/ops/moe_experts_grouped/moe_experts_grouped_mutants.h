/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped's planted faults, and the control.
 */
#ifndef PROPERTIES_MOE_EXPERTS_GROUPED_MUTANTS_H
#define PROPERTIES_MOE_EXPERTS_GROUPED_MUTANTS_H

#include <assay/ops/moe_experts_grouped.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                            \
    X(NONE, "control", NULL, "")                                                                  \
    X(SWAPPED, "swapped", "silu is taken of up instead of gate", "")                              \
    X(INTERLEAVED, "interleaved", "rows of gate and up alternate in gate_up", "")                 \
    X(UP_SCALES_OF_GATE, "up_scales", "codes of up take the scales of gate", "")                  \
    X(SCALES_OF_NEXT, "scale_expert", "scales of the next expert", "")                            \
    X(SCALES_OF_FIRST, "scale_first", "scales of expert 0 for all", "")                           \
    X(SCALE_OF_NEXT_GROUP, "scale_next", "a group takes the next group's scale", "B112")          \
    X(GROUP_SIZE, "group_size", "groups of 32 columns are taken for 64, and of 64 for 32", "")    \
    X(LAST_GROUP_DROPPED, "last_group", "the last group of a row of down is left out", "B105")    \
    X(HALF_TAIL_DROPPED, "half_tail", "columns of gate_up behind the last whole 32 are left out", \
      "B105")                                                                                     \
    X(HIGH_IGNORED, "high_ignored", "high bits are left out", "")                                 \
    X(HIGH_OF_FIRST, "high_first", "high bits of expert 0 for all", "")                           \
    X(OFFSET_EIGHT, "offset_eight", "8 is taken off codes of every width below 8 bits", "")       \
    X(LOWEST_BYTE, "lowest_byte", "the code -128 of q8g32 is taken as -127", "")                  \
    X(PADDING_READ, "padding", "a NaN scale of a group of padding reaches the sum", "B172")       \
    X(NAN_HIDDEN, "nan_hidden", "a group with a NaN scale counts as zero", "")                    \
    X(DOWN_OF_NEXT, "down_next", "down of the next expert", "")                                   \
    X(SLOT_0, "slot_0", "the id of slot 0 stands for all slots of a token", "")                   \
    X(WEIGHTS_IGNORED, "weights", "the slots' weights are not applied", "")                       \
    X(WEIGHT_ON_X, "weight_on_x", "the weight multiplies x instead of the product", "")           \
    X(SUM_LOST, "sum_lost", "y is the last slot's product alone", "")                             \
    X(REPEATED_ONCE, "repeated", "an expert that a row has twice counts once", "")                \
    X(INVALID_IGNORED, "invalid", "a slot whose id is no expert counts as zero", "")              \
    X(ALL_EXPERTS, "all", "experts that a row does not have take part with weight 0", "B101")     \
    X(ZERO_SKIPPED, "zero_skipped", "a slot of weight 0 is skipped, and its NaN with it", "")     \
    X(H_IN_BF16, "bf16_h", "h is rounded to bf16", "")                                            \
    X(TAIL_OF_TOKENS, "tokens", "tokens behind the last whole 4 keep what y held", "")            \
    X(STRIDE_IGNORED, "stride_ignored", "strided planes are read as if packed", "")               \
    X(ONE_WRONG_ELEMENT, "one_element", "one element of y is a bf16 step off", "")

enum { MOE_EXPERTS_GROUPED_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant moe_experts_grouped_mutants[MOE_EXPERTS_GROUPED_NUM_MUTANTS];

#endif
