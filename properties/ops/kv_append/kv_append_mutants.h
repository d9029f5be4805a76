/* SPDX-License-Identifier: MIT
 *
 * kv_append's planted faults.
 */
#ifndef PROPERTIES_KV_APPEND_MUTANTS_H
#define PROPERTIES_KV_APPEND_MUTANTS_H

#include <assay/ops/kv_append.h>

#include "case.h"

enum { KV_APPEND_NUM_MUTANTS = 12 };
extern const struct case_mutant kv_append_mutants[KV_APPEND_NUM_MUTANTS];

#endif
