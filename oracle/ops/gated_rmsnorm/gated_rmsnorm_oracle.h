/* SPDX-License-Identifier: MIT
 *
 * The parts of gated_rmsnorm's oracle.
 */
#ifndef ORACLE_GATED_RMSNORM_H
#define ORACLE_GATED_RMSNORM_H

#include <assay/ops/gated_rmsnorm.h>

#include "oracle.h"

/* What ref leaves for bound: |x w / root|, the value before the gate. */
enum { GATED_RMSNORM_AUX_NORMED };

assay_status oracle_gated_rmsnorm_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs);
void oracle_gated_rmsnorm_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs);

#endif
