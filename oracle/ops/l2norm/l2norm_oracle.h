/* SPDX-License-Identifier: MIT
 *
 * The parts of l2norm's oracle.
 */
#ifndef ORACLE_L2NORM_H
#define ORACLE_L2NORM_H

#include <assay/ops/l2norm.h>

#include "oracle.h"

assay_status oracle_l2norm_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_l2norm_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs);

#endif
