/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's planted faults, and the control.
 */
#ifndef PROPERTIES_GDN_RECURRENT_MUTANTS_H
#define PROPERTIES_GDN_RECURRENT_MUTANTS_H

#include <assay/ops/gdn_recurrent.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). The
 * second table has the faults of the routes that keep the state in 16 bits. */
#define F32_FAULT_TABLE(X)                                                                       \
    X(NONE, "control", NULL, "")                                                                 \
    X(LATE_DECAY, "late_decay", "the decay is applied after the delta", "")                      \
    X(UNDECAYED_PREDICTION, "undecayed_prediction",                                              \
      "the prediction reads the state before its decay", "")                                     \
    X(HEAD_MODULO, "head_modulo", "value head h reads key head h % Hk", "")                      \
    X(STATE_IGNORED, "state_ignored", "every call starts from a zero state", "B063")             \
    X(STATE_NOT_RESET, "state_not_reset", "the sequence before leaves its state behind", "B073") \
    X(STATE_LOST, "state_lost", "the state is not written back", "B060")                         \
    X(BETA_TWICE, "beta_twice", "beta is applied twice", "")                                     \
    X(BETA_OMITTED, "beta_omitted", "beta is not applied", "B057")                               \
    X(GATES_OF_ROW_ZERO, "row_zero", "the gates of row 0 are used for all rows", "B062")         \
    X(QUERY_UNSCALED, "q_unscaled", "q is not scaled", "")                                       \
    X(NEIGHBOUR_DECAY, "neighbour_decay", "the last token takes the decay of the one before",    \
      "B056")                                                                                    \
    X(WIDTH_FOUR, "width_four",                                                                  \
      "in calls of four tokens the last takes the decay of the one before", "B056")              \
    X(KEY_QUERY_SWAPPED, "q_k_swapped", "q and k are swapped", "")                               \
    X(STATE_TRANSPOSED, "state_transposed", "the state is read and written as [dv, dk]", "")     \
    X(OUTPUT_BEFORE_UPDATE, "output_before_update", "o reads the state before the update", "")   \
    X(ONE_ELEMENT, "one_element", "one element of the state is off by 2^-9", "")
#define STATE16_FAULT_TABLE(X) X(STATE_BF16, "state_bf16", "the state is rounded to bf16", "")
#define FAULT_TABLE(X)         F32_FAULT_TABLE(X) STATE16_FAULT_TABLE(X)

enum { GDN_RECURRENT_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant gdn_recurrent_mutants[GDN_RECURRENT_NUM_MUTANTS];

#endif
