/* SPDX-License-Identifier: MIT
 *
 * silu(gate) * up in kernels: the sigmoid in binary32, the two products in binary64, so that a tiny
 * sigmoid times large operands neither underflows nor overflows on the way.
 */
#ifndef ASSAY_SILU_DEVICE_CUH
#define ASSAY_SILU_DEVICE_CUH

#include <float.h>

#include "cuda/simt.cuh"

/* exp(-|g|) never overflows; on the negative side it is the numerator, so that small values keep
 * their digits down to the underflow of binary32 ([SILUMUL-5]). */
SIMT_DEVICE float silu_sigmoid(float g)
{
    float e = expf(-fabsf(g));
    return (g < 0 ? e : 1.0f) / (1.0f + e);
}

/* Where the sigmoid of a finite gate underflowed, an infinite factor must not meet a zero. */
SIMT_DEVICE float silu_times(float gate, float up)
{
    float sigmoid = silu_sigmoid(gate);
    if (sigmoid == 0 && gate >= -FLT_MAX && fabsf(up) > FLT_MAX)
        sigmoid = FLT_MIN;
    return static_cast<float>(static_cast<double>(gate) * static_cast<double>(sigmoid) *
                              static_cast<double>(up));
}

#endif
