/* SPDX-License-Identifier: MIT
 *
 * linear_pair on a device as one call a matrix, in stream order, by the routes that linear and
 * linear_grouped take.
 */
#include "core/core.h"
#include "ops/linear_pair/linear_pair_routes.h"
#include "ops/linear_swiglu/matrix_product.h"

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static struct matrix_product product_of(const assay_context *context,
                                        const struct assay_linear_pair_args *a, int i)
{
    return matrix_product_of(context, &a->x, &a->w[i], &a->y[i]);
}

/* The calls use it one after the other. */
size_t linear_pair_composed_workspace(const assay_context *context, const void *args)
{
    const struct assay_linear_pair_args *a = args;
    size_t most = 0;
    for (int i = 0; i < a->num_products; i++) {
        const struct matrix_product product = product_of(context, a, i);
        size_t bytes = matrix_product_workspace(context, &product);
        most = bytes > most ? bytes : most;
    }
    return most;
}

assay_status linear_pair_route_composed(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_pair_args *a = args;
    for (int i = 0; i < a->num_products; i++) {
        const struct matrix_product product = product_of(context, a, i);
        ASSAY_TRY(matrix_product_run(context, &product, workspace));
    }
    return ASSAY_OK;
}
#endif
