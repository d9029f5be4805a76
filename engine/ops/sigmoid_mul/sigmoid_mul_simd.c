/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul, vectorised: sigmoid and product in binary32.
 *
 * Profile f32. Bound: sigmoid_mul_bound.md. Moves each input and output byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/sigmoid_mul/sigmoid_mul_routes.h"

#include <float.h>
#include <math.h>

/* The sigmoid of a finite gate is not zero: where it underflowed, an infinite factor must not meet
 * a zero, which would be NaN. */
static vf not_zero(vf sigmoid, vf gate, vf factor)
{
    vi lost = (vi)(sigmoid == vf_set(0)) & (vi)(gate > vf_set(-INFINITY)) &
              (vi)(vf_abs(factor) == vf_set(INFINITY));
    return vf_select(lost, vf_set(FLT_MIN), sigmoid);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_sigmoid_mul_args *a = argument;
    int64_t width = a->y.extent[1];
    bool one_gate = a->gate.extent[1] == 1;
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r), *gate = assay_tensor_row(&a->gate, r);
        void *y = assay_tensor_row(&a->y, r);
        vf g = vf_set((float)word_to_f64(gate, a->gate.dtype, 0)), factor = vf_sigmoid(g);
        int64_t i = 0;
        for (; i + SIMD_LANES <= width; i += SIMD_LANES) {
            if (!one_gate) {
                g = vf_load_any(gate, a->gate.dtype, i);
                factor = vf_sigmoid(g);
            }
            vf v = vf_load_any(x, a->x.dtype, i);
            vf_store_any(y, a->y.dtype, i, v * not_zero(factor, g, v));
        }
        if (i < width) {
            if (!one_gate) {
                g = vf_load_tail(gate, a->gate.dtype, i, width - i);
                factor = vf_sigmoid(g);
            }
            vf v = vf_load_tail(x, a->x.dtype, i, width - i);
            vf_store_tail(y, a->y.dtype, i, width - i, v * not_zero(factor, g, v));
        }
    }
}

assay_status SIMD_NAME(sigmoid_mul_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_sigmoid_mul_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->y), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
