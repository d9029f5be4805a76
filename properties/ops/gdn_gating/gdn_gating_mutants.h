/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's planted faults, and the control.
 */
#ifndef PROPERTIES_GDN_GATING_MUTANTS_H
#define PROPERTIES_GDN_GATING_MUTANTS_H

#include <assay/ops/gdn_gating.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                   \
    X(NONE, "control", NULL, "")                                                         \
    X(PREMATURE_ZERO, "premature_zero", "softplus is 0 below -20", "")                   \
    X(NO_THRESHOLD, "no_threshold", "log(1 + exp(x)) in binary32 without log1p", "")     \
    X(BIAS_AFTER, "bias_after", "dt_bias is added after softplus", "")                   \
    X(LOG_NOT_EXPONENTIATED, "log_not_exponentiated", "a_log is used without exp", "")   \
    X(SIGN, "sign", "g is positive", "")                                                 \
    X(GATES_OF_ROW_ZERO, "row_zero", "the gates of row 0 are used for all rows", "B062") \
    X(BETA_NOT_SIGMOID, "beta_raw", "beta is b without the sigmoid", "")                 \
    X(ONE_ELEMENT, "one_element", "one element is off by 2^-18", "")

enum { GDN_GATING_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant gdn_gating_mutants[GDN_GATING_NUM_MUTANTS];

#endif
