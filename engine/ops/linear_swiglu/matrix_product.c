/* SPDX-License-Identifier: MIT
 *
 * Products with a matrix of any format: see matrix_product.h.
 */
#include "ops/linear_swiglu/matrix_product.h"

#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_grouped/grouped_planes.h"

double matrix_product_plain(const struct assay_tensor *x, int64_t t, const struct assay_weights *w,
                            int64_t n)
{
    const void *row = assay_tensor_row(x, t);
    double sum = 0;
    if (w->format == ASSAY_WEIGHT_BF16) {
        const void *weights = assay_tensor_row(&w->base, n);
        for (int64_t k = 0; k < w->columns; k++)
            sum += word_to_f64(row, x->dtype, k) * word_to_f64(weights, ASSAY_BF16, k);
        return sum;
    }
    const struct grouped_row weights = grouped_row_of(w, n);
    for (int64_t k = 0; k < w->columns; k++)
        sum += word_to_f64(row, x->dtype, k) * (double)grouped_value(&weights, k);
    return sum;
}

double matrix_row_plain(const struct assay_weights *w, int64_t n, const double *x)
{
    double sum = 0;
    if (w->format == ASSAY_WEIGHT_BF16) {
        const void *weights = assay_tensor_row(&w->base, n);
        for (int64_t k = 0; k < w->columns; k++)
            sum += word_to_f64(weights, ASSAY_BF16, k) * x[k];
        return sum;
    }
    const struct grouped_row weights = grouped_row_of(w, n);
    for (int64_t k = 0; k < w->columns; k++)
        sum += (double)grouped_value(&weights, k) * x[k];
    return sum;
}

const struct assay_route *matrix_product_route(const assay_context *context,
                                               const struct assay_op *op, const void *args)
{
    for (int i = 0; i < op->num_routes; i++)
        if (assay_route_takes(context, &op->routes[i], args))
            return &op->routes[i];
    return NULL;
}

struct matrix_product matrix_product_of(const assay_context *context, const struct assay_tensor *x,
                                        const struct assay_weights *w, const struct assay_tensor *y)
{
    struct matrix_product p = {.route = NULL};
    if (w->format == ASSAY_WEIGHT_BF16) {
        p.args.bf16 = (struct assay_linear_args){.x = *x, .w = w->base, .y = *y};
        p.route = matrix_product_route(context, &assay_op_linear, &p.args.bf16);
    } else {
        p.args.grouped = (struct assay_linear_grouped_args){.x = *x, .w = *w, .y = *y};
        p.route = matrix_product_route(context, &assay_op_linear_grouped, &p.args.grouped);
    }
    return p;
}

size_t matrix_product_workspace(const assay_context *context, const struct matrix_product *product)
{
    const struct assay_route *route = product->route;
    return route->workspace != NULL ? route->workspace(context, &product->args) : 0;
}

assay_status matrix_product_run(assay_context *context, const struct matrix_product *product,
                                void *workspace)
{
    return product->route->run(context, &product->args, workspace);
}
