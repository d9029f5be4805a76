/* SPDX-License-Identifier: MIT
 *
 * Products with weights of any format, for the ops that take struct assay_weights and are made of
 * a product: bf16 is linear's, a grouped format linear_grouped's. Argument checks, and the rows of
 * the product's own route table.
 */
#ifndef ASSAY_ANY_PRODUCT_H
#define ASSAY_ANY_PRODUCT_H

#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Contract errors of `weights`, argument `name` ("w") of op: it has rows and columns, its format is
 * known, and the planes are what the format asks for. */
ASSAY_MUST_USE assay_status any_weights_check(assay_context *context, const char *op,
                                              const char *name,
                                              const struct assay_weights *weights);
/* `output` has no byte in common with a plane. */
ASSAY_MUST_USE assay_status any_weights_check_alias(assay_context *context, const char *op,
                                                    const char *output_name,
                                                    const struct assay_tensor *output,
                                                    const char *name,
                                                    const struct assay_weights *weights);
/* Bytes of one row in all planes, its padding included. */
double any_weights_row_bytes(const struct assay_weights *weights);

static inline bool any_weights_grouped(const struct assay_weights *weights)
{
    return weights->format != ASSAY_WEIGHT_BF16;
}

/* y = x W^T as a call of the op that has it. */
struct any_product {
    const struct assay_op *op;
    union {
        struct assay_linear_args bf16;
        struct assay_linear_grouped_args grouped; /* residual absent */
    } args;
};

struct any_product any_product_of(const struct assay_tensor *x, const struct assay_weights *w,
                                  const struct assay_tensor *y);
/* The row "<op>.<method>.<backend>" of the product's table; NULL when it has none. */
const struct assay_route *any_product_row(const struct assay_op *product, const char *method,
                                          enum assay_backend backend);
/* 0 where the row has no function. */
size_t any_product_workspace(const struct assay_route *row, const assay_context *context,
                             const void *args);
/* `depth` of the product's rows of this method, which all backends share. */
int64_t any_product_depth(const struct assay_op *product, const char *method, int64_t inner_length);
/* A function depth_<name> for a route table. */
#define ANY_PRODUCT_DEPTH(name, product, method)                  \
    static int64_t depth_##name(int64_t inner_length)             \
    {                                                             \
        return any_product_depth(&product, method, inner_length); \
    }

#ifdef __cplusplus
}
#endif
#endif
