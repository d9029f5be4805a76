/* SPDX-License-Identifier: MIT
 *
 * The parts of linear's oracle.
 */
#ifndef ORACLE_LINEAR_H
#define ORACLE_LINEAR_H

#include <assay/ops/linear.h>

#include "oracle.h"

/* aux of y: sum over k of |x w|, what the bound scales with. */
enum { LINEAR_AUX_MAGNITUDE };

assay_status oracle_linear_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_linear_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs);

#endif
