/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's planted faults, and the control.
 */
#ifndef PROPERTIES_GDN_CHUNKED_MUTANTS_H
#define PROPERTIES_GDN_CHUNKED_MUTANTS_H

#include <assay/ops/gdn_chunked.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                             \
    X(NONE, "control", NULL, "")                                                                   \
    X(MASK_AFTER_EXP, "mask_after_exp", "the causal mask is applied after exp: infinity times 0",  \
      "")                                                                                          \
    X(START_UNDECAYED, "start_undecayed",                                                          \
      "the start state is not decayed in the right-hand side (W)", "")                             \
    X(SOLVE_UNDECAYED, "solve_undecayed", "the triangular matrix has no decay", "")                \
    X(DIAGONAL_IN_SOLVE, "diagonal_in_solve", "the diagonal is part of the triangular matrix", "") \
    X(WRONG_END, "wrong_end", "a ragged chunk takes the decay of the row before its last", "B056") \
    X(STATE_IGNORED, "state_ignored", "the initial state is dropped", "B063")                      \
    X(CHUNK_IGNORED, "chunk_ignored", "chunks after the first start from zero", "B063 B065")       \
    X(SOLVE_BF16, "solve_bf16", "the solve is done in bf16", "")                                   \
    X(HEAD_MODULO, "head_modulo", "value head h reads key head h % Hk", "")                        \
    X(QUERY_UNSCALED, "q_unscaled", "q is not scaled", "")                                         \
    X(STATE_LOST, "state_lost", "the state is not written back", "B060")                           \
    X(ONE_ELEMENT, "one_element", "one element of the state is off by 2^-9", "")

/* The same for rows that claim profile a16x2. */
#define SPLIT_TABLE(X) \
    X(LOW_PARTS_LOST, "low_parts_lost", "sums over dk take operands that are rounded to bf16", "")

enum { GDN_CHUNKED_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) SPLIT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant gdn_chunked_mutants[GDN_CHUNKED_NUM_MUTANTS];

#endif
