/* SPDX-License-Identifier: MIT
 *
 * l2norm's planted faults, and the control.
 */
#ifndef PROPERTIES_L2NORM_MUTANTS_H
#define PROPERTIES_L2NORM_MUTANTS_H

#include <assay/ops/l2norm.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                            \
    X(NONE, "control", NULL, "")                                                                  \
    X(MEAN_NOT_SUM, "mean", "the sum of squares is divided by D", "")                             \
    X(EPS_OUTSIDE_ROOT, "eps_outside_root", "eps is added outside the root", "")                  \
    X(MAX_NORM_EPS, "max_norm_eps", "max(norm, eps) instead of eps under the root (D2)", "")      \
    X(BINARY32_SQUARES, "binary32_squares", "squares overflow and underflow in binary32", "")     \
    X(LAST_COLUMN_SKIPPED, "last_column", "the last column is left out of the sum", "")           \
    X(TAIL_LANES_SKIPPED, "tail", "columns after the last multiple of 8 are left out of the sum", \
      "B006")                                                                                     \
    X(FIRST_ROW_NORM, "first_row", "every row is divided by the norm of row 0", "")               \
    X(INPUT_BF16, "input_bf16", "binary32 rows are rounded to bf16 before scaling", "")           \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { L2NORM_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant l2norm_mutants[L2NORM_NUM_MUTANTS];

#endif
