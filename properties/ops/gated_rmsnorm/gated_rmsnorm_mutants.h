/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's planted faults.
 */
#ifndef PROPERTIES_GATED_RMSNORM_MUTANTS_H
#define PROPERTIES_GATED_RMSNORM_MUTANTS_H

#include <assay/ops/gated_rmsnorm.h>

#include "case.h"

enum { GATED_RMSNORM_NUM_MUTANTS = 13 };
extern const struct case_mutant gated_rmsnorm_mutants[GATED_RMSNORM_NUM_MUTANTS];

#endif
