/* SPDX-License-Identifier: MIT
 *
 * sample's planted faults.
 */
#ifndef PROPERTIES_SAMPLE_MUTANTS_H
#define PROPERTIES_SAMPLE_MUTANTS_H

#include <assay/ops/sample.h>

#include "case.h"

enum { SAMPLE_NUM_MUTANTS = 23 };
extern const struct case_mutant sample_mutants[SAMPLE_NUM_MUTANTS];

#endif
