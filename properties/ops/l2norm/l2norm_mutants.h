/* SPDX-License-Identifier: MIT
 *
 * l2norm's planted faults.
 */
#ifndef PROPERTIES_L2NORM_MUTANTS_H
#define PROPERTIES_L2NORM_MUTANTS_H

#include <assay/ops/l2norm.h>

#include "case.h"

enum { L2NORM_NUM_MUTANTS = 10 };
extern const struct case_mutant l2norm_mutants[L2NORM_NUM_MUTANTS];

#endif
