/* SPDX-License-Identifier: MIT
 *
 * linear_a8's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_A8_MUTANTS_H
#define PROPERTIES_LINEAR_A8_MUTANTS_H

#include <assay/ops/linear_a8.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                         \
    X(NONE, "control", NULL, "")                                                               \
    X(ROUNDED_INVERSE, "rounded_inverse", "codes use the reciprocal of the rounded scale", "") \
    X(HALF_AWAY, "half_away", "codes of half integers are rounded away from zero", "")         \
    X(CODES_TRUNCATED, "truncated", "codes are cut towards zero", "")                          \
    X(FULL_RANGE, "full_range", "codes go from -128 to 127, amax is 128", "")                  \
    X(SIGNED_MAXIMUM, "signed_max", "amax is the maximum without the magnitude", "")           \
    X(TOKEN_SCALE, "token_scale", "one scale a row of x", "")                                  \
    X(SCALE_SHIFTED, "scale_shifted", "a group of x takes the scale of the next", "")          \
    X(SUBNORMALS_FLUSHED, "flushed", "subnormal scales of x count as zero", "")                \
    X(OVERFLOW_SATURATED, "saturated", "scales beyond binary16 become its largest number", "") \
    X(NAN_HIDDEN, "nan_hidden", "NaN activations count as zero", "")                           \
    X(OFFSET_MISSING, "offset", "stored codes are taken without their offset", "")             \
    X(SIGN_DROPPED, "scale_sign", "the sign of a scale of w is dropped", "")                   \
    X(FIRST_SCALE, "first_scale", "both halves of 64 columns take the first scale of w", "")   \
    X(PADDING_ADDED, "padding", "groups of padding are added", "")                             \
    X(INT16_SUMS, "int16", "sums of products wrap at 16 bits", "")                             \
    X(F16_SUMS, "f16_sums", "sums of products are kept in fp16", "B106")                       \
    X(HALF_GROUPS, "half_groups", "a group is scaled in two parts", "")                        \
    X(TAIL_DROPPED, "tail_dropped", "the last group is dropped where it is not whole", "")     \
    X(HALF_BLOCK, "half_block", "the last group of an unfinished block of 128 counts as 0",    \
      "B105")                                                                                  \
    X(LOWEST_BYTE, "lowest_byte", "the code -128 of q8g32 is taken as -127", "")               \
    X(NOT_FUSED, "not_fused", "the scaled sum is rounded before it is added", "")              \
    X(GROUPS_REVERSED, "reversed", "groups are added in falling order", "")                    \
    X(RESIDUAL_DROPPED, "residual_dropped", "the residual is not added", "")                   \
    X(RESIDUAL_FIRST, "residual_first", "the sum starts with the residual", "")

enum { LINEAR_A8_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_a8_mutants[LINEAR_A8_NUM_MUTANTS];

#endif
