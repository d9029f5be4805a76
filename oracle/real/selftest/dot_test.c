/* SPDX-License-Identifier: MIT
 *
 * Dot products and sums: exact integers, MPFR, the tightness of the bound, IEEE specials, speed.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "real.h"
#include "test_draw.h"

#define U    0x1p-53
#define MOST 20000

static double a[MOST], b[MOST], magnitudes_a[MOST], magnitudes_b[MOST];

/* |value - exact| <= e, magnitude at least the exact one and at most 1e-11 above it; e at most
 * 1 % above depth u sum|.| (and what underflows may add). */
static void check_against_mpfr(const double *x, const double *y, int n, double lost)
{
    double magnitude = -1;
    struct ball got = y != NULL ? oracle_dot(x, y, n, &magnitude) : oracle_sum(x, n, &magnitude);
    for (int i = 0; i < n; i++) {
        magnitudes_a[i] = fabs(x[i]);
        magnitudes_b[i] = y != NULL ? fabs(y[i]) : 1;
    }
    mpfr_t exact, total;
    mpfr_inits2(300, exact, total, (mpfr_ptr)0);
    oracle_mpfr_dot(exact, x, y, n);
    oracle_mpfr_dot(total, magnitudes_a, magnitudes_b, n);
    mpfr_sub_d(exact, exact, got.v, MPFR_RNDN);
    double error = fabs(mpfr_get_d(exact, MPFR_RNDA));
    cr_assert(mpfr_cmp_d(exact, got.e) <= 0 && mpfr_cmp_d(exact, -got.e) >= 0,
              "n = %d: error %g beyond %g", n, error, got.e);
    cr_assert(mpfr_cmp_d(total, magnitude) <= 0, "n = %d: magnitude below the exact one", n);
    double most = mpfr_get_d(total, MPFR_RNDU);
    cr_assert(magnitude <= most * (1 + 1e-11) + lost, "n = %d: magnitude %g of %g", n, magnitude,
              most);
    double depth = ceil(n / 32.0) + 5;
    cr_assert(got.e <= 1.01 * depth * U * most + lost, "n = %d: e %g, magnitude %g", n, got.e,
              most);
    mpfr_clears(exact, total, (mpfr_ptr)0);
}

Test(dot, random_operands_stay_within_the_bound)
{
    uint64_t state = 3;
    int lengths[] = {0,  1,  2,  3,  7,   8,   31,   32,   33,   63,
                     64, 65, 95, 96, 127, 128, 1000, 4096, 5120, 17408};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int n = lengths[k];
        int trials = n < 200 ? 300 : 5;
        for (int trial = 0; trial < trials; trial++) {
            int spread = trial % 3 == 0 ? 2 : trial % 3 == 1 ? 30 : 200;
            for (int i = 0; i < n; i++) {
                a[i] = draw_scaled(&state, -spread, spread);
                b[i] = draw_scaled(&state, -spread, spread);
            }
            for (int i = 0; trial % 2 == 1 && i + 1 < n; i += 2) { /* nearly all cancels */
                a[i + 1] = -a[i];
                b[i + 1] = nextafter(b[i], 0);
            }
            check_against_mpfr(a, b, n, 0);
            check_against_mpfr(a, NULL, n, 0);
        }
    }
}

Test(dot, underflow_is_bounded)
{
    uint64_t state = 5;
    for (int trial = 0; trial < 2000; trial++) {
        int n = 1 + (int)(draw_bits(&state) % 70);
        for (int i = 0; i < n; i++) {
            a[i] = draw_scaled(&state, -560, -500);
            b[i] = draw_scaled(&state, -560, -500);
        }
        check_against_mpfr(a, b, n, 2 * (n + 2) * DBL_TRUE_MIN);
    }
    a[0] = b[0] = 0x1p-600;
    double magnitude = 0;
    struct ball got = oracle_dot(a, b, 1, &magnitude);
    cr_assert(got.v == 0 && got.e >= DBL_TRUE_MIN && magnitude >= DBL_TRUE_MIN);
    a[0] = 0;
    got = oracle_dot(a, b, 1, &magnitude);
    cr_assert(got.v == 0 && got.e == 0 && magnitude == 0);
}

