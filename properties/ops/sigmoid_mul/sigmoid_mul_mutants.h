/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul's planted faults.
 */
#ifndef PROPERTIES_SIGMOID_MUL_MUTANTS_H
#define PROPERTIES_SIGMOID_MUL_MUTANTS_H

#include <assay/ops/sigmoid_mul.h>

#include "case.h"

enum { SIGMOID_MUL_NUM_MUTANTS = 11 };
extern const struct case_mutant sigmoid_mul_mutants[SIGMOID_MUL_NUM_MUTANTS];

#endif
