/* SPDX-License-Identifier: MIT
 *
 * l2norm, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/l2norm/l2norm_routes.h"

#include <math.h>

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_l2norm_args *a = argument;
    int64_t width = a->x.extent[a->x.rank - 1];
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r);
        void *y = assay_tensor_row(&a->y, r);
        double sum = 0; /* squares of binary32 values cannot overflow binary64 */
        for (int64_t i = 0; i < width; i++) {
            double value = word_to_f64(x, a->x.dtype, i);
            sum += value * value;
        }
        double scale = 1 / sqrt(sum + a->eps);
        for (int64_t i = 0; i < width; i++) /* y may be x: each element is read, then written */
            word_from_f64(word_to_f64(x, a->x.dtype, i) * scale, y, a->y.dtype, i);
    }
}

assay_status l2norm_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_l2norm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
