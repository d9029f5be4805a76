/* SPDX-License-Identifier: MIT
 *
 * linear_pair in MPFR: each product as its op has it.
 */
#include "linear_pair_oracle.h"

#include "matrix_product_oracle.h"

assay_status oracle_linear_pair_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    const struct assay_linear_pair_args *a = args;
    assay_status status = ASSAY_OK;
    for (int i = 0; i < a->num_products && status == ASSAY_OK; i++)
        status = oracle_product_mpfr(&a->x, &a->w[i], &a->y[i], precision, &outputs[i]);
    return status;
}
