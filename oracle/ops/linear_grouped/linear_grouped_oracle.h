/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_grouped's oracle.
 */
#ifndef ORACLE_LINEAR_GROUPED_H
#define ORACLE_LINEAR_GROUPED_H

#include <assay/ops/linear_grouped.h>

#include "oracle.h"

/* aux of y: sum over k of |x code scale|, what the bound scales with; the same with
 * max(1, |scale|) for |scale|, which no partial sum of any order exceeds. */
enum { LINEAR_GROUPED_AUX_MAGNITUDE, LINEAR_GROUPED_AUX_REACH };

assay_status oracle_linear_grouped_mpfr(const void *args, long precision,
                                        struct oracle_output *outputs);
void oracle_linear_grouped_bound(const void *args, const struct oracle_route *route,
                                 struct oracle_output *outputs);

#endif
