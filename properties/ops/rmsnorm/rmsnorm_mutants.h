/* SPDX-License-Identifier: MIT
 *
 * rmsnorm's planted faults, and the control.
 */
#ifndef PROPERTIES_RMSNORM_MUTANTS_H
#define PROPERTIES_RMSNORM_MUTANTS_H

#include <assay/ops/rmsnorm.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                        \
    X(NONE, "control", NULL, "")                                                              \
    X(EPS_OUTSIDE_ROOT, "eps_outside_root", "eps is added outside the root", "")              \
    X(SUM_NOT_MEAN, "sum_not_mean", "the sum of squares is not divided by H", "")             \
    X(OFFSET_IGNORED, "offset_ignored", "weights are not offset by one", "")                  \
    X(LAST_COLUMN_SKIPPED, "last_column", "the last column is left out of the sum", "")       \
    X(BINARY32_SQUARES, "binary32_squares", "squares overflow and underflow in binary32", "") \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { RMSNORM_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant rmsnorm_mutants[RMSNORM_NUM_MUTANTS];

#endif
