/* SPDX-License-Identifier: MIT
 *
 * linear_grouped, the plain route: products and sums in binary64, k in rising order, the residual
 * last, one rounding into y. A product of a binary32 value and a weight, which has at most 19 bits,
 * is exact there. Written to be read.
 */
#include "core/core.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

/* Outputs first .. last - 1 of every row: w is the larger operand, so its rows are shared out. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct assay_linear_grouped_args *a = argument;
    for (int64_t n = first; n < last; n++) {
        const struct grouped_row w = grouped_row_of(&a->w, n);
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            const void *x = assay_tensor_row(&a->x, t);
            double sum = 0;
            for (int64_t k = 0; k < a->x.extent[1]; k++)
                sum += word_to_f64(x, a->x.dtype, k) * (double)grouped_value(&w, k);
            if (a->residual.data != NULL)
                sum += word_to_f64(assay_tensor_row(&a->residual, t), ASSAY_F32, n);
            word_from_f64(sum, assay_tensor_row(&a->y, t), a->y.dtype, n);
        }
    }
}

assay_status linear_grouped_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_grouped_args *a = args;
    (void)workspace;
    assay_parallel(context, a->w.rows, 16, columns, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
