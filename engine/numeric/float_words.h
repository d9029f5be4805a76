/* SPDX-License-Identifier: MIT
 *
 * 16-bit float words <-> binary32, inline for kernels. Rounding is to nearest, ties to even.
 */
#ifndef ASSAY_NUMERIC_FLOAT_WORDS_H
#define ASSAY_NUMERIC_FLOAT_WORDS_H

#include <stdint.h>
#include <string.h>

#include <assay/tensor.h>

static inline uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float bf16_to_f32(uint16_t word)
{
    return f32_from_bits((uint32_t)word << 16);
}

/* Adding 0x7fff plus the lowest kept bit carries into it exactly when the rest is above half, or
 * is half and the bit is odd. A NaN is made quiet, so that cutting its payload leaves a NaN. */
static inline uint16_t bf16_from_f32(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x0040u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* A multiplication by 2^112 moves the exponent from bias 15 to 127 and normalises subnormals
 * exactly; infinities and NaN get their exponent by hand. */
static inline float f16_to_f32(uint16_t word)
{
    uint32_t sign = (uint32_t)(word & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(word & 0x7fffu) << 13;
    if ((word & 0x7c00u) == 0x7c00u)
        return f32_from_bits(sign | rest | 0x7f800000u);
    return f32_from_bits(sign | f32_bits(f32_from_bits(rest) * 0x1p112f));
}

static inline uint16_t f16_from_f32(float value)
{
    uint32_t bits = f32_bits(value);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {
        /* Below 2^-14: adding 0.5 leaves the value in units of 2^-24, rounded to nearest even. */
        float shifted = f32_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (f32_bits(shifted) - f32_bits(0.5f)));
    }
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
    return (uint16_t)(sign | (rounded >> 13));
}

/* Rows of F32, BF16 or F16 words as binary32 and back (float_words.c; vectorised by the compiler).
 */
void words_to_f32(const void *words, enum assay_dtype dtype, int64_t count, float *values);
void words_from_f32(const float *values, int64_t count, void *words, enum assay_dtype dtype);
void words_to_f64(const void *words, enum assay_dtype dtype, int64_t count, double *values);
/* One element; from binary64 it is rounded once (a detour through binary32 would round twice). */
double word_to_f64(const void *words, enum assay_dtype dtype, int64_t index);
void word_from_f64(double value, void *words, enum assay_dtype dtype, int64_t index);

#endif
