/* SPDX-License-Identifier: MIT
 *
 * oracle.noise: random rounding gives one of the two neighbours, with the chances of an unbiased
 * draw, leaves what the format has, and adds up in sums as theory says.
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>

#include <assay/tensor.h>

#include "noise.h"
#include "real.h"

Test(oracle_noise, neighbours)
{
    oracle_noise_begin(1);
    for (int i = 0; i < 20000; i++) {
        const double v = ldexp(1 + (double)i / 7e4, i % 300 - 160) * (i % 2 == 0 ? 1 : -1);
        const double drawn = oracle_noisy(v);
        const float nearest = (float)v;
        const float below = (double)nearest <= v ? nearest : nextafterf(nearest, -INFINITY);
        const float above = (double)nearest >= v ? nearest : nextafterf(nearest, INFINITY);
        if (fabs(v) < 0x1p127)
            cr_assert(drawn == (double)below || drawn == (double)above, "%a gives %a", v, drawn);
        cr_assert(oracle_noisy((double)nearest) == (double)nearest);
    }
    cr_assert(isnan(oracle_noisy(NAN)) && oracle_noisy(INFINITY) == INFINITY);
    cr_assert(oracle_noisy(DBL_MAX) == DBL_MAX && oracle_noisy(0.0) == 0.0);
    cr_assert(fabs(oracle_noise_output(0x1.01p0 + 0x1p-10, ASSAY_BF16) - 0x1.01p0) <= 0x1p-7);
    cr_assert(fabs(oracle_noise_output(1 + 0x1p-12, ASSAY_F16) - 1) <= 0x1p-10);
    cr_assert(oracle_noise_output(1.3, ASSAY_I32) == 1.3);
    oracle_noise_end();
    cr_assert(oracle_noisy(1 + 0x1p-30) == 1 + 0x1p-30, "still on");
}

/* A value at share p of the way up goes up with chance p: six standard deviations of a count. */
Test(oracle_noise, chances)
{
    enum { DRAWS = 40000 };
    oracle_noise_begin(7);
    for (int eighth = 1; eighth < 8; eighth++) {
        const double p = eighth / 8.0, v = 1 + p * 0x1p-23;
        int up = 0;
        for (int i = 0; i < DRAWS; i++)
            up += oracle_noisy(v) > 1;
        cr_assert(fabs(up - p * DRAWS) <= 6 * sqrt(DRAWS * p * (1 - p)), "%d at %g", up, p);
    }
    oracle_noise_end();
}

/* Sums of n terms near 1 with a sum near n: each of n additions is off by at most one ulp, of
 * variance ulp^2 / 6 on average, and the ulps of the last octaves count for most. */
Test(oracle_noise, sums)
{
    enum { TERMS = 1 << 12, DRAWS = 64 };
    static double a[TERMS], b[TERMS];
    double squares = 0, magnitude, first = 0;
    for (int i = 0; i < TERMS; i++) {
        a[i] = 0.5 + (double)(i * 37 % 101) / 101 + 0x1p-40 * (i % 97);
        b[i] = 1;
    }
    const double exact = oracle_dot(a, b, TERMS, &magnitude).v;
    for (int i = 0; i < DRAWS; i++) {
        oracle_noise_begin((uint64_t)i);
        const double drawn = oracle_dot(a, b, TERMS, &magnitude).v;
        first = i == 0 ? drawn : first;
        squares += (drawn - exact) * (drawn - exact);
    }
    oracle_noise_begin(0);
    cr_assert(oracle_dot(a, b, TERMS, &magnitude).v == first, "a seed's draws are its own");
    oracle_noise_end();
    cr_assert(oracle_dot(a, b, TERMS, &magnitude).v == exact);
    /* Half of the terms are added at the last octave's ulp, 2^(11-23), a quarter at half of it: the
     * variance is n / 2 (1 + 1/8 + ...) ulp^2 / 6. */
    const double ulp = 0x1p-12, theory = sqrt(TERMS / 2.0 * (8.0 / 7) / 6) * ulp;
    const double rms = sqrt(squares / DRAWS);
    cr_assert(rms > theory / 2 && rms < theory * 2, "rms %g, theory %g", rms, theory);
}
