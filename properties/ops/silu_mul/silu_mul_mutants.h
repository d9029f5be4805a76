/* SPDX-License-Identifier: MIT
 *
 * silu_mul's planted faults, and the control.
 */
#ifndef PROPERTIES_SILU_MUL_MUTANTS_H
#define PROPERTIES_SILU_MUL_MUTANTS_H

#include <assay/ops/silu_mul.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                             \
    X(NONE, "control", NULL, "")                                                                   \
    X(SILU_ON_UP, "silu_on_up", "silu is taken of up and multiplied by gate (halves swapped)", "") \
    X(SIGMOID_ONLY, "sigmoid", "sigmoid(gate) instead of silu(gate)", "")                          \
    X(EXP_OVERFLOW, "exp_overflow",                                                                \
      "exp(gate) / (1 + exp(gate)) in binary32: NaN for large gates", "")                          \
    X(NEGATIVE_GATES_CUT, "cut", "gates below -20 give 0", "")                                     \
    X(SQUARED_GATE, "squared", "silu(gate) times gate: up is ignored", "")                         \
    X(UP_ROW_ABOVE, "up_row", "up is read one row above", "")                                      \
    X(FP16_INTERMEDIATE, "fp16", "silu is rounded to fp16 on the way", "")                         \
    X(BF16_INTERMEDIATE, "bf16", "silu is rounded to bf16 before the product", "")                 \
    X(TAIL_UNGATED, "tail", "the tail of a row is not gated", "B007")                              \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { SILU_MUL_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant silu_mul_mutants[SILU_MUL_NUM_MUTANTS];

#endif
