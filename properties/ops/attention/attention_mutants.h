/* SPDX-License-Identifier: MIT
 *
 * attention's planted faults, and the control.
 */
#ifndef PROPERTIES_ATTENTION_MUTANTS_H
#define PROPERTIES_ATTENTION_MUTANTS_H

#include <assay/ops/attention.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                          \
    X(NONE, "control", NULL, "")                                                                \
    X(FUTURE_KEY, "future_key", "each query sees the key after its own", "")                    \
    X(OWN_KEY_MASKED, "own_key_masked", "each query misses its own key", "")                    \
    X(START_IGNORED, "start_ignored", "positions begin at 0 instead of start", "")              \
    X(START_AT_IGNORED, "start_at_ignored", "positions begin at the bound of start_at", "B221") \
    X(START_AT_SIGNED, "start_at_signed", "a negative start_at counts as the bound", "")        \
    X(TAIL_SKIPPED, "tail_skipped", "keys after the last whole block of 8 are skipped", "B025") \
    X(HEAD_MODULO, "head_modulo", "query head h reads key head h % G", "")                      \
    X(HEAD_SHIFT, "head_shift", "heads per key head are rounded to a power of two", "B026")     \
    X(VALUE_PITCH, "value_pitch", "value rows are as wide as rows of keys", "B035")             \
    X(VALUE_NEIGHBOUR, "value_neighbour", "values come from the next key head", "")             \
    X(SUM_UNMASKED, "sum_unmasked", "the sum includes keys that the mask removes", "")          \
    X(SUM_PARTIAL, "sum_partial", "the sum misses the first key", "")                           \
    X(NO_MAXIMUM, "no_maximum", "the maximum is not subtracted", "")                            \
    X(SENTINEL, "sentinel", "the running maximum starts at -50000", "B019")                     \
    X(PADDED_MAXIMUM, "padded_maximum", "padded lanes of score 0 join the maximum", "B022")     \
    X(PADDED_SUM, "padded_sum", "padded lanes of score 0 join the sum", "B022")                 \
    X(NO_SCALE, "no_scale", "the scale is left out", "")                                        \
    X(SCALE_SQUARED, "scale_squared", "1/D instead of 1/sqrt(D)", "")                           \
    X(NO_GATE, "no_gate", "the gate is ignored", "")                                            \
    X(GATE_SILU, "gate_silu", "gated by silu instead of sigmoid", "")                           \
    X(GATE_ON_QUERY, "gate_on_query", "the gate multiplies queries instead of sums", "")        \
    X(HALVES, "halves", "query and gate are split in the middle of the row, not per head", "")  \
    X(FP16_SUM, "fp16_sum", "values are accumulated in fp16 before the division", "B023")       \
    X(BF16_WEIGHTS, "bf16_weights", "weights are rounded to bf16", "")                          \
    X(STALE_MAXIMUM, "stale_maximum", "the sum of the first half keeps its own maximum",        \
      "B020 B034")                                                                              \
    X(BLOCK_STORE, "block_store", "every block of 16 values is stored from the first", "B032")  \
    X(DIMENSION, "dimension", "the last element is left out of the score", "")                  \
    X(ONE_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { ATTENTION_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant attention_mutants[ATTENTION_NUM_MUTANTS];

#endif
