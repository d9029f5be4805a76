/* SPDX-License-Identifier: MIT
 *
 * The parts of attention's oracle.
 */
#ifndef ORACLE_ATTENTION_H
#define ORACLE_ATTENTION_H

#include <assay/ops/attention.h>

#include "oracle.h"

assay_status oracle_attention_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_attention_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs);

#endif
