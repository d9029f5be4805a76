/* SPDX-License-Identifier: MIT
 *
 * linear's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_MUTANTS_H
#define PROPERTIES_LINEAR_MUTANTS_H

#include <assay/ops/linear.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                         \
    X(NONE, "control", NULL, "")                                                               \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")                      \
    X(PADDING_COLUMNS, "padding_columns", "columns behind K are read", "B172")                 \
    X(TAIL_DROPPED, "tail_dropped", "the tail of K behind the last tile is dropped", "B105")   \
    X(ODD_STEP_DROPPED, "odd_step", "a loop of step two has no remainder step", "B117")        \
    X(SPLIT_COUNTED_TWICE, "split_twice", "the split point of K is counted twice", "B105")     \
    X(NEIGHBOUR_ROW, "neighbour_row", "the last row of an unfinished tile is its neighbour's", \
      "B114")                                                                                  \
    X(FIRST_TILE_OF_X, "first_tile", "every tile of rows reads the first tile of x", "")       \
    X(BF16_ACCUMULATION, "bf16_sum", "sums are kept in bf16", "")                              \
    X(BF16_PRODUCTS, "bf16_products", "products are rounded to bf16", "")                      \
    X(F16_ACTIVATIONS, "f16_x", "activations are rounded to fp16", "B106")                     \
    X(SUBNORMALS_FLUSHED, "flushed", "subnormal activations count as zero", "")                \
    X(OUTPUT_TRUNCATED, "truncated", "a bf16 output is cut, not rounded", "")                  \
    X(NAN_HIDDEN, "nan_hidden", "NaN activations count as zero", "")

enum { LINEAR_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_mutants[LINEAR_NUM_MUTANTS];

#endif
