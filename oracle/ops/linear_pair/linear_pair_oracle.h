/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_pair's oracle.
 */
#ifndef ORACLE_LINEAR_PAIR_H
#define ORACLE_LINEAR_PAIR_H

#include <assay/ops/linear_pair.h>

#include "oracle.h"

assay_status oracle_linear_pair_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_linear_pair_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
