/* SPDX-License-Identifier: MIT
 *
 * The sum of two binary32 numbers, ready for one rounding into a narrower format.
 */
#ifndef ASSAY_ADD_SUM_CUH
#define ASSAY_ADD_SUM_CUH

#include "cuda/simt.cuh"

/* Two-sum is exact but where it overflows: there its error term is not finite, and the sum stays as
 * it is; such sums are infinite in bf16, too. */
SIMT_DEVICE float sum_to_odd(float a, float b)
{
    float sum = a + b;
    float part = sum - a;
    float error = (a - (sum - part)) + (b - part);
    uint32_t bits = simt_f32_bits(sum);
    if (error == 0 || !(fabsf(error) <= 0x1.fffffep127f) || bits % 2 == 1)
        return sum;
    bool away = (error > 0) == (sum > 0); /* from zero, towards the exact sum */
    return simt_f32_from_bits(away ? bits + 1 : bits - 1);
}

#endif
