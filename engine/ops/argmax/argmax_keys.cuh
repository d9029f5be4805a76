/* SPDX-License-Identifier: MIT
 *
 * A value and its index as one integer, for kernels that select: the larger key is the larger value
 * and among equal ones the smaller index.
 */
#ifndef ASSAY_ARGMAX_KEYS_CUH
#define ASSAY_ARGMAX_KEYS_CUH

#include "cuda/simt.cuh"

#define ARGMAX_NAN 0xffffffffu

/* Ordered as the values are: zeros of both signs are one number, a NaN is above +inf, -inf above 0,
 * which stands for no value. */
SIMT_DEVICE uint32_t argmax_order(float value)
{
    uint32_t bits = simt_f32_bits(value), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return ARGMAX_NAN;
    if (magnitude == 0)
        return 0x80000000u;
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

/* The maximum of such keys is the largest value and among equal ones the smallest index, in
 * whatever order they are compared. */
SIMT_DEVICE uint64_t argmax_key(uint32_t order, uint32_t index)
{
    return static_cast<uint64_t>(order) << 32 | ~index;
}

SIMT_DEVICE int32_t argmax_id(uint64_t key)
{
    return key >> 32 == ARGMAX_NAN ? -1 : static_cast<int32_t>(~static_cast<uint32_t>(key));
}

#endif
