/* SPDX-License-Identifier: MIT
 *
 * Multiply-adds in registers: twelve chains hide the latency of two units of four cycles.
 */
#include "tools/bench_kernels.h"

#if defined(ASSAY_SIMD)
#include <immintrin.h>
#endif

enum { STEPS = 500000, CHAINS = 12 }; /* milliseconds: a thread start is lost in them */

static volatile float sink; /* keeps the results alive */

#if defined(ASSAY_SIMD)
__attribute__((target("avx512f"))) static void madds_avx512(void)
{
    __m512 chain[CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++)
        chain[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], a, b);
    }
    float total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += _mm512_cvtss_f32(chain[i]);
    sink = total;
}

__attribute__((target("avx2,fma"))) static void madds_avx2(void)
{
    __m256 chain[CHAINS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++)
        chain[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], a, b);
    }
    float total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += _mm256_cvtss_f32(chain[i]);
    sink = total;
}
#endif

static void madds_portable(void)
{
    float chain[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        chain[i] = (float)i;
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < CHAINS; i++)
            chain[i] = chain[i] * 0.999f + 0.001f;
    float total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += chain[i];
    sink = total;
}

void bench_madds(enum assay_isa isa)
{
#if defined(ASSAY_SIMD)
    if (isa == ASSAY_ISA_AVX512) {
        madds_avx512();
        return;
    }
    if (isa == ASSAY_ISA_AVX2) {
        madds_avx2();
        return;
    }
#endif
    (void)isa;
    madds_portable();
}

double bench_madds_count(enum assay_isa isa)
{
    double width = isa == ASSAY_ISA_AVX512 ? 16 : isa == ASSAY_ISA_AVX2 ? 8 : 1;
    return width * STEPS * CHAINS;
}
