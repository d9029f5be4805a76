/* SPDX-License-Identifier: MIT
 *
 * quality.divergence: KL divergence, agreement and the right token's probability against hand
 * computation, against the direct sum in a wider format, and against theory.
 */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "distribution.h"
#include "gate_random.h"

enum { VOCAB = 2048 };

static struct distribution_change compare(const double *base, const double *other, int64_t count,
                                          int32_t target)
{
    struct distribution a, b;
    cr_assert(distribution_alloc(&a, count) && distribution_alloc(&b, count));
    distribution_of_f64(&a, base);
    distribution_of_f64(&b, other);
    const struct distribution_change change = distribution_compare(&a, &b, target);
    distribution_free(&a);
    distribution_free(&b);
    return change;
}

static void close_to(double found, double expected, double relative, const char *what)
{
    cr_assert(fabs(found - expected) <= relative * fabs(expected), "%s: %.17g, expected %.17g",
              what, found, expected);
}

/* sum p (log p - log q) as it is written, in 64-bit significands. */
static double direct(const double *base, const double *other, int64_t count)
{
    long double sums[2] = {0, 0}, kl = 0;
    for (int64_t i = 0; i < count; i++) {
        sums[0] += expl((long double)base[i]);
        sums[1] += expl((long double)other[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        const long double p = (long double)base[i] - logl(sums[0]);
        const long double q = (long double)other[i] - logl(sums[1]);
        kl += expl(p) * (p - q);
    }
    return (double)kl;
}

Test(quality_divergence, by_hand)
{
    /* p = (1/2, 1/2), q = (1/4, 3/4): KL = ln 2 - ln(3) / 2, and back ln(27/16) / 4. */
    const double half[] = {1.0, 1.0}, quarter[] = {0.0, log(3.0)};
    struct distribution_change change = compare(half, quarter, 2, 0);
    close_to(change.kl, 0.14384103622589045, 1e-14, "KL(p, q)");
    close_to(change.right, -0.25, 1e-15, "right");
    close_to(compare(quarter, half, 2, 1).kl, 0.13081203594113694, 1e-14, "KL(q, p)");
    cr_assert_not(compare(quarter, half, 2, 1).same_top); /* of equals the smaller id is first */
    cr_assert_eq(compare(quarter, half, 2, 1).shared_top, 2);
    /* A token that q excludes makes it infinite, one that p excludes does not: ln 2. */
    const double certain[] = {0.0, -INFINITY};
    cr_assert(isinf(compare(half, certain, 2, 0).kl));
    close_to(compare(certain, half, 2, 0).kl, M_LN2, 1e-15, "one excluded");
    /* Not a distribution. */
    const double nan[] = {0.0, NAN}, infinite[] = {0.0, INFINITY}, none[] = {-INFINITY, -INFINITY};
    cr_assert(isnan(compare(half, nan, 2, 0).kl) && isnan(compare(nan, half, 2, 0).kl));
    cr_assert(isnan(compare(half, infinite, 2, 0).kl) && isnan(compare(half, none, 2, 0).kl));
    /* Ranks: 7 tokens, ties at the border of the five. */
    const double ranks[] = {1, 5, 3, 3, 2, 2, 2}, others[] = {1, 5, 3, 3, 1, 2, 2};
    struct distribution d;
    cr_assert(distribution_alloc(&d, 7));
    distribution_of_f64(&d, ranks);
    static const int32_t expected[] = {1, 2, 3, 4, 5};
    cr_assert_eq(memcmp(d.top, expected, sizeof expected), 0);
    distribution_free(&d);
    change = compare(ranks, others, 7, 0);
    cr_assert(change.same_top && change.shared_top == 4);
    /* Logits of any size: the largest goes first. */
    const double large[] = {7000.0, 6999.0}, small[] = {-7000.0, -7001.0};
    cr_assert_eq(compare(large, small, 2, 0).kl, 0.0);
}

Test(quality_divergence, against_the_direct_sum)
{
    struct gate_random random = {.state = 5};
    static double base[VOCAB], other[VOCAB];
    for (int round = 0; round < 60; round++) {
        /* 0.01 to 80: below, rounding the sums' logarithms disturbs the direct sum. */
        const double change = pow(10.0, -2.0 + 0.065 * round);
        for (int i = 0; i < VOCAB; i++) {
            base[i] = 10.0 * ((double)gate_random_below(&random, 1 << 20) * 0x1p-20 - 0.5);
            other[i] =
                base[i] + change * ((double)gate_random_below(&random, 1 << 20) * 0x1p-20 - 0.5);
        }
        close_to(compare(base, other, VOCAB, 0).kl, direct(base, other, VOCAB), 1e-9, "direct sum");
        cr_assert_eq(compare(base, base, VOCAB, 0).kl, 0.0);
    }
    /* Much closer ones, where every direct sum is noise: KL = Var_p(d) / 2 + O(d^3). */
    for (int i = 0; i < VOCAB; i++)
        other[i] = base[i] + 1e-8 * sin(i);
    double mean = 0, square = 0, total = 0, largest = -INFINITY;
    for (int i = 0; i < VOCAB; i++)
        largest = fmax(largest, base[i]);
    for (int i = 0; i < VOCAB; i++) {
        const double p = exp(base[i] - largest), d = other[i] - base[i];
        total += p;
        mean += p * d;
        square += p * d * d;
    }
    mean /= total;
    close_to(compare(base, other, VOCAB, 0).kl, 0.5 * (square / total - mean * mean), 1e-6,
             "second order");
}

/* Logits of a normal distribution on the integers. For widths far above the grid and far below the
 * vocabulary its sums are those of the density, but for terms of order exp(-2 pi^2 s^2). */
static void gaussian(double centre, double width, double *logits)
{
    for (int i = 0; i < VOCAB; i++)
        logits[i] = -0.5 * (i - centre) * (i - centre) / (width * width);
}

Test(quality_divergence, against_theory)
{
    static double base[VOCAB], other[VOCAB];
    static const double shapes[][4] = {
        {1000, 30, 1007, 30}, {1000, 30, 1000.01, 30}, {900, 20, 1000, 50}, {1000, 50, 990, 49.5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double m = shapes[i][0], s = shapes[i][1], n = shapes[i][2], t = shapes[i][3];
        gaussian(m, s, base);
        gaussian(n, t, other);
        const double theory = log(t / s) + (s * s + (m - n) * (m - n)) / (2 * t * t) - 0.5;
        close_to(compare(base, other, VOCAB, 0).kl, theory, 1e-7, "two normal distributions");
    }
    /* The check sees a clipped tail: log-probabilities cut at 16 below the largest (B211). */
    gaussian(1000, 30, base);
    gaussian(1100, 30, other);
    const double theory = 100.0 * 100.0 / (2 * 30.0 * 30.0);
    close_to(compare(base, other, VOCAB, 0).kl, theory, 1e-9, "far apart");
    for (int i = 0; i < VOCAB; i++)
        other[i] = fmax(other[i], -16.0);
    cr_assert_gt(fabs(compare(base, other, VOCAB, 0).kl - theory), 1e-3 * theory);
}
