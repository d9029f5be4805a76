/* SPDX-License-Identifier: MIT
 *
 * silu_mul, vectorised (silu_simd.h).
 *
 * Profile f32. Bound: silu_mul_bound.md. Moves each input and output byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/silu_mul/silu_mul_routes.h"
#include "ops/silu_mul/silu_simd.h"

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_silu_mul_args *a = argument;
    int64_t width = a->y.extent[1];
    for (int64_t r = first; r < last; r++) {
        const void *gate = assay_tensor_row(&a->gate, r), *up = assay_tensor_row(&a->up, r);
        void *y = assay_tensor_row(&a->y, r);
        int64_t i = 0;
        for (; i + SIMD_LANES <= width; i += SIMD_LANES)
            vf_store_any(
                y, a->y.dtype, i,
                silu_times(vf_load_any(gate, a->gate.dtype, i), vf_load_any(up, a->up.dtype, i)));
        if (i < width) {
            vf g = vf_load_tail(gate, a->gate.dtype, i, width - i);
            vf u = vf_load_tail(up, a->up.dtype, i, width - i);
            vf_store_tail(y, a->y.dtype, i, width - i, silu_times(g, u));
        }
    }
}

assay_status SIMD_NAME(silu_mul_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_silu_mul_args *a = args;
    (void)workspace;
    assay_parallel(context, assay_tensor_rows(&a->y), 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
