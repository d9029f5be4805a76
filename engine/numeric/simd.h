/* SPDX-License-Identifier: MIT
 *
 * Vectors of SIMD_WIDTH binary32 values for the cpu routes. A source that includes this header is
 * compiled once for each instruction set (assay_engine_simd in ctest/modules): SIMD_ISA is avx2 or
 * avx512, SIMD_WIDTH 8 or 16, and SIMD_NAME(rmsnorm_route) is rmsnorm_route_avx2 or ..._avx512.
 *
 * Arithmetic operators work on vf element by element (GCC vector extension). FMA is written out:
 * the compiler never contracts.
 */
#ifndef ASSAY_NUMERIC_SIMD_H
#define ASSAY_NUMERIC_SIMD_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include <assay/tensor.h>

#include "numeric/float_words.h"

#define SIMD_PASTE_(a, b) a##_##b
#define SIMD_PASTE(a, b)  SIMD_PASTE_(a, b)
#define SIMD_NAME(name)   SIMD_PASTE(name, SIMD_ISA)

typedef float vf __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef uint32_t vu __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef double vd __attribute__((vector_size(SIMD_WIDTH * 4))); /* SIMD_WIDTH / 2 values */
enum { SIMD_LANES = SIMD_WIDTH, SIMD_LANES_F64 = SIMD_WIDTH / 2 };

static inline vf vf_set(float x)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_set1_ps(x);
#else
    return (vf)_mm256_set1_ps(x);
#endif
}

static inline vd vd_set(double x)
{
#if SIMD_WIDTH == 16
    return (vd)_mm512_set1_pd(x);
#else
    return (vd)_mm256_set1_pd(x);
#endif
}

static inline vf vf_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vf_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

static inline vd vd_load(const double *p)
{
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vd_store(double *p, vd v)
{
    memcpy(p, &v, sizeof v);
}

/* a * b + c with one rounding */
static inline vf vf_fma(vf a, vf b, vf c)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
}

static inline vd vd_fma(vd a, vd b, vd c)
{
#if SIMD_WIDTH == 16
    return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#else
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
}

/* Lower and upper half of v, widened exactly. */
static inline vd vd_low(vf v)
{
#if SIMD_WIDTH == 16
    return (vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
#else
    return (vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
#endif
}

static inline vd vd_high(vf v)
{
#if SIMD_WIDTH == 16
    return (vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#else
    return (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#endif
}

/* Both halves rounded to binary32. */
static inline vf vf_from_vd(vd low, vd high)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                  _mm512_cvtpd_ps((__m512d)high), 1);
#else
    return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)low)),
                                    _mm256_cvtpd_ps((__m256d)high), 1);
#endif
}

/* Sum of the lanes as a balanced tree: log2(SIMD_WIDTH) additions deep. */
static inline float vf_sum(vf v)
{
    float lane[SIMD_WIDTH];
    vf_store(lane, v);
    for (int width = SIMD_WIDTH / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

static inline double vd_sum(vd v)
{
    double lane[SIMD_WIDTH / 2];
    vd_store(lane, v);
    for (int width = SIMD_WIDTH / 4; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

/* SIMD_WIDTH bf16 or fp16 words, widened. */
static inline vf vf_load_bf16(const uint16_t *p)
{
#if SIMD_WIDTH == 16
    __m256i words;
    memcpy(&words, p, sizeof words);
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16);
#else
    __m128i words;
    memcpy(&words, p, sizeof words);
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16);
#endif
}

static inline vf vf_load_f16(const uint16_t *p)
{
#if SIMD_WIDTH == 16
    __m256i words;
    memcpy(&words, p, sizeof words);
    return (vf)_mm512_cvtph_ps(words);
#else
    __m128i words;
    memcpy(&words, p, sizeof words);
    return (vf)_mm256_cvtph_ps(words);
#endif
}

/* Nearest, ties to even; NaN stays NaN. */
static inline void vf_store_f16(uint16_t *p, vf v)
{
#if SIMD_WIDTH == 16
    __m256i words = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    memcpy(p, &words, sizeof words);
#else
    __m128i words = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    memcpy(p, &words, sizeof words);
#endif
}

static inline void vf_store_bf16(uint16_t *p, vf v)
{
    vu bits = (vu)v;
    vu rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    vu quiet = (bits >> 16) | 0x0040u;
    vu is_nan = (vu)((bits & 0x7fffffffu) > 0x7f800000u);
    vu words = (quiet & is_nan) | (rounded & ~is_nan);
#if SIMD_WIDTH == 16
    __m256i packed = _mm512_cvtepi32_epi16((__m512i)words);
    memcpy(p, &packed, sizeof packed);
#else
    __m256i pairs = _mm256_packus_epi32((__m256i)words, (__m256i)words);
    __m128i packed = _mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0x08));
    memcpy(p, &packed, sizeof packed);
#endif
}

