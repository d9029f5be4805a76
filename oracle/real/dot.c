/* SPDX-License-Identifier: MIT
 *
 * Sums and dot products in binary64 with their own error bounds.
 *
 * Association. Element i is added to lane i mod 32 (four accumulators of eight lanes, the last
 * block padded with zeros), then lanes are halved: 16 onto 16, 8 onto 8, ... 1 onto 1. The order is
 * the same for every instruction set, so the result has the same bits everywhere.
 *
 * Bound. An element passes through ceil(n/32) - 1 additions in its lane (the first is onto zero,
 * which is exact) and one addition at each level where both sides hold elements: log2(min(n, 32))
 * rounded up. A product adds one rounding. With d of them and u = 2^-53, the sum's error is at most
 * gamma(d) sum|a_i b_i| (Higham, Accuracy and Stability, section 3.1), gamma(d) = d u / (1 - d u),
 * and the computed sum of magnitudes is at least (1 - gamma(d)) times the exact one. Each product
 * that underflows may add 2^-1075 to both.
 *
 * NaN and infinity in the operands reach the result in any order: NaN stays NaN, infinities of one
 * sign stay, of both signs give NaN. Only finite operands whose partial sums overflow could depend
 * on the order; products of binary32 values are far from that.
 */
#include "real.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "noise.h"

#define U            0x1p-53
#define LANES        8
#define ACCUMULATORS 4
#define BLOCK        (LANES * ACCUMULATORS)

/* The vector types are wider than some targets' registers: the compiler splits them. */
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef double loose __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef long long mask __attribute__((vector_size(LANES * sizeof(double))));

struct lanes {
    double sum[BLOCK];
    double magnitude[BLOCK];
};

#define INLINE static inline __attribute__((always_inline))

/* Adds `blocks` blocks of a_i b_i (b == NULL: a_i) to the lanes. */
INLINE void add_blocks(const double *a, const double *b, int64_t blocks, struct lanes *lanes)
{
    const mask all_but_sign = (mask){0} + 0x7fffffffffffffffLL;
    vector sum[ACCUMULATORS];
    vector magnitude[ACCUMULATORS];
    memcpy(sum, lanes->sum, sizeof sum);
    memcpy(magnitude, lanes->magnitude, sizeof magnitude);
    for (int64_t block = 0; block < blocks; block++) {
        for (int j = 0; j < ACCUMULATORS; j++) {
            vector term = *(const loose *)(a + block * BLOCK + j * LANES);
            if (b != NULL) {
                term *= *(const loose *)(b + block * BLOCK + j * LANES);
            }
            sum[j] += term;
            magnitude[j] += (vector)((mask)term & all_but_sign);
        }
    }
    memcpy(lanes->sum, sum, sizeof sum);
    memcpy(lanes->magnitude, magnitude, sizeof magnitude);
}

/* One body, compiled for each instruction set. */
#define DEFINE_KERNELS(isa, attribute)                                                \
    attribute static void dot_##isa(const double *a, const double *b, int64_t blocks, \
                                    struct lanes *lanes)                              \
    {                                                                                 \
        add_blocks(a, b, blocks, lanes);                                              \
    }                                                                                 \
    attribute static void sum_##isa(const double *a, const double *b, int64_t blocks, \
                                    struct lanes *lanes)                              \
    {                                                                                 \
        (void)b;                                                                      \
        add_blocks(a, NULL, blocks, lanes);                                           \
    }

typedef void (*kernel)(const double *a, const double *b, int64_t blocks, struct lanes *lanes);

DEFINE_KERNELS(plain, )
#if defined(__x86_64__)
DEFINE_KERNELS(avx2, __attribute__((target("avx2"))))
DEFINE_KERNELS(avx512, __attribute__((target("avx512f"))))
#endif

static kernel choose(int products)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return products ? dot_avx512 : sum_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return products ? dot_avx2 : sum_avx2;
    }
#endif
    return products ? dot_plain : sum_plain;
}

static double halve(double *lane)
{
    for (int width = BLOCK / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            lane[i] += lane[i + width];
        }
    }
    return lane[0];
}

/* Products that may have lost up to 2^-1075: nonzero operands, result below the normal range. */
static double underflows(const double *a, const double *b, int64_t n)
{
    double count = 0;
    for (int64_t i = 0; i < n; i++) {
        count += a[i] != 0 && b[i] != 0 && fabs(a[i] * b[i]) < DBL_MIN;
    }
    return count;
}

/* Roundings that one element passes through. */
static double depth(int64_t n, int64_t blocks, int products)
{
    int levels = 0;
    while (levels < 5 && (INT64_C(1) << levels) < n) {
        levels++;
    }
    return (double)(blocks - 1 + levels + products);
}

/* Random rounding: one term after the other. */
static struct ball accumulate_noisily(const double *a, const double *b, int64_t n,
                                      double *magnitude)
{
    double sum = 0, total = 0;
    for (int64_t i = 0; i < n; i++) {
        const double term = b == NULL ? a[i] : oracle_noisy(a[i] * b[i]);
        sum = oracle_noisy(sum + term);
        total += fabs(term);
    }
    if (magnitude != NULL)
        *magnitude = total;
    return ball_exact(sum);
}

static struct ball accumulate(const double *a, const double *b, int64_t n, double *magnitude)
{
    int products = b != NULL;
    if (n <= 0) {
        if (magnitude != NULL) {
            *magnitude = 0;
        }
        return ball_exact(0);
    }
    if (oracle_noise_on)
        return accumulate_noisily(a, b, n, magnitude);
    struct lanes lanes;
    memset(&lanes, 0, sizeof lanes);
    kernel run = choose(products);
    int64_t whole = n / BLOCK;
    run(a, b, whole, &lanes);
    int64_t rest = n - whole * BLOCK;
    if (rest > 0) {
        double last_a[BLOCK] = {0};
        double last_b[BLOCK] = {0};
        memcpy(last_a, a + whole * BLOCK, (size_t)rest * sizeof *a);
        if (products) {
            memcpy(last_b, b + whole * BLOCK, (size_t)rest * sizeof *b);
        }
        run(last_a, last_b, 1, &lanes);
    }
    double value = halve(lanes.sum);
    double total = halve(lanes.magnitude);

    /* Above 2^-900 what underflow takes is below the slack of the inflation. One more tiny is for
     * the underflow of the bound itself. */
    double lost = 0;
    if (total < 0x1p-900) {
        double count = products ? underflows(a, b, n) : 0;
        lost = total > 0 || count > 0 ? (count + 1) * DBL_TRUE_MIN : 0;
    }
    double d = depth(n, whole + (rest > 0), products);
    double gamma = d * U / (1 - d * U);
    double most = (total + lost) / (1 - gamma);
    if (magnitude != NULL) {
        *magnitude = d > 0 ? most * (1 + 8 * U) : total;
    }
    return ball_make(value, d > 0 ? (gamma * most + lost) * (1 + 16 * U) : 0);
}

struct ball oracle_dot(const double *a, const double *b, int64_t n, double *magnitude)
{
    return accumulate(a, b, n, magnitude);
}

struct ball oracle_sum(const double *a, int64_t n, double *magnitude)
{
    return accumulate(a, NULL, n, magnitude);
}
