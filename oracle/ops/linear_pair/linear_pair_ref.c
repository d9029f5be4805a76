/* SPDX-License-Identifier: MIT
 *
 * linear_pair in bounded binary64, from the contract [LINEARPAIR-1]: each product by the oracle of
 * its op. Outputs of absent products have no elements.
 */
#include "linear_pair_oracle.h"

#include "matrix_product_oracle.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_pair_args *a = arguments;
    assay_status status = ASSAY_OK;
    for (int i = 0; i < a->num_products && status == ASSAY_OK; i++)
        status = oracle_product_ref(&a->x, &a->w[i], &a->y[i], &outputs[i]);
    return status;
}

static double work(const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    double rows = 0;
    for (int i = 0; i < a->num_products; i++)
        rows += (double)a->w[i].rows;
    return (double)assay_tensor_count(&a->x) * rows;
}

const struct oracle_op oracle_op_linear_pair = {
    .name = "linear_pair",
    .num_outputs = ASSAY_LINEAR_PAIR_MAX,
    .outputs = {"y[0]", "y[1]", "y[2]", "y[3]"},
    .ref = ref,
    .mpfr = oracle_linear_pair_mpfr,
    .bound = oracle_linear_pair_bound,
    .work = work,
};