/* SIMD_WIDTH elements from element `index` of a row of any float format. */
static inline vf vf_load_any(const void *row, enum assay_dtype dtype, int64_t index)
{
    if (dtype == ASSAY_F32)
        return vf_load((const float *)row + index);
    if (dtype == ASSAY_BF16)
        return vf_load_bf16((const uint16_t *)row + index);
    return vf_load_f16((const uint16_t *)row + index);
}

static inline void vf_store_any(void *row, enum assay_dtype dtype, int64_t index, vf v)
{
    if (dtype == ASSAY_F32)
        vf_store((float *)row + index, v);
    else if (dtype == ASSAY_BF16)
        vf_store_bf16((uint16_t *)row + index, v);
    else
        vf_store_f16((uint16_t *)row + index, v);
}

/* The first `count` < SIMD_WIDTH elements; the others are 0 and are neither read nor written. */
static inline vf vf_load_tail(const void *row, enum assay_dtype dtype, int64_t index, int64_t count)
{
    unsigned char buffer[SIMD_WIDTH * 4] = {0};
    size_t size = dtype == ASSAY_F32 ? 4 : 2;
    memcpy(buffer, (const char *)row + (size_t)index * size, (size_t)count * size);
    return vf_load_any(buffer, dtype, 0);
}

static inline void vf_store_tail(void *row, enum assay_dtype dtype, int64_t index, int64_t count,
                                 vf v)
{
    unsigned char buffer[SIMD_WIDTH * 4];
    size_t size = dtype == ASSAY_F32 ? 4 : 2;
    vf_store_any(buffer, dtype, 0, v);
    memcpy((char *)row + (size_t)index * size, buffer, (size_t)count * size);
}

static inline vf vf_select(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline vf vf_abs(vf v)
{
    return (vf)((vu)v & 0x7fffffffu);
}

/* Nearest integer, ties to even. */
static inline vf vf_nearest(vf v)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return (vf)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#endif
}

static inline vi vi_from_vf(vf v)
{
#if SIMD_WIDTH == 16
    return (vi)_mm512_cvtps_epi32((__m512)v);
#else
    return (vi)_mm256_cvtps_epi32((__m256)v);
#endif
}

/* exp, relative error at most 2^-22.5 (SIMD_EXP_ERROR, tested over all binary32 arguments in
 * numeric.exp) where the result is normal, half a subnormal step plus that below. x = n ln 2 + r,
 * |r| <= ln 2 / 2; the polynomial is the Taylor series of (exp(r) - 1 - r) / r^2 to r^5, whose
 * remainder is below 2^-27 there. 2^n is applied in two factors, so that subnormal results are
 * rounded once. */
#define SIMD_EXP_ERROR 0x1.6ap-23
static inline vf vf_exp(vf x)
{
    const vf log2e = vf_set(0x1.715476p+0f);
    const vf ln2_high = vf_set(0x1.62e400p-1f); /* 11 trailing zeros: n * ln2_high is exact */
    const vf ln2_low = vf_set(0x1.7f7d1cp-20f);
    vf clamped = vf_select((vi)(x < vf_set(-104.0f)), vf_set(-104.0f), x);
    clamped = vf_select((vi)(clamped > vf_set(89.0f)), vf_set(89.0f), clamped); /* NaN passes */
    vf n = vf_nearest(clamped * log2e);
    vf r = vf_fma(-n, ln2_high, clamped);
    r = vf_fma(-n, ln2_low, r);
    vf p = vf_set(0x1.a01a02p-13f);            /* 1/5040 */
    p = vf_fma(p, r, vf_set(0x1.6c16c2p-10f)); /* 1/720 */
    p = vf_fma(p, r, vf_set(0x1.111112p-7f));  /* 1/120 */
    p = vf_fma(p, r, vf_set(0x1.555556p-5f));  /* 1/24 */
    p = vf_fma(p, r, vf_set(0x1.555556p-3f));  /* 1/6 */
    p = vf_fma(p, r, vf_set(0.5f));
    p = vf_fma(p * r, r, r) + vf_set(1.0f);
    vi exponent = vi_from_vf(n);
    vi first = exponent >> 1, second = exponent - first;
    vf scale_first = (vf)((first + 127) << 23), scale_second = (vf)((second + 127) << 23);
    vf result = p * scale_first * scale_second;
    return vf_select((vi)(x != x), x, result);
}

/* 1 / (1 + exp(-x)) without overflow and with relative accuracy for strongly negative x:
 * relative error at most 2^-21.5 where normal. */
#define SIMD_SIGMOID_ERROR 0x1.6ap-22
static inline vf vf_sigmoid(vf x)
{
    vf t = vf_exp(-vf_abs(x));
    vf one = vf_set(1.0f);
    vf numerator = vf_select((vi)(x < vf_set(0.0f)), t, one);
    vf y = numerator / (one + t);
    return vf_select((vi)(x != x), x, y);
}

#endif
