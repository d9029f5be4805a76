/* SPDX-License-Identifier: MIT
 *
 * The parts of kv_append's oracle.
 */
#ifndef ORACLE_KV_APPEND_H
#define ORACLE_KV_APPEND_H

#include <assay/ops/kv_append.h>

#include "oracle.h"

assay_status oracle_kv_append_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_kv_append_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs);

#endif
