/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, vectorised: squares are summed in binary64 (no overflow at any finite input, no
 * accumulation error to speak of), the scaling is done in binary32.
 *
 * Profile f32. Bound: rmsnorm_bound.md. Moves each input and output byte once (x twice, from L1).
 */
#include "core/core.h"
#include "numeric/simd_sums.h"
#include "ops/rmsnorm/rmsnorm_routes.h"

#include <math.h>

/* x * scale * gain. The scale is applied in binary64: rounded to binary32 it could leave the range
 * of the format though the product does not. */
static vf scaled(vf x, vf w, vd scale, vf offset)
{
    vf gain = w + offset;
    vd low = vd_low(x) * scale * vd_low(gain), high = vd_high(x) * scale * vd_high(gain);
    return vf_from_vd(low, high);
}

void SIMD_NAME(rmsnorm_row)(const struct assay_rmsnorm_args *a, const void *x, void *y)
{
    int64_t width = a->w.extent[0], i = 0;
    vf offset = vf_set(a->unit_offset ? 1.0f : 0.0f);
    double sum = simd_sum_of_squares(x, a->x.dtype, width);
    vd scale = vd_set(1 / sqrt(sum / (double)width + a->eps));
    for (; i + SIMD_LANES <= width; i += SIMD_LANES) {
        vf w = vf_load_any(a->w.data, a->w.dtype, i);
        vf_store_any(y, a->y.dtype, i, scaled(vf_load_any(x, a->x.dtype, i), w, scale, offset));
    }
    if (i < width) {
        vf w = vf_load_tail(a->w.data, a->w.dtype, i, width - i);
        vf v = vf_load_tail(x, a->x.dtype, i, width - i);
        vf_store_tail(y, a->y.dtype, i, width - i, scaled(v, w, scale, offset));
    }
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_rmsnorm_args *a = argument;
    for (int64_t r = first; r < last; r++)
        SIMD_NAME(rmsnorm_row)(a, assay_tensor_row(&a->x, r), assay_tensor_row(&a->y, r));
}

assay_status SIMD_NAME(rmsnorm_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->x), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
