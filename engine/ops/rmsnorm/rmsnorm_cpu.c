/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/rmsnorm/rmsnorm_routes.h"

#include <math.h>

void rmsnorm_row_plain(const struct assay_rmsnorm_args *a, const void *x, void *y)
{
    int64_t width = a->w.extent[0];
    double sum = 0; /* squares of binary32 values cannot overflow binary64 */
    for (int64_t i = 0; i < width; i++) {
        double value = word_to_f64(x, a->x.dtype, i);
        sum += value * value;
    }
    double scale = 1 / sqrt(sum / (double)width + a->eps);
    for (int64_t i = 0; i < width; i++) { /* y may be x: each element is read, then written */
        double weight = word_to_f64(a->w.data, a->w.dtype, i);
        double gain = a->unit_offset ? 1 + weight : weight;
        word_from_f64(word_to_f64(x, a->x.dtype, i) * scale * gain, y, a->y.dtype, i);
    }
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_rmsnorm_args *a = argument;
    for (int64_t r = first; r < last; r++)
        rmsnorm_row_plain(a, assay_tensor_row(&a->x, r), assay_tensor_row(&a->y, r));
}

assay_status rmsnorm_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
