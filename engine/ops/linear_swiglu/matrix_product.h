/* SPDX-License-Identifier: MIT
 *
 * Products y = x W^T with a matrix of any format, for ops that take several of them: linear's where
 * W is bf16, linear_grouped's elsewhere. The routes of those ops as parts of another; checks
 * and sizes are any_product.h's.
 */
#ifndef ASSAY_MATRIX_PRODUCT_H
#define ASSAY_MATRIX_PRODUCT_H

#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>

#include "ops/linear_add/any_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[t] * row n of W in binary64, k in rising order: what the products' plain routes sum. */
double matrix_product_plain(const struct assay_tensor *x, int64_t t, const struct assay_weights *w,
                            int64_t n);
/* The same with x in binary64. */
double matrix_row_plain(const struct assay_weights *w, int64_t n, const double *x);

/* ---- whole products through the routes that dispatch takes ---------------------------------- */
/* One product: the op by W's format, its args and the route of the context's backend. */
struct matrix_product {
    union {
        struct assay_linear_args bf16;
        struct assay_linear_grouped_args grouped;
    } args;
    const struct assay_route *route;
};

/* Valid args are taken for granted. */
struct matrix_product matrix_product_of(const assay_context *context, const struct assay_tensor *x,
                                        const struct assay_weights *w,
                                        const struct assay_tensor *y);
size_t matrix_product_workspace(const assay_context *context, const struct matrix_product *product);
/* On a device: after all that stands in the context's stream. */
ASSAY_MUST_USE assay_status matrix_product_run(assay_context *context,
                                               const struct matrix_product *product,
                                               void *workspace);
/* The first row of an op's table that takes the args: what dispatch takes. */
const struct assay_route *matrix_product_route(const assay_context *context,
                                               const struct assay_op *op, const void *args);

#ifdef __cplusplus
}
#endif
#endif
