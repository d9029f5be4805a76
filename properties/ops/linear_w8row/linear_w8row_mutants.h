/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_W8ROW_MUTANTS_H
#define PROPERTIES_LINEAR_W8ROW_MUTANTS_H

#include <assay/ops/linear_w8row.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                      \
    X(NONE, "control", NULL, "")                                                            \
    X(NOT_EQUALISED, "not_equalised", "equalise is not looked at", "")                      \
    X(WEIGHTS_FORGOTTEN, "weights_forgotten", "s divides x and does not multiply w", "")    \
    X(FACTORS_SWAPPED, "factors_swapped", "s multiplies x and divides w", "")               \
    X(WHOLE_EXPONENT, "whole_exponent", "s is the quotient, not its root", "")              \
    X(NEIGHBOUR_FACTOR, "neighbour", "w takes the factor of the next channel", "")          \
    X(LARGEST_CODE, "largest_code", "Q is the largest code, not the largest magnitude", "") \
    X(BYTE_RANGE, "byte_range", "Q is 127 for every format", "")                            \
    X(FACTOR_OF_FIRST, "first_factor", "row scales take the first s of a group", "")        \
    X(FIRST_GROUP, "first_group", "row scales come from the first group alone", "")         \
    X(SIGN_KEPT, "sign_kept", "row scales pass over groups of negative scale", "")          \
    X(CLAMP_MISSING, "no_clamp", "codes of w beyond 127 wrap", "")                          \
    X(X_TRUNCATED, "x_truncated", "codes of x are cut towards zero", "")                    \
    X(W_TRUNCATED, "w_truncated", "codes of w are cut towards zero", "")                    \
    X(RANGE_128, "range_128", "token scales are amax / 128, codes up to 127", "")           \
    X(AMAX_BEFORE, "amax_before", "amax is of x before it is equalised", "")                \
    X(SIGNED_MAXIMUM, "signed_max", "amax is the maximum without the magnitude", "")        \
    X(ROUNDED_TOKEN, "token_f16", "token scales are kept in fp16", "B111")                  \
    X(INT16_SUMS, "int16", "sums wrap at 16 bits", "")                                      \
    X(TAIL_DROPPED, "tail_dropped", "the tail of K behind the last 32 is dropped", "B105")  \
    X(HALF_BLOCK, "half_block", "the last group of an unfinished block of 128 counts as 0", \
      "B105")                                                                               \
    X(SCALE_NEXT, "scale_next", "a group of w takes the scale of the next", "")             \
    X(PADDING_READ, "padding", "a channel behind K is added", "B172")                       \
    X(NEXT_ROW_SCALE, "row_scale", "y takes the scale of the row before", "B114")           \
    X(NAN_HIDDEN, "nan_hidden", "NaN activations count as zero", "")                        \
    X(CHUNK_POISONED, "poisoned", "an infinity in x becomes its channel's maximum", "")     \
    X(NAN_SCALE_HIDDEN, "nan_scale", "scales of w that are not finite count as zero", "")

enum { LINEAR_W8ROW_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_w8row_mutants[LINEAR_W8ROW_NUM_MUTANTS];

#endif
