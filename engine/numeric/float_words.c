/* SPDX-License-Identifier: MIT
 *
 * Rows of float words <-> binary32 and binary64.
 */
#include "numeric/float_words.h"

#include <math.h>

void words_to_f32(const void *words, enum assay_dtype dtype, int64_t count, float *values)
{
    if (dtype == ASSAY_F32) {
        memmove(values, words, (size_t)count * sizeof *values);
    } else if (dtype == ASSAY_BF16) {
        const uint16_t *w = words;
        for (int64_t i = 0; i < count; i++)
            values[i] = bf16_to_f32(w[i]);
    } else {
        const uint16_t *w = words;
        for (int64_t i = 0; i < count; i++)
            values[i] = f16_to_f32(w[i]);
    }
}

void words_from_f32(const float *values, int64_t count, void *words, enum assay_dtype dtype)
{
    if (dtype == ASSAY_F32) {
        memmove(words, values, (size_t)count * sizeof *values);
    } else if (dtype == ASSAY_BF16) {
        uint16_t *w = words;
        for (int64_t i = 0; i < count; i++)
            w[i] = bf16_from_f32(values[i]);
    } else {
        uint16_t *w = words;
        for (int64_t i = 0; i < count; i++)
            w[i] = f16_from_f32(values[i]);
    }
}

/* binary32 with round-to-odd: truncated, and made odd when inexact. Rounding it again to at most
 * 22 bits then equals rounding the binary64 once (Boldo and Melquiond, 2008). */
static float f32_round_to_odd(double value)
{
    float nearest = (float)value;
    /* What overflows binary32 overflows bf16 and fp16 too. */
    if (isnan(value) || isinf(nearest) || (double)nearest == value)
        return nearest;
    uint32_t bits = f32_bits(nearest);
    if (fabs((double)nearest) > fabs(value))
        bits--; /* towards zero; never passes zero: |nearest| > |value| > 0 */
    return f32_from_bits(bits | 1u);
}

double word_to_f64(const void *words, enum assay_dtype dtype, int64_t index)
{
    switch (dtype) {
    case ASSAY_F32:
        return (double)((const float *)words)[index];
    case ASSAY_BF16:
        return (double)bf16_to_f32(((const uint16_t *)words)[index]);
    default:
        return (double)f16_to_f32(((const uint16_t *)words)[index]);
    }
}

void word_from_f64(double value, void *words, enum assay_dtype dtype, int64_t index)
{
    switch (dtype) {
    case ASSAY_F32:
        ((float *)words)[index] = (float)value;
        break;
    case ASSAY_BF16:
        ((uint16_t *)words)[index] = bf16_from_f32(f32_round_to_odd(value));
        break;
    default:
        ((uint16_t *)words)[index] = f16_from_f32(f32_round_to_odd(value));
        break;
    }
}

void words_to_f64(const void *words, enum assay_dtype dtype, int64_t count, double *values)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = word_to_f64(words, dtype, i);
}
