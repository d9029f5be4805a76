/* SPDX-License-Identifier: MIT
 *
 * linear_topk's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_TOPK_MUTANTS_H
#define PROPERTIES_LINEAR_TOPK_MUTANTS_H

#include <assay/ops/linear_topk.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                          \
    X(NONE, "control", NULL, "")                                                                \
    X(TIES_HIGHER, "ties_higher", "among equal logits the higher id comes first", "")           \
    X(RISING, "rising", "values come in rising order", "")                                      \
    X(LAST_TWO_SWAPPED, "last_two", "the last two places have changed", "")                     \
    X(BY_MAGNITUDE, "magnitude", "logits are ordered by magnitude", "")                         \
    X(ABOVE_ZERO, "above_zero", "the list begins with zeros, so that no negative logit enters", \
      "")                                                                                       \
    X(LIMIT_IGNORED, "limit", "all rows of w take part", "")                                    \
    X(TILE_SKIPPED, "tile", "an unfinished tile of 32 ids is not searched", "B105")             \
    X(PART_SHORT, "part", "each part of 32 ids keeps k / 2 + 1", "")                            \
    X(ID_IN_PART, "id_part", "ids count from the start of their part of 64", "")                \
    X(ID_NEXT, "id_next", "ids are one too high", "")                                           \
    X(VALUES_SHIFTED, "shifted", "values stand one place below their ids", "")                  \
    X(SECOND_LOST, "second", "the second largest is lost in a merge", "")                       \
    X(FIRST_TWICE, "twice", "the largest is merged twice", "")                                  \
    X(NAN_SKIPPED, "nan_skipped", "a NaN is passed over", "B192")                               \
    X(FILLED_WITH_ZERO, "filled", "places without a logit hold the id 0", "")                   \
    X(BF16_LOGITS, "bf16", "logits are rounded to bf16", "")                                    \
    X(BF16_COMPARED, "bf16_order", "logits are compared as rounded to bf16", "")                \
    X(LIST_KEPT, "kept", "a row goes on with the list of the one before", "")                   \
    X(CUT_AT_32, "cut", "only 32 places are filled", "")

enum { LINEAR_TOPK_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_topk_mutants[LINEAR_TOPK_NUM_MUTANTS];

#endif
