/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu's planted faults, and the control.
 */
#ifndef PROPERTIES_LINEAR_SWIGLU_MUTANTS_H
#define PROPERTIES_LINEAR_SWIGLU_MUTANTS_H

#include <assay/ops/linear_swiglu.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                       \
    X(NONE, "control", NULL, "")                                                             \
    X(SWAPPED, "swapped", "silu is taken of up instead of gate", "")                         \
    X(SIGMOID_ONLY, "sigmoid", "sigmoid(g) stands for silu(g)", "")                          \
    X(RELU, "relu", "max(g, 0) stands for silu(g)", "")                                      \
    X(GELU, "gelu", "the tanh form of gelu stands for silu", "")                             \
    X(CLAMPED, "clamped", "g is limited to 7 in magnitude", "")                              \
    X(TINY_FLUSHED, "tiny", "the silu of gates below -16 counts as zero", "")                \
    X(SUMS_IN_BF16, "bf16_sums", "g and u are rounded to bf16 before silu", "")              \
    X(GATE_IN_F16, "f16_gate", "g is rounded to binary16 before silu", "")                   \
    X(UP_IN_F16, "f16_up", "u is rounded to binary16", "")                                   \
    X(UP_OF_NEXT_ROW, "up_next", "column n takes row n + 1 of up", "")                       \
    X(GATE_FOR_UP, "gate_twice", "the last row of an unfinished tile takes gate for up", "") \
    X(INTERLEAVED, "interleaved", "rows of gate and up alternate over both matrices", "")    \
    X(UP_SCALES_OF_GATE, "scales", "codes of up take the scales of gate", "")                \
    X(UP_TAIL_DROPPED, "up_tail", "up's columns behind the last whole 32 are left out", "")  \
    X(FIRST_TILE_OF_X, "first_tile", "rows of x from 24 on are those from 0 on", "")         \
    X(PADDING_READ, "padding", "a NaN scale of a group of padding reaches up's sum", "")     \
    X(NAN_HIDDEN, "nan_hidden", "a gate that is NaN counts as zero", "")                     \
    X(ONE_WRONG_ELEMENT, "one_element", "one element of y is a bf16 step off", "")           \
    X(OUTPUT_TRUNCATED, "truncated", "y in bf16 is cut off instead of rounded", "")          \
    X(ROW_BEYOND, "row_beyond", "an unfinished tile writes a column beyond N", "")           \
    X(STRIDE_IGNORED, "stride_ignored", "a strided base plane of up is read as if packed", "")

enum { LINEAR_SWIGLU_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant linear_swiglu_mutants[LINEAR_SWIGLU_NUM_MUTANTS];

#endif
