/* SPDX-License-Identifier: MIT
 *
 * rope's planted faults.
 */
#ifndef PROPERTIES_ROPE_MUTANTS_H
#define PROPERTIES_ROPE_MUTANTS_H

#include <assay/ops/rope.h>

#include "case.h"

enum { ROPE_NUM_MUTANTS = 16 };
extern const struct case_mutant rope_mutants[ROPE_NUM_MUTANTS];

#endif
