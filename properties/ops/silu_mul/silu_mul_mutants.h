/* SPDX-License-Identifier: MIT
 *
 * silu_mul's planted faults.
 */
#ifndef PROPERTIES_SILU_MUL_MUTANTS_H
#define PROPERTIES_SILU_MUL_MUTANTS_H

#include <assay/ops/silu_mul.h>

#include "case.h"

enum { SILU_MUL_NUM_MUTANTS = 11 };
extern const struct case_mutant silu_mul_mutants[SILU_MUL_NUM_MUTANTS];

#endif
