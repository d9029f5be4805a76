/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's planted faults.
 */
#ifndef PROPERTIES_GDN_RECURRENT_MUTANTS_H
#define PROPERTIES_GDN_RECURRENT_MUTANTS_H

#include <assay/ops/gdn_recurrent.h>

#include "case.h"

enum { GDN_RECURRENT_NUM_MUTANTS = 16 };
extern const struct case_mutant gdn_recurrent_mutants[GDN_RECURRENT_NUM_MUTANTS];

#endif
