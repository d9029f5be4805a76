/* SPDX-License-Identifier: MIT
 *
 * A second codec of grouped weights, value by value, with one planted fault: X(enumerator, what is
 * wrong). The first is the control, which must pass every check; each other must fail one.
 */
#ifndef PROPERTIES_WEIGHT_FAULTS_H
#define PROPERTIES_WEIGHT_FAULTS_H

#include "weight_checks.h"

#define WEIGHT_FAULT_TABLE(X)                                                \
    X(NONE, "nothing")                                                       \
    X(SWAPPED_NIBBLES, "even columns in the high half of a byte")            \
    X(HALVES, "column k beside column k + 32, as in other formats")          \
    X(HIGH_BIT_ORDER, "high plane filled from the most significant bit")     \
    X(HIGH_PAIR_SWAPPED, "the two high bits of q6g64 swapped")               \
    X(NO_OFFSET, "two's complement in place of code + 2^(bits - 1)")         \
    X(NEXT_SCALE, "the decoder takes the scale of the next group")           \
    X(SCALE_SIGN_LOST, "the decoder drops the sign of a scale")              \
    X(SUBNORMAL_SCALE_FLUSHED, "the decoder reads subnormal scales as zero") \
    X(REPEATED_ADDITION, "ratios by adding 0.02f again and again")           \
    X(FEWER_RATIOS, "24 ratios")                                             \
    X(UNCLIPPED_ERROR, "errors of clip25 without the limits of the codes")   \
    X(TRUNCATION, "codes rounded towards zero")                              \
    X(HALF_AWAY, "ties of codes away from zero")                             \
    X(HALF_UP, "codes as floor(t + 0.5)")                                    \
    X(SCALE_TRUNCATED, "scales rounded towards zero")                        \
    X(UNROUNDED_INVERSE, "codes from the scale before it was rounded")       \
    X(DIVISION, "x / s in place of x * (1 / s)")                             \
    X(NO_SMALLEST, "a scale that rounds to zero stays zero")                 \
    X(CLAMP_LOWEST, "the lowest code is not used")                           \
    X(CLAMP_BEYOND, "the lowest code of q8g32 is -128")                      \
    X(SIGNED_MAXIMUM, "the largest value in place of the largest magnitude") \
    X(NAN_AS_ZERO, "a group that is not finite becomes zero")                \
    X(NAN_IGNORED, "NaN does not poison its group")                          \
    X(INFINITE_SCALE, "overflow stores an infinite scale")                   \
    X(OVERFLOW_COLUMN, "the error names the group's first column")           \
    X(PADDING_ZERO_BYTES, "padding of zero bytes")                           \
    X(PADDING_READ, "values behind the row are encoded")                     \
    X(PADDING_LEFT, "padding is not written")                                \
    X(ROW_STRIDE, "rows are taken to be contiguous")                         \
    X(UNASKED_NEGATIVE, "negative scales where they are not allowed")        \
    X(IMPORTANCE_IGNORED, "the grouped search without the importances")      \
    X(IMPORTANCE_FIRST_GROUP, "importances of the first group for all")      \
    X(LEAST_SQUARES_PLAIN, "least squares without the importances")          \
    X(EXTREME_UNSIGNED, "the mirrored ratios from the magnitude")            \
    X(FEWER_STEPS, "one neighbour a side of the least-squares scale")        \
    X(NO_REFIT, "no second least-squares fit")

enum weight_fault {
#define WEIGHT_FAULT_ENUM(enumerator, text) FAULT_##enumerator,
    WEIGHT_FAULT_TABLE(WEIGHT_FAULT_ENUM)
#undef WEIGHT_FAULT_ENUM
        NUM_WEIGHT_FAULTS
};

const char *weight_fault_text(enum weight_fault fault);
/* A codec with the fault, until the next call. */
struct weight_codec weight_faulty(enum weight_fault fault);

#endif
