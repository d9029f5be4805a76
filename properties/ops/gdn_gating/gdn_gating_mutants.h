/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's planted faults.
 */
#ifndef PROPERTIES_GDN_GATING_MUTANTS_H
#define PROPERTIES_GDN_GATING_MUTANTS_H

#include <assay/ops/gdn_gating.h>

#include "case.h"

enum { GDN_GATING_NUM_MUTANTS = 9 };
extern const struct case_mutant gdn_gating_mutants[GDN_GATING_NUM_MUTANTS];

#endif
