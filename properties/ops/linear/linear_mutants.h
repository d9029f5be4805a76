/* SPDX-License-Identifier: MIT
 *
 * linear's planted faults.
 */
#ifndef PROPERTIES_LINEAR_MUTANTS_H
#define PROPERTIES_LINEAR_MUTANTS_H

#include <assay/ops/linear.h>

#include "case.h"

enum { LINEAR_NUM_MUTANTS = 14 };
extern const struct case_mutant linear_mutants[LINEAR_NUM_MUTANTS];

#endif
