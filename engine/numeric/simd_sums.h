/* SPDX-License-Identifier: MIT
 *
 * Sums over a row for the vector routes: included, like simd.h, by sources that are compiled once
 * for each instruction set.
 */
#ifndef ASSAY_NUMERIC_SIMD_SUMS_H
#define ASSAY_NUMERIC_SIMD_SUMS_H

#include "numeric/simd.h"

/* x[0]^2 + ... + x[width - 1]^2 in binary64: squares of binary32 values are exact there, none
 * overflows or underflows, and the few roundings of the sum are far below one of binary32. */
static inline double simd_sum_of_squares(const void *x, enum assay_dtype dtype, int64_t width)
{
    vd low = vd_set(0), high = vd_set(0);
    int64_t i = 0;
    for (; i + SIMD_LANES <= width; i += SIMD_LANES) {
        vf v = vf_load_any(x, dtype, i);
        low = vd_fma(vd_low(v), vd_low(v), low);
        high = vd_fma(vd_high(v), vd_high(v), high);
    }
    if (i < width) {
        vf v = vf_load_tail(x, dtype, i, width - i);
        low = vd_fma(vd_low(v), vd_low(v), low);
        high = vd_fma(vd_high(v), vd_high(v), high);
    }
    return vd_sum(low + high);
}

#endif
