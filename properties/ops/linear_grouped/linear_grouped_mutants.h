/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_GROUPED_MUTANTS_H
#define PROPERTIES_LINEAR_GROUPED_MUTANTS_H

#include <assay/ops/linear_grouped.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                           \
    X(NONE, "control", NULL, "")                                                                 \
    X(NIBBLES_SWAPPED, "nibbles", "even columns come from the high half of a byte", "")          \
    X(HIGH_BITS_REVERSED, "high_order", "the high plane is read from the top bit of a byte", "") \
    X(HIGH_PAIR_REVERSED, "high_pair", "the two high bits of q6g64 change places", "")           \
    X(HIGH_OF_NEXT_GROUP, "high_next", "high bits are those of the next group", "")              \
    X(HIGH_OF_ROW_ABOVE, "high_stale", "row n has the high bits of row n - 1", "")               \
    X(HIGH_IGNORED, "high_ignored", "high bits are left out", "")                                \
    X(SCALE_OF_NEXT_GROUP, "scale_next", "a group takes the next group's scale", "B112")         \
    X(SCALE_OF_PREVIOUS_GROUP, "scale_previous", "a group takes the previous group's scale", "") \
    X(SCALE_OF_ROW_ABOVE, "scale_stale", "row n has the scales of row n - 1", "")                \
    X(SCALE_PERCENT, "scale_percent", "scales are 1 % too large", "")                            \
    X(OFFSET_MISSING, "offset", "codes of q4g64 are taken as 0 .. 15", "")                       \
    X(OFFSET_EIGHT, "offset_eight", "8 is taken off codes of every width below 8 bits", "")      \
    X(BYTES_UNSIGNED, "unsigned", "codes of q8g32 are taken as 0 .. 255", "")                    \
    X(LOWEST_BYTE, "lowest_byte", "the code -128 of q8g32 is taken as -127", "")                 \
    X(GROUP_SIZE, "group_size", "groups of 32 columns are taken for 64, and of 64 for 32", "")   \
    X(LAST_GROUP_SKIPPED, "last_group", "an unfinished block of 128 columns is skipped", "B105") \
    X(PADDING_READ, "padding", "a NaN scale of a group of padding reaches the sum", "B172")      \
    X(NEGATIVE_SCALES, "negative", "scales lose their sign", "")                                 \
    X(SUBNORMALS_FLUSHED, "flushed", "subnormal scales count as zero", "")                       \
    X(NAN_HIDDEN, "nan_hidden", "a group with a NaN scale counts as zero", "")                   \
    X(BF16_WEIGHTS, "bf16_weights", "weights are rounded to bf16", "")                           \
    X(BF16_ACTIVATIONS, "bf16_x", "activations are rounded to bf16", "")                         \
    X(NEIGHBOUR_ROW, "neighbour_row", "the last row of an unfinished tile is its neighbour's",   \
      "B114")                                                                                    \
    X(ROW_BEYOND, "row_beyond", "a tile writes a column beyond N", "")                           \
    X(RESIDUAL_TWICE, "residual_twice", "the residual is added twice", "")                       \
    X(RESIDUAL_DROPPED, "residual_dropped", "the residual is left out", "")                      \
    X(RESIDUAL_AFTER_ROUNDING, "residual_late",                                                  \
      "the sum is rounded into y, then the residual added", "")                                  \
    X(RESIDUAL_FIRST_ROW, "residual_row", "every row gets row 0 of the residual", "")            \
    X(STRIDE_IGNORED, "stride_ignored", "strided planes are read as if packed", "")

/* The same of the kernels in tensor cores, which claim profile a16x2: x in bf16 parts, a row of w
 * in two halves of steps of 256 columns. */
#define TENSOR_FAULT_TABLE(X)                                                                 \
    X(SECOND_PART_DROPPED, "second_part", "x is its first bf16 part alone", "")               \
    X(SECOND_PART_OF_NEXT, "second_next", "the second part of x is the next column's", "")    \
    X(HALVES_OVERLAP, "halves_overlap", "the step between two halves of a row counts twice",  \
      "B105")                                                                                 \
    X(HALF_TAIL_DROPPED, "half_tail", "the second half of a row lacks its last step", "B105") \
    X(SCALE_OF_OTHER_HALF, "scale_half", "the second half of a row has the first one's scales", "")

enum { LINEAR_GROUPED_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) TENSOR_FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_grouped_mutants[LINEAR_GROUPED_NUM_MUTANTS];

#endif
