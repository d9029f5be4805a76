/* SPDX-License-Identifier: MIT
 *
 * argmax's planted faults.
 */
#ifndef PROPERTIES_ARGMAX_MUTANTS_H
#define PROPERTIES_ARGMAX_MUTANTS_H

#include <assay/ops/argmax.h>

#include "case.h"

enum { ARGMAX_NUM_MUTANTS = 12 };
extern const struct case_mutant argmax_mutants[ARGMAX_NUM_MUTANTS];

#endif
