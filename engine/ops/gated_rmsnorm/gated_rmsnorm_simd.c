/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm, vectorised: the sum of squares and the products are formed in binary64 (none of
 * them overflows or underflows), the sigmoid in binary32, where it is subnormal below -87.
 *
 * Profile f32. Bound: gated_rmsnorm_bound.md. Moves each byte once (x twice, from L1).
 */
#include "core/core.h"
#include "numeric/simd_sums.h"
#include "ops/gated_rmsnorm/gated_rmsnorm_routes.h"

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

static vf gated(vf x, vf z, vf w, vd scale)
{
    vf gate = not_zero(vf_sigmoid(z), z, w);
    vd low = vd_low(x) * scale * vd_low(w) * (vd_low(z) * vd_low(gate));
    vd high = vd_high(x) * scale * vd_high(w) * (vd_high(z) * vd_high(gate));
    return vf_from_vd(low, high);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_gated_rmsnorm_args *a = argument;
    int64_t width = a->w.extent[0];
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r), *z = assay_tensor_row(&a->z, r);
        void *y = assay_tensor_row(&a->y, r);
        double sum = simd_sum_of_squares(x, a->x.dtype, width);
        vd scale = vd_set(1 / sqrt(sum / (double)width + a->eps));
        int64_t i = 0;
        for (; i + SIMD_LANES <= width; i += SIMD_LANES)
            vf_store_any(y, a->y.dtype, i,
                         gated(vf_load_any(x, a->x.dtype, i), vf_load_any(z, a->z.dtype, i),
                               vf_load_any(a->w.data, a->w.dtype, i), scale));
        if (i < width) {
            int64_t left = width - i;
            vf w = vf_load_tail(a->w.data, a->w.dtype, i, left);
            vf v = vf_load_tail(x, a->x.dtype, i, left), g = vf_load_tail(z, a->z.dtype, i, left);
            vf_store_tail(y, a->y.dtype, i, left, gated(v, g, w, scale));
        }
    }
}

assay_status SIMD_NAME(gated_rmsnorm_route)(assay_context *context, const void *args,
                                            void *workspace)
{
    const struct assay_gated_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
