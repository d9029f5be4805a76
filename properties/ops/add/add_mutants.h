/* SPDX-License-Identifier: MIT
 *
 * add's planted faults, and the control.
 */
#ifndef PROPERTIES_ADD_MUTANTS_H
#define PROPERTIES_ADD_MUTANTS_H

#include <assay/ops/add.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                   \
    X(NONE, "control", NULL, "")                                                         \
    X(OPERANDS_ROUNDED, "operands_rounded", "binary32 operands are rounded to bf16", "") \
    X(TAIL_COPIED, "tail_copied", "the tail of a row is copied, not added", "")          \
    X(SUBNORMALS_FLUSHED, "flushed", "subnormal sums are flushed to zero", "")           \
    X(ONE_WRONG_ELEMENT, "one_element", "one element is off by 2^-7", "")                \
    X(OUTPUT_TRUNCATED, "truncated", "a bf16 output is cut, not rounded", "")

enum { ADD_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant add_mutants[ADD_NUM_MUTANTS];

#endif
