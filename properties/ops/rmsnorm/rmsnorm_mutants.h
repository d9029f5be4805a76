/* SPDX-License-Identifier: MIT
 *
 * rmsnorm's planted faults.
 */
#ifndef PROPERTIES_RMSNORM_MUTANTS_H
#define PROPERTIES_RMSNORM_MUTANTS_H

#include <assay/ops/rmsnorm.h>

#include "case.h"

enum { RMSNORM_NUM_MUTANTS = 7 };
extern const struct case_mutant rmsnorm_mutants[RMSNORM_NUM_MUTANTS];

#endif
