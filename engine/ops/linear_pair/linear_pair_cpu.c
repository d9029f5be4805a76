/* SPDX-License-Identifier: MIT
 *
 * linear_pair, the plain route: each sum in binary64, k in rising order, one rounding into y.
 * Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_pair/linear_pair_routes.h"
#include "ops/linear_swiglu/matrix_product.h"

struct product {
    const struct assay_tensor *x, *y;
    const struct assay_weights *w;
};

/* Outputs first .. last - 1 of every row: the matrix is the larger operand. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    for (int64_t n = first; n < last; n++)
        for (int64_t t = 0; t < p->x->extent[0]; t++)
            word_from_f64(matrix_product_plain(p->x, t, p->w, n), assay_tensor_row(p->y, t),
                          p->y->dtype, n);
}

assay_status linear_pair_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_pair_args *a = args;
    (void)workspace;
    for (int i = 0; i < a->num_products; i++) {
        struct product p = {.x = &a->x, .y = &a->y[i], .w = &a->w[i]};
        assay_parallel(context, a->w[i].rows, 16, columns, &p);
    }
    return ASSAY_OK;
}
