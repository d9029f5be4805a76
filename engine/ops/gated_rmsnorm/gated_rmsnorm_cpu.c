/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/gated_rmsnorm/gated_rmsnorm_routes.h"

#include <float.h>
#include <math.h>

/* Not zero for a finite z, so that an infinite weight gives an infinity. */
static double sigmoid(double z)
{
    double s = 1 / (1 + exp(-z)); /* exp overflows below -709 */
    return s == 0 && isfinite(z) ? DBL_TRUE_MIN : s;
}

static double silu(double z)
{
    return z * sigmoid(z);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_gated_rmsnorm_args *a = argument;
    int64_t width = a->w.extent[0];
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r), *z = assay_tensor_row(&a->z, r);
        void *y = assay_tensor_row(&a->y, r);
        double sum = 0; /* squares of binary32 values cannot overflow binary64 */
        for (int64_t i = 0; i < width; i++) {
            double value = word_to_f64(x, a->x.dtype, i);
            sum += value * value;
        }
        double scale = 1 / sqrt(sum / (double)width + a->eps);
        for (int64_t i = 0; i < width; i++) { /* y may be x or z: read, then written */
            double normed =
                word_to_f64(x, a->x.dtype, i) * scale * word_to_f64(a->w.data, a->w.dtype, i);
            word_from_f64(normed * silu(word_to_f64(z, a->z.dtype, i)), y, a->y.dtype, i);
        }
    }
}

assay_status gated_rmsnorm_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gated_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
