/* SPDX-License-Identifier: MIT
 *
 * add, vectorised. A binary32 sum is correctly rounded as it is; for a bf16 output it is first
 * rounded to odd, so that the second rounding sees on which side of a tie the exact sum lies.
 *
 * Profile exact: one rounding of the exact sum. Moves each byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/add/add_routes.h"

/* Binary32 rounded to odd, see add_cpu.c. Two-sum is exact but where it overflows: there its error
 * term is NaN, or infinite, and the sum stays as it is; such sums are infinite in bf16 too. */
static vf sum_to_odd(vf a, vf b)
{
    vf sum = a + b;
    vf part = sum - a;
    vf error = (a - (sum - part)) + (b - part);
    vf zero = vf_set(0.0f), limit = vf_set(__FLT_MAX__);
    vi positive = (vi)(error > zero) & (vi)(error <= limit);
    vi negative = (vi)(error < zero) & (vi)(error >= -limit);
    vi even = (vi)(((vi)sum & 1) == 0);
    vi sum_negative = (vi)sum >> 31; /* all ones below zero */
    vi away = (positive & ~sum_negative) | (negative & sum_negative);
    vi towards = (positive & sum_negative) | (negative & ~sum_negative);
    return (vf)((vi)sum - (away & even) + (towards & even)); /* a true lane is -1 */
}

static vf sum_for(enum assay_dtype output, vf a, vf b)
{
    return output == ASSAY_F32 ? a + b : sum_to_odd(a, b);
}

void SIMD_NAME(add_row)(const struct assay_add_args *args, int64_t r)
{
    enum assay_dtype a_type = args->a.dtype, b_type = args->b.dtype, y_type = args->y.dtype;
    const void *a = assay_tensor_row(&args->a, r), *b = assay_tensor_row(&args->b, r);
    void *y = assay_tensor_row(&args->y, r);
    int64_t width = args->y.extent[1], i = 0;
    for (; i + SIMD_LANES <= width; i += SIMD_LANES) {
        vf sum = sum_for(y_type, vf_load_any(a, a_type, i), vf_load_any(b, b_type, i));
        vf_store_any(y, y_type, i, sum);
    }
    if (i < width) {
        int64_t count = width - i;
        vf sum =
            sum_for(y_type, vf_load_tail(a, a_type, i, count), vf_load_tail(b, b_type, i, count));
        vf_store_tail(y, y_type, i, count, sum);
    }
}

static void rows(void *argument, int64_t first, int64_t last)
{
    for (int64_t r = first; r < last; r++)
        SIMD_NAME(add_row)(argument, r);
}

assay_status SIMD_NAME(add_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], add_grain(a), rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
