/* SPDX-License-Identifier: MIT
 *
 * One product by the oracle of its op: see matrix_product_oracle.h.
 */
#include "matrix_product_oracle.h"

#include <math.h>
#include <stdlib.h>

#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>

#include "oracle_formats.h"
#include "words.h"

extern const struct oracle_op oracle_op_linear, oracle_op_linear_grouped;

union product_args {
    struct assay_linear_args bf16;
    struct assay_linear_grouped_args grouped;
};

static const struct oracle_op *product_of(const struct assay_tensor *x,
                                          const struct assay_weights *w,
                                          const struct assay_tensor *y, union product_args *args)
{
    if (w->format == ASSAY_WEIGHT_BF16) {
        args->bf16 = (struct assay_linear_args){.x = *x, .w = w->base, .y = *y};
        return &oracle_op_linear;
    }
    args->grouped = (struct assay_linear_grouped_args){.x = *x, .w = *w, .y = *y};
    return &oracle_op_linear_grouped;
}

assay_status oracle_product_ref(const struct assay_tensor *x, const struct assay_weights *w,
                                const struct assay_tensor *y, struct oracle_output *out)
{
    union product_args args;
    return product_of(x, w, y, &args)->ref(&args, out);
}

assay_status oracle_product_mpfr(const struct assay_tensor *x, const struct assay_weights *w,
                                 const struct assay_tensor *y, long precision,
                                 struct oracle_output *out)
{
    union product_args args;
    return product_of(x, w, y, &args)->mpfr(&args, precision, out);
}

void oracle_product_bound(const struct assay_tensor *x, const struct assay_weights *w,
                          const struct assay_tensor *y, const struct oracle_route *route,
                          struct oracle_output *out)
{
    union product_args args;
    product_of(x, w, y, &args)->bound(&args, route, out);
}

void oracle_product_row(const struct assay_weights *w, int64_t n, double *row, double *reach)
{
    const bool is_bf16 = w->format == ASSAY_WEIGHT_BF16;
    if (is_bf16)
        oracle_get_row(&w->base, n, row);
    else
        oracle_weight_row(w, n, row);
    const int group = is_bf16 ? 1 : oracle_weight_format(w->format).group;
    double scale = 0;
    for (int64_t k = 0; reach != NULL && k < w->columns; k++) {
        if (!is_bf16 && k % group == 0)
            scale = fabs(oracle_weight_scale(w, n, k / group));
        reach[k] = is_bf16 || scale >= 1 ? fabs(row[k]) : abs(oracle_weight_code(w, n, k));
    }
}
