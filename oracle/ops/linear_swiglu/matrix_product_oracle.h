/* SPDX-License-Identifier: MIT
 *
 * The oracles of linear and linear_grouped for one matrix of any format, as parts of the oracle of
 * an op that takes several products.
 */
#ifndef ORACLE_MATRIX_PRODUCT_H
#define ORACLE_MATRIX_PRODUCT_H

#include <assay/weights.h>

#include "oracle.h"

/* x W^T with y, whose data is not read. */
assay_status oracle_product_ref(const struct assay_tensor *x, const struct assay_weights *w,
                                const struct assay_tensor *y, struct oracle_output *out);
assay_status oracle_product_mpfr(const struct assay_tensor *x, const struct assay_weights *w,
                                 const struct assay_tensor *y, long precision,
                                 struct oracle_output *out);
/* From value and aux that ref left. */
void oracle_product_bound(const struct assay_tensor *x, const struct assay_weights *w,
                          const struct assay_tensor *y, const struct oracle_route *route,
                          struct oracle_output *out);
/* Row n of W: the weights, and in reach, where it is not NULL, the largest magnitude that a code or
 * a weight has in any order of the factors. */
void oracle_product_row(const struct assay_weights *w, int64_t n, double *row, double *reach);
/* aux that the products' ref leaves: aux[0] is the sum of magnitudes; of the others none is needed
 * above ORACLE_PRODUCT_AUX. */
enum { ORACLE_PRODUCT_AUX = 2 };

#endif
