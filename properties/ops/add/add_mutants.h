/* SPDX-License-Identifier: MIT
 *
 * add's planted faults.
 */
#ifndef PROPERTIES_ADD_MUTANTS_H
#define PROPERTIES_ADD_MUTANTS_H

#include <assay/ops/add.h>

#include "case.h"

enum { ADD_NUM_MUTANTS = 6 };
extern const struct case_mutant add_mutants[ADD_NUM_MUTANTS];

#endif
