/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's planted faults.
 */
#ifndef PROPERTIES_CAUSAL_CONV1D_MUTANTS_H
#define PROPERTIES_CAUSAL_CONV1D_MUTANTS_H

#include <assay/ops/causal_conv1d.h>

#include "case.h"

enum { CAUSAL_CONV1D_NUM_MUTANTS = 9 };
extern const struct case_mutant causal_conv1d_mutants[CAUSAL_CONV1D_NUM_MUTANTS];

#endif
