/* SPDX-License-Identifier: MIT
 *
 * The parts of add_rmsnorm's oracle.
 */
#ifndef ORACLE_ADD_RMSNORM_H
#define ORACLE_ADD_RMSNORM_H

#include <assay/ops/add_rmsnorm.h>

#include "oracle.h"

assay_status oracle_add_rmsnorm_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_add_rmsnorm_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
