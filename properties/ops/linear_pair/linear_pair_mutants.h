/* SPDX-License-Identifier: MIT
 *
 * linear_pair's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_PAIR_MUTANTS_H
#define PROPERTIES_LINEAR_PAIR_MUTANTS_H

#include <assay/ops/linear_pair.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                          \
    X(NONE, "control", NULL, "")                                                                \
    X(FIRST_FOR_SECOND, "first", "y[1] is taken from rows of w[0]", "")                         \
    X(OFFSET_BY_ONE, "offset", "a matrix behind the first starts at its second row", "")        \
    X(LAST_ROW_OF_NEXT, "seam", "the last row of a matrix comes from the next one's first", "") \
    X(FORMAT_OF_FIRST, "format", "grouped matrices are read in the format of w[0]", "")         \
    X(ORDER_OF_FIRST, "order", "q8g32 takes x in the order of packed codes", "")                \
    X(LAST_SKIPPED, "skipped", "the last product is left out", "")                              \
    X(OUTPUT_FORMAT_OF_FIRST, "y_format", "every y is rounded to the format of y[0]", "")       \
    X(STRIDE_OF_FIRST, "y_stride", "rows of every y are as far apart as those of y[0]", "")     \
    X(FIRST_TOKEN, "first_token", "the last product takes row 0 of x for every row", "")        \
    X(BF16_ACTIVATIONS, "bf16_x", "activations are rounded to bf16", "")                        \
    X(TAIL_DROPPED, "tail", "columns behind the last whole 32 are left out", "")                \
    X(PADDING_READ, "padding", "a NaN scale of a group of padding reaches the sum", "")         \
    X(NAN_HIDDEN, "nan_hidden", "a sum that is NaN counts as zero", "")                         \
    X(ONE_WRONG_ELEMENT, "one_element", "one element of the last y is a bf16 step off", "")     \
    X(ROW_BEYOND, "row_beyond", "an unfinished tile writes a column beyond N of a matrix", "")

enum { LINEAR_PAIR_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_pair_mutants[LINEAR_PAIR_NUM_MUTANTS];

#endif
