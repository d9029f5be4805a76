/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul's planted faults, and the control.
 */
#ifndef PROPERTIES_SIGMOID_MUL_MUTANTS_H
#define PROPERTIES_SIGMOID_MUL_MUTANTS_H

#include <assay/ops/sigmoid_mul.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                       \
    X(NONE, "control", NULL, "")                                                             \
    X(SILU_NOT_SIGMOID, "silu", "silu(gate) instead of sigmoid(gate)", "")                   \
    X(SIGN_FLIPPED, "sign", "sigmoid(-gate)", "")                                            \
    X(GATE_ROW_ABOVE, "gate_row", "the gate of the row above", "")                           \
    X(ONE_GATE_FOR_ALL, "first_gate", "one gate a row: row 0 gates every row", "")           \
    X(EXP_OVERFLOW, "exp_overflow",                                                          \
      "exp(gate) / (1 + exp(gate)) in binary32: NaN for large gates", "")                    \
    X(UNDERFLOW_LOST, "absolute",                                                            \
      "1 - 1/(1 + exp(gate)) in binary32: small sigmoids lose all digits", "")               \
    X(BF16_SIGMOID, "bf16", "the sigmoid is rounded to bf16 before the product", "")         \
    X(X_AND_GATE_SWAPPED, "swapped", "x and gate change places (query and gate halves)", "") \
    X(TAIL_UNGATED, "tail", "the tail of a row is not gated", "B007")                        \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { SIGMOID_MUL_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant sigmoid_mul_mutants[SIGMOID_MUL_NUM_MUTANTS];

#endif
