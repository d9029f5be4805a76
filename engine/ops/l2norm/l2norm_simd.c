/* SPDX-License-Identifier: MIT
 *
 * l2norm, vectorised: squares are summed and the scale is applied in binary64 (neither overflows at
 * any finite input), the result is rounded to binary32 and then to y's format.
 *
 * Profile f32. Bound: l2norm_bound.md. Moves each input and output byte once (x twice, from L1).
 */
#include "core/core.h"
#include "numeric/simd_sums.h"
#include "ops/l2norm/l2norm_routes.h"

#include <math.h>

static vf scaled(vf x, vd scale)
{
    return vf_from_vd(vd_low(x) * scale, vd_high(x) * scale);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_l2norm_args *a = argument;
    int64_t width = a->x.extent[a->x.rank - 1];
    for (int64_t r = first; r < last; r++) {
        const void *x = assay_tensor_row(&a->x, r);
        void *y = assay_tensor_row(&a->y, r);
        vd scale = vd_set(1 / sqrt(simd_sum_of_squares(x, a->x.dtype, width) + a->eps));
        int64_t i = 0;
        for (; i + SIMD_LANES <= width; i += SIMD_LANES)
            vf_store_any(y, a->y.dtype, i, scaled(vf_load_any(x, a->x.dtype, i), scale));
        if (i < width) {
            vf v = vf_load_tail(x, a->x.dtype, i, width - i);
            vf_store_tail(y, a->y.dtype, i, width - i, scaled(v, scale));
        }
    }
}

assay_status SIMD_NAME(l2norm_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_l2norm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
