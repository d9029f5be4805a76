/* SPDX-License-Identifier: MIT
 *
 * linear_add's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_ADD_MUTANTS_H
#define PROPERTIES_LINEAR_ADD_MUTANTS_H

#include <assay/ops/linear_add.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                            \
    X(NONE, "control", NULL, "")                                                                  \
    X(R_TWICE, "r_twice", "r is added twice, as by two parts of a split sum", "")                 \
    X(R_DROPPED, "r_dropped", "r is left out", "")                                                \
    X(R_AFTER_ROUNDING, "r_late", "the sum is rounded into y, then r is added", "")               \
    X(R_IN_BF16, "r_bf16", "r is rounded to bf16", "")                                            \
    X(R_FIRST_ROW, "r_row", "every row gets row 0 of r", "")                                      \
    X(R_FIRST_COLUMN, "r_column", "columns of an unfinished tile get r of its first one", "B114") \
    X(R_PACKED, "r_packed", "a strided r is read as if packed", "")                               \
    X(Y_CLEARED, "y_cleared", "y is zeroed before r is read, which is y", "")                     \
    X(SUM_IN_BF16, "sum_bf16", "the product passes through bf16 before r is added", "")           \
    X(BF16_ACTIVATIONS, "bf16_x", "activations are rounded to bf16", "")                          \
    X(LAST_BLOCK_SKIPPED, "last_block", "an unfinished block of 64 products is skipped", "B105")  \
    X(NEIGHBOUR_ROW, "neighbour_row", "the last row of an unfinished tile is its neighbour's",    \
      "B114")                                                                                     \
    X(ROW_BEYOND, "row_beyond", "a tile writes a column beyond N", "")                            \
    X(NAN_HIDDEN, "nan_hidden", "NaN weights count as zero", "")                                  \
    X(ONE_WRONG_ELEMENT, "one_element", "one product is wrong by 2^-7 of itself", "")

enum { LINEAR_ADD_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_add_mutants[LINEAR_ADD_NUM_MUTANTS];

#endif
