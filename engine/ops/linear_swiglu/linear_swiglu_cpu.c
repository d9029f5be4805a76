/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu, the plain route: both sums in binary64, k in rising order, the formula in
 * binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_swiglu/matrix_product.h"
#include "ops/linear_swiglu/linear_swiglu_routes.h"
#include "ops/silu_mul/silu_f64.h"

/* Outputs first .. last - 1 of every row: the matrices are the larger operands. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct assay_linear_swiglu_args *a = argument;
    for (int64_t n = first; n < last; n++) {
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            double gate = matrix_product_plain(&a->x, t, &a->gate, n);
            double up = matrix_product_plain(&a->x, t, &a->up, n);
            word_from_f64(silu_f64(gate) * up, assay_tensor_row(&a->y, t), a->y.dtype, n);
        }
    }
}

assay_status linear_swiglu_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_swiglu_args *a = args;
    (void)workspace;
    assay_parallel(context, a->gate.rows, 16, columns, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
