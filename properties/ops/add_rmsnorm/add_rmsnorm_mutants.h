/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm's planted faults, and the control.
 */
#ifndef PROPERTIES_ADD_RMSNORM_MUTANTS_H
#define PROPERTIES_ADD_RMSNORM_MUTANTS_H

#include <assay/ops/add_rmsnorm.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                           \
    X(NONE, "control", NULL, "")                                                                 \
    X(UNROUNDED_NORM, "unrounded_norm", "y is the norm of the sum before its rounding", "")      \
    X(SUM_NOT_STORED, "sum_not_stored", "the residual is not written back: s holds the old", "") \
    X(NORM_STORED, "norm_stored", "the norm is written back instead of the sum", "")             \
    X(NORM_OF_RESIDUAL, "norm_of_residual", "y is the norm of the residual before x", "")        \
    X(NORM_OF_X, "norm_of_x", "y is the norm of x alone", "")                                    \
    X(ROUNDED_TWICE, "rounded_twice", "a bf16 sum is rounded to binary32 first", "")             \
    X(SUM_TRUNCATED, "sum_truncated", "a bf16 sum is cut, not rounded", "")                      \
    X(SUM_IN_BF16, "sum_in_bf16", "the sum is rounded to bf16 whatever s's format", "")          \
    X(EPS_OUTSIDE_ROOT, "eps_outside_root", "eps is added outside the root", "")                 \
    X(SUM_NOT_MEAN, "sum_not_mean", "the sum of squares is not divided by H", "")                \
    X(OFFSET_IGNORED, "offset_ignored", "weights are not offset by one", "")                     \
    X(LAST_COLUMN_SKIPPED, "last_column", "the last column is left out of the squares", "")      \
    X(BINARY32_SQUARES, "binary32_squares", "squares overflow and underflow in binary32", "")    \
    X(FIRST_ROW_SCALE, "first_row_scale", "all rows are scaled as the first", "")                \
    X(ONE_SUM, "one_sum", "one element of s is off by one step", "")                             \
    X(ONE_ELEMENT, "one_element", "one element of y is off by 2^-7", "")

enum { ADD_RMSNORM_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant add_rmsnorm_mutants[ADD_RMSNORM_NUM_MUTANTS];

#endif
