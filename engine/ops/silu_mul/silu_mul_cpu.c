/* SPDX-License-Identifier: MIT
 *
 * silu_mul, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/silu_mul/silu_f64.h"
#include "ops/silu_mul/silu_mul_routes.h"

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_silu_mul_args *a = argument;
    for (int64_t r = first; r < last; r++) {
        const void *gate = assay_tensor_row(&a->gate, r), *up = assay_tensor_row(&a->up, r);
        void *y = assay_tensor_row(&a->y, r);
        for (int64_t i = 0; i < a->y.extent[1]; i++) { /* y may be gate or up: read, then written */
            double silu = silu_f64(word_to_f64(gate, a->gate.dtype, i));
            word_from_f64(silu * word_to_f64(up, a->up.dtype, i), y, a->y.dtype, i);
        }
    }
}

assay_status silu_mul_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_silu_mul_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->y), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
