/* SPDX-License-Identifier: MIT
 *
 * kv_append's planted faults, and the control.
 */
#ifndef PROPERTIES_KV_APPEND_MUTANTS_H
#define PROPERTIES_KV_APPEND_MUTANTS_H

#include <assay/ops/kv_append.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                          \
    X(NONE, "control", NULL, "")                                                                \
    X(START_PLUS_ONE, "start_plus_one", "rows land one slot late", "")                          \
    X(START_ZERO, "start_zero", "rows land at the beginning of the cache", "B040")              \
    X(START_AT_IGNORED, "start_at_ignored", "rows land at the bound of start_at", "")           \
    X(START_AT_SIGNED, "start_at_signed", "a negative start_at counts as the bound", "")        \
    X(VALUE_FROM_KEY, "value_from_key", "values are copied from k", "")                         \
    X(TRUNCATION, "truncation", "rounded towards zero", "")                                     \
    X(TIES_AWAY, "ties_away", "ties are rounded away from zero", "")                            \
    X(OVERFLOW_CLAMPED, "overflow_clamped", "overflow gives the largest finite value", "")      \
    X(NEXT_SLOT, "next_slot", "the slot after the last row is cleared", "B080")                 \
    X(HEAD_STRIDE, "head_stride", "heads of k are taken as contiguous", "B044")                 \
    X(HEADS_SWAPPED, "heads_swapped", "heads are stored in reverse order", "")                  \
    X(TAIL_SKIPPED, "tail_skipped", "elements after the last whole 8 of a row are skipped", "") \
    X(ONE_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { KV_APPEND_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant kv_append_mutants[KV_APPEND_NUM_MUTANTS];

#endif
