/* SPDX-License-Identifier: MIT
 *
 * The parts of rmsnorm's oracle.
 */
#ifndef ORACLE_RMSNORM_H
#define ORACLE_RMSNORM_H

#include <assay/ops/rmsnorm.h>

#include "oracle.h"

assay_status oracle_rmsnorm_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_rmsnorm_bound(const void *args, const struct oracle_route *route,
                          struct oracle_output *outputs);

#endif
