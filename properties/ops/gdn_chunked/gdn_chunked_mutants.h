/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's planted faults.
 */
#ifndef PROPERTIES_GDN_CHUNKED_MUTANTS_H
#define PROPERTIES_GDN_CHUNKED_MUTANTS_H

#include <assay/ops/gdn_chunked.h>

#include "case.h"

enum { GDN_CHUNKED_NUM_MUTANTS = 13 };
extern const struct case_mutant gdn_chunked_mutants[GDN_CHUNKED_NUM_MUTANTS];

#endif
