/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/sigmoid_mul/sigmoid_mul_routes.h"

#include <float.h>
#include <math.h>

/* Not zero for a finite gate, so that an infinite factor gives an infinity. */
static double sigmoid(double g)
{
    double s = 1 / (1 + exp(-g)); /* exp overflows below -709 */
    return s == 0 && isfinite(g) ? DBL_TRUE_MIN : s;
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_sigmoid_mul_args *a = argument;
    bool one_gate = a->gate.extent[1] == 1;
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r), *gate = assay_tensor_row(&a->gate, r);
        void *y = assay_tensor_row(&a->y, r);
        double shared = sigmoid(word_to_f64(gate, a->gate.dtype, 0));
        for (int64_t i = 0; i < a->y.extent[1]; i++) { /* y may be x or gate: read, then written */
            double factor = one_gate ? shared : sigmoid(word_to_f64(gate, a->gate.dtype, i));
            word_from_f64(word_to_f64(x, a->x.dtype, i) * factor, y, a->y.dtype, i);
        }
    }
}

assay_status sigmoid_mul_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_sigmoid_mul_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->y), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
