/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's planted faults, and the control.
 */
#ifndef PROPERTIES_GATED_RMSNORM_MUTANTS_H
#define PROPERTIES_GATED_RMSNORM_MUTANTS_H

#include <assay/ops/gated_rmsnorm.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                            \
    X(NONE, "control", NULL, "")                                                                  \
    X(GATE_BEFORE_NORM, "gate_first", "the gate is applied before the norm", "")                  \
    X(SIGMOID_NOT_SILU, "sigmoid", "sigmoid(z) instead of silu(z) (D18)", "")                     \
    X(UNIT_OFFSET, "unit_offset", "weights are taken as offsets from one, as in the other norms", \
      "")                                                                                         \
    X(NEIGHBOUR_WEIGHT, "neighbour_weight", "the weights are those of the neighbouring head", "") \
    X(ROW_WEIGHT, "row_weight", "weights are indexed by row instead of column", "")               \
    X(WIDE_MEAN, "wide_mean", "the mean is taken over all heads of a token", "B180")              \
    X(SUM_NOT_MEAN, "sum", "the sum of squares is not divided by D", "")                          \
    X(ROUNDED_BEFORE_WEIGHT, "rounded",                                                           \
      "the normalised value is rounded to bf16 before the weight (D1)", "")                       \
    X(EPS_OUTSIDE_ROOT, "eps_outside_root", "eps is added outside the root", "")                  \
    X(BINARY32_SQUARES, "binary32_squares", "squares overflow and underflow in binary32", "")     \
    X(NEGATIVE_GATES_CUT, "cut", "gates below -20 give 0", "")                                    \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { GATED_RMSNORM_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant gated_rmsnorm_mutants[GATED_RMSNORM_NUM_MUTANTS];

#endif
