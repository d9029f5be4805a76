/* SPDX-License-Identifier: MIT
 *
 * silu(gate) * up for vectors: included, like simd.h, by sources that are compiled once for each
 * instruction set.
 */
#ifndef ASSAY_SILU_SIMD_H
#define ASSAY_SILU_SIMD_H

#include <float.h>
#include <math.h>

#include "numeric/simd.h"

/* The sigmoid of a finite gate is not zero: where it underflowed, an infinite factor must not meet
 * a zero, which would be NaN. */
static inline vf silu_not_zero(vf sigmoid, vf gate, vf factor)
{
    vi lost = (vi)(sigmoid == vf_set(0)) & (vi)(gate > vf_set(-INFINITY)) &
              (vi)(vf_abs(factor) == vf_set(INFINITY));
    return vf_select(lost, vf_set(FLT_MIN), sigmoid);
}

/* The sigmoid in binary32, the two products in binary64, so that they neither underflow nor
 * overflow on the way. (The sigmoid itself is subnormal below -87, zero below -104.) */
static inline vf silu_times(vf gate, vf up)
{
    vf sigmoid = silu_not_zero(vf_sigmoid(gate), gate, up);
    return vf_from_vd(vd_low(gate) * vd_low(sigmoid) * vd_low(up),
                      vd_high(gate) * vd_high(sigmoid) * vd_high(up));
}

#endif
