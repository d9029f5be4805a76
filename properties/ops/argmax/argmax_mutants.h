/* SPDX-License-Identifier: MIT
 *
 * argmax's planted faults, and the control.
 */
#ifndef PROPERTIES_ARGMAX_MUTANTS_H
#define PROPERTIES_ARGMAX_MUTANTS_H

#include <assay/ops/argmax.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                          \
    X(NONE, "control", NULL, "")                                                                \
    X(LAST_MAXIMUM, "last", "the last of equal maxima wins", "")                                \
    X(NAN_IGNORED, "nan_ignored", "a NaN is passed over by the comparisons", "B191 B092 B192")  \
    X(LIMIT_IGNORED, "limit_ignored", "padding columns of the vocabulary take part", "B118")    \
    X(STARTS_AT_ZERO, "starts_at_zero", "the maximum starts at 0: rows of negatives give id 0", \
      "B121")                                                                                   \
    X(LANE_INDEX, "lane", "the index within the vector is returned", "")                        \
    X(LANES_MERGED_LAST, "merged", "equal maxima in different lanes: the lowest lane wins", "") \
    X(TAIL_SKIPPED, "tail", "columns after the last multiple of 8 are not looked at", "")       \
    X(ZEROS_ORDERED, "zeros", "+0 beats -0", "")                                                \
    X(INFINITY_REFUSED, "infinity", "an infinity is taken for a NaN", "")                       \
    X(BF16_COMPARED, "bf16", "binary32 logits are compared as bf16", "")                        \
    X(FIRST_ROW, "first_row", "every row is given the id of row 0", "")

enum { ARGMAX_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant argmax_mutants[ARGMAX_NUM_MUTANTS];

#endif