/* Integers below 2^53 in all partial sums: no rounding at all. */
Test(dot, integers_are_exact)
{
    uint64_t state = 9;
    for (int n = 0; n < 300; n++) {
        int64_t dot = 0, sum = 0, magnitude = 0;
        for (int i = 0; i < n; i++) {
            int64_t x = (int64_t)(draw_bits(&state) % 2001) - 1000;
            int64_t y = (int64_t)(draw_bits(&state) % 2001) - 1000;
            a[i] = (double)x;
            b[i] = (double)y;
            dot += x * y;
            sum += x;
            magnitude += llabs(x * y);
        }
        double got = -1;
        cr_assert_eq(oracle_dot(a, b, n, &got).v, (double)dot, "n = %d", n);
        cr_assert(fabs(got - (double)magnitude) <= 1e-13 * (double)magnitude, "n = %d", n);
        cr_assert_eq(oracle_sum(a, n, NULL).v, (double)sum, "n = %d", n);
    }
}

/* Every addition rounds up by nearly half an ulp: the bound is reached but for a tenth. */
Test(dot, bound_is_tight)
{
    int blocks = 100;
    for (int i = 0; i < 32 * blocks; i++) {
        a[i] = i < 32 ? 1 : U * (1 + 0x1p-20);
        b[i] = 1;
    }
    mpfr_t exact;
    mpfr_init2(exact, 200);
    oracle_mpfr_dot(exact, a, b, 32 * blocks);
    struct ball got = oracle_dot(a, b, 32 * blocks, NULL);
    mpfr_sub_d(exact, exact, got.v, MPFR_RNDN);
    double error = fabs(mpfr_get_d(exact, MPFR_RNDN));
    cr_assert(error <= got.e);
    cr_assert(got.e <= 1.1 * error, "e %g is %g times the error", got.e, got.e / error);
    mpfr_clear(exact);
}

Test(dot, specials_propagate_from_every_place)
{
    for (int n = 1; n < 70; n++) {
        for (int at = 0; at < n; at++) {
            for (int i = 0; i < n; i++) {
                a[i] = 1;
                b[i] = i + 1;
            }
            struct {
                double a, b, expected;
            } cases[] = {{NAN, 1, NAN},
                         {1, NAN, NAN},
                         {INFINITY, 2, INFINITY},
                         {-1, INFINITY, -INFINITY},
                         {INFINITY, 0, NAN}};
            for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
                a[at] = cases[k].a;
                b[at] = cases[k].b;
                struct ball got = oracle_dot(a, b, n, NULL);
                cr_assert(isnan(cases[k].expected) ? isnan(got.v) : got.v == cases[k].expected,
                          "n = %d, at %d: %g", n, at, got.v);
                cr_assert_eq(got.e, 0);
            }
            a[at] = INFINITY;
            cr_assert_eq(oracle_sum(a, n, NULL).v, INFINITY);
            a[n - 1 - at] = -INFINITY;
            if (at != n - 1 - at) {
                cr_assert(isnan(oracle_sum(a, n, NULL).v));
            }
        }
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* The floor is a third of the promise: a loaded machine must not fail, a lost vectorisation must.
 */
Test(dot, speed)
{
    int n = 5120;
    uint64_t state = 11;
    for (int i = 0; i < n; i++) {
        a[i] = draw_scaled(&state, -4, 4);
        b[i] = draw_scaled(&state, -4, 4);
    }
    double best = 0;
    double total = 0;
    for (int round = 0; round < 10; round++) {
        double start = seconds();
        for (int repeat = 0; repeat < 1000; repeat++) {
            double magnitude = 0;
            total += oracle_dot(a, b, n, &magnitude).v + magnitude;
        }
        best = fmax(best, 1000.0 * n / (seconds() - start) * 1e-9);
    }
    cr_assert(isfinite(total));
    printf("oracle_dot: %.2f billion multiply-adds a second\n", best);
#ifndef SANITIZED
    cr_assert(best >= 0.1, "%g billion multiply-adds a second", best);
#endif
}
