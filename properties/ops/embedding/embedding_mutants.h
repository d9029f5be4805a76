/* SPDX-License-Identifier: MIT
 *
 * embedding's planted faults.
 */
#ifndef PROPERTIES_EMBEDDING_MUTANTS_H
#define PROPERTIES_EMBEDDING_MUTANTS_H

#include <assay/ops/embedding.h>

#include "case.h"

enum { EMBEDDING_NUM_MUTANTS = 7 };
extern const struct case_mutant embedding_mutants[EMBEDDING_NUM_MUTANTS];

#endif
