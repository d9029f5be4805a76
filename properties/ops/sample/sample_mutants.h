/* SPDX-License-Identifier: MIT
 *
 * sample's planted faults, and the control.
 */
#ifndef PROPERTIES_SAMPLE_MUTANTS_H
#define PROPERTIES_SAMPLE_MUTANTS_H

#include <assay/ops/sample.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                             \
    X(NONE, "control", NULL, "")                                                                   \
    X(TOP_P_UNNORMALISED, "top_p_sum", "top_p is measured against 1, not against what top_k kept", \
      "B125")                                                                                      \
    X(TOP_P_FIRST, "top_p_first", "top_p is applied before top_k", "")                             \
    X(TOP_P_WITHOUT_LAST, "top_p_short", "the token that reaches top_p is dropped", "")            \
    X(TEMPERATURE_FIRST, "temperature_first", "the temperature is applied before the penalties",   \
      "")                                                                                          \
    X(SUM_EXCLUSIVE, "exclusive", "the running sum is compared before the token is added", "")     \
    X(MIN_P_ABSOLUTE, "min_p_absolute", "min_p is a probability, not a share of the largest one",  \
      "")                                                                                          \
    X(FREQUENCY_IGNORED, "frequency", "every occurrence is subtracted once", "")                   \
    X(PRESENCE_PER_COUNT, "presence", "presence is subtracted for every occurrence", "B137")       \
    X(PADDING_SAMPLED, "padding", "padding columns of the vocabulary take part", "B118")           \
    X(STEP_IGNORED, "step", "the step is left out of the counter", "")                             \
    X(STEP_AT_IGNORED, "step_at", "the number at step_at is left out of the counter", "")          \
    X(STEP_AT_SIGNED, "step_at_signed", "a negative number at step_at lowers the counter", "")     \
    X(ROW_IGNORED, "row", "every row uses the counter of row 0", "")                               \
    X(HIGH_WORD_FIRST, "words", "the two words of the draw change places", "")                     \
    X(SEED_CUT, "seed", "only 32 bits of the seed are used", "")                                   \
    X(TOP_K_ZERO, "top_k_zero", "top_k = 0 keeps one token", "B121")                               \
    X(TOP_K_CAP, "top_k_cap", "top_k above 20 keeps 20", "B124")                                   \
    X(TIES_TO_HIGHER, "ties", "ties at the edge of top_k go to higher indices", "")                \
    X(LAST_ON_FALL_THROUGH, "fall_through", "the last column is taken when the sum stays below",   \
      "B122")                                                                                      \
    X(NAN_IGNORED, "nan", "a NaN is passed over by the comparisons", "B119 B191")                  \
    X(NAN_TO_ZERO, "nan_zero", "a NaN is taken for 0", "B195")                                     \
    X(IN_PLACE, "in_place", "the logits are penalised where they lie", "B133 B134")                \
    X(MASKED_SENTINEL, "sentinel", "-inf logits are raised to 0", "B128")                          \
    X(GREEDY_DRAWS, "greedy", "temperature 0 is taken for 1", "")                                  \
    X(GREEDY_UNPENALISED, "greedy_raw", "temperature 0 takes the argmax of the raw logits", "")    \
    X(FIRST_ROW, "first_row", "every row is drawn from the logits of row 0", "")

enum { SAMPLE_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant sample_mutants[SAMPLE_NUM_MUTANTS];

#endif
