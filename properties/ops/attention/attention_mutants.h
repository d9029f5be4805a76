/* SPDX-License-Identifier: MIT
 *
 * attention's planted faults.
 */
#ifndef PROPERTIES_ATTENTION_MUTANTS_H
#define PROPERTIES_ATTENTION_MUTANTS_H

#include <assay/ops/attention.h>

#include "case.h"

enum { ATTENTION_NUM_MUTANTS = 26 };
extern const struct case_mutant attention_mutants[ATTENTION_NUM_MUTANTS];

#endif
