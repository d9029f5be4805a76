/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_add's oracle. With grouped formats it is linear_grouped's, whose contract has
 * the residual; with bf16 it is linear's, to whose sums r is added.
 */
#ifndef ORACLE_LINEAR_ADD_H
#define ORACLE_LINEAR_ADD_H

#include <assay/ops/linear.h>
#include <assay/ops/linear_add.h>
#include <assay/ops/linear_grouped.h>

#include "oracle.h"

/* The same call as one of linear_grouped, and the product of one with bf16 weights. */
struct assay_linear_grouped_args oracle_linear_add_grouped(const struct assay_linear_add_args *a);
struct assay_linear_args oracle_linear_add_product(const struct assay_linear_add_args *a);

assay_status oracle_linear_add_mpfr(const void *args, long precision,
                                    struct oracle_output *outputs);
void oracle_linear_add_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs);

#endif
