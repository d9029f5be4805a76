/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's planted faults, and the control.
 */
#ifndef PROPERTIES_CAUSAL_CONV1D_MUTANTS_H
#define PROPERTIES_CAUSAL_CONV1D_MUTANTS_H

#include <assay/ops/causal_conv1d.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                        \
    X(NONE, "control", NULL, "")                                                              \
    X(TAPS_REVERSED, "taps_reversed", "tap 0 multiplies the current token", "")               \
    X(STATE_IGNORED, "state_ignored", "every call starts from a zero state", "B063 B091")     \
    X(ROUNDED_BETWEEN, "rounded_between", "the sum is rounded to bf16 before SiLU", "")       \
    X(NO_SILU, "no_silu", "SiLU is missing", "")                                              \
    X(SHORT_CALL_SHIFT, "short_call", "calls shorter than the state do not shift it", "B089") \
    X(STATE_AFTER_SILU, "state_after_silu", "the state keeps outputs instead of inputs", "")  \
    X(STATE_LOST, "state_lost", "the state is not written back", "B060")                      \
    X(ONE_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { CAUSAL_CONV1D_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant causal_conv1d_mutants[CAUSAL_CONV1D_NUM_MUTANTS];

#endif
