/* SPDX-License-Identifier: MIT
 *
 * Products with weights of any format: see any_product.h.
 */
#include "ops/linear_add/any_product.h"

#include <string.h>

#include "core/core.h"
#include "ops/linear_grouped/grouped_planes.h"

enum { NAME_BYTES = 32 };

static assay_status check_bf16(assay_context *context, const char *op, const char *name,
                               const struct assay_weights *w)
{
    char base[NAME_BYTES], high[NAME_BYTES], scales[NAME_BYTES];
    snprintf(base, sizeof base, "%s.base", name);
    snprintf(high, sizeof high, "%s.high", name);
    snprintf(scales, sizeof scales, "%s.scales", name);
    if (w->rows < 1 || w->columns < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, name, "must have at least one element");
    ASSAY_TRY(
        assay_check_tensor(context, op, base, &w->base, 2, 2, ASSAY_FORMAT(ASSAY_BF16), false));
    ASSAY_TRY(assay_check_extent(context, op, base, &w->base, 0, w->rows));
    ASSAY_TRY(assay_check_extent(context, op, base, &w->base, 1, w->columns));
    if (w->high.data != NULL)
        return assay_refuse(context, ASSAY_E_ARG, op, high, "bf16 has no high plane");
    if (w->scales.data != NULL)
        return assay_refuse(context, ASSAY_E_ARG, op, scales, "bf16 has no scales");
    return ASSAY_OK;
}

assay_status any_weights_check(assay_context *context, const char *op, const char *name,
                               const struct assay_weights *weights)
{
    if (any_weights_grouped(weights))
        return grouped_check(context, op, name, weights);
    return check_bf16(context, op, name, weights);
}

assay_status any_weights_check_alias(assay_context *context, const char *op,
                                     const char *output_name, const struct assay_tensor *output,
                                     const char *name, const struct assay_weights *weights)
{
    char base[NAME_BYTES];
    if (any_weights_grouped(weights))
        return grouped_check_alias(context, op, output_name, output, name, weights);
    snprintf(base, sizeof base, "%s.base", name);
    return assay_check_alias(context, op, output_name, output, base, &weights->base, false);
}

double any_weights_row_bytes(const struct assay_weights *weights)
{
    return any_weights_grouped(weights) ? grouped_row_bytes(weights) : 2 * (double)weights->columns;
}

struct any_product any_product_of(const struct assay_tensor *x, const struct assay_weights *w,
                                  const struct assay_tensor *y)
{
    if (any_weights_grouped(w))
        return (struct any_product){.op = &assay_op_linear_grouped,
                                    .args.grouped = {.x = *x, .w = *w, .y = *y}};
    return (struct any_product){.op = &assay_op_linear,
                                .args.bf16 = {.x = *x, .w = w->base, .y = *y}};
}

/* "<op>.<method>." is how the row's name begins. */
static bool is_method(const struct assay_op *product, const struct assay_route *row,
                      const char *method)
{
    size_t op_length = strlen(product->name), length = strlen(method);
    const char *rest = row->name + op_length + 1;
    return strncmp(rest, method, length) == 0 && rest[length] == '.';
}

const struct assay_route *any_product_row(const struct assay_op *product, const char *method,
                                          enum assay_backend backend)
{
    for (int i = 0; i < product->num_routes; i++)
        if (product->routes[i].backend == backend &&
            is_method(product, &product->routes[i], method))
            return &product->routes[i];
    return NULL;
}

size_t any_product_workspace(const struct assay_route *row, const assay_context *context,
                             const void *args)
{
    return row->workspace != NULL ? row->workspace(context, args) : 0;
}

int64_t any_product_depth(const struct assay_op *product, const char *method, int64_t inner_length)
{
    for (int i = 0; i < product->num_routes; i++)
        if (is_method(product, &product->routes[i], method))
            return product->routes[i].depth(inner_length);
    return inner_length;
}
