/* SPDX-License-Identifier: MIT
 *
 * The shared lemmas: hand-computed values, and the statistics they claim.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "../../real/selftest/test_draw.h"
#include "bounds.h"
#include "words.h"

static int64_t eighth(int64_t inner_length)
{
    return inner_length / 8;
}

Test(bounds, gamma_and_depth)
{
    cr_assert_eq(oracle_gamma(0, ORACLE_U32), 0);
    cr_assert_eq(oracle_gamma(0x1p24, ORACLE_U32), INFINITY);
    cr_assert_eq(oracle_gamma(1e9, ORACLE_U32), INFINITY);
    for (int n = 1; n < 100000; n += 37) {
        long double nu = (long double)n * 0x1p-24L;
        long double exact = nu / (1 - nu);
        cr_assert((long double)oracle_gamma(n, ORACLE_U32) >= exact, "%d", n);
        cr_assert((long double)oracle_gamma(n, ORACLE_U32) <= exact * (1 + 0x1p-47L), "%d", n);
    }
    struct oracle_route route = {ASSAY_PROFILE_F32, NULL};
    cr_assert_eq(oracle_depth(&route, 640), 640);
    cr_assert_eq(oracle_depth(NULL, 640), 640);
    route.depth = eighth;
    cr_assert_eq(oracle_depth(&route, 640), 80);
}

/* The OUTPUT term covers the rounding of everything that the other terms allow. */
Test(bounds, output_rounding)
{
    enum { COUNT = 6 };
    double value[COUNT] = {1.0, 1.9999, 0, 0x1p-26, 65519, NAN};
    double own[COUNT] = {0};
    double accumulation[COUNT] = {0, 0.001, 0, 0, 1, 1};
    double input[COUNT] = {0};
    double rounding[COUNT] = {0};
    struct oracle_output output = {.dtype = ASSAY_F16, .count = COUNT, .value = value, .own = own};
    output.term[ORACLE_TERM_ACCUMULATION] = accumulation;
    output.term[ORACLE_TERM_INPUT] = input;
    output.term[ORACLE_TERM_OUTPUT] = rounding;
    oracle_bound_output_rounding(&output);
    cr_assert_eq(rounding[0], 0x1p-11);
    cr_assert_eq(rounding[1], 0x1p-10, "1.9999 + 0.001 is in the next binade");
    cr_assert_eq(rounding[2], 0);
    cr_assert(rounding[3] >= 0x1p-26 && rounding[3] < 0x1.01p-26, "rounds to zero");
    cr_assert_eq(rounding[4], INFINITY, "may round to infinity");
    cr_assert_eq(rounding[5], 0);
    own[0] = 1.5;
    oracle_bound_output_rounding(&output);
    cr_assert_eq(rounding[0], 0x1p-10, "own error counts");
    own[0] = 0;
    rounding[0] = 5;
    oracle_bound_output_rounding(&output);
    cr_assert_eq(rounding[0], 0x1p-11, "the old OUTPUT term does not count");
}

/* Largest root mean square error, in half ulps of bf16, of rounding 1,000 values with `bits` more
 * significand bits than bf16, in 2,000 trials. */
static double worst_rms(int bits)
{
    uint64_t state = 7;
    double worst = 0;
    for (int trial = 0; trial < 2000; trial++) {
        double squares = 0;
        for (int i = 0; i < 1000; i++) {
            double grid = ldexp(1, 7 + bits);
            double v = floor(draw_between(&state, 1, 2) * grid) / grid;
            double error = (oracle_round(v, ASSAY_BF16) - v) / oracle_half_ulp(v, ASSAY_BF16);
            squares += error * error;
        }
        worst = fmax(worst, sqrt(squares / 1000));
    }
    return worst;
}

/* The share holds on every grid, and is within 10 % of what the coarsest one reaches. */
Test(bounds, rms_share)
{
    cr_assert_eq(oracle_rms_share_rounding(0), 1);
    cr_assert_eq(oracle_rms_share_rounding(1), 1);
    cr_assert(fabs(oracle_rms_share_rounding(INT64_C(1) << 40) - sqrt(0.5)) < 1e-5);
    cr_assert(fabs(oracle_rms_share_rounding(1000) - 0.771277) < 1e-6);
    double share = oracle_rms_share_rounding(1000), worst = 0;
    const int bits[] = {1, 2, 3, 8, 40};
    for (int i = 0; i < 5; i++) {
        worst = fmax(worst, worst_rms(bits[i]));
    }
    cr_assert(worst <= share, "%g of %g", worst, share);
    cr_assert(worst * 1.1 > share, "%g of %g", worst, share);
}

Test(bounds, rms_shares_of_an_output)
{
    static double rounding[1024];
    struct oracle_output output = {.dtype = ASSAY_BF16, .count = 1024};
    output.term[ORACLE_TERM_OUTPUT] = rounding;
    for (int i = 0; i < 1024; i++) {
        rounding[i] = 0x1p-30; /* sums and quotients below are exact */
    }
    oracle_bound_rms(&output, true, 3600);
    for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
        double expected = t == ORACLE_TERM_OUTPUT         ? oracle_rms_share_rounding(1024)
                          : t == ORACLE_TERM_ACCUMULATION ? 0.1
                                                          : 1;
        cr_assert(fabs(output.rms_share[t] - expected) < 1e-15, "%d: %g", t, output.rms_share[t]);
    }
    oracle_bound_rms(&output, true, 16);
    cr_assert_eq(output.rms_share[ORACLE_TERM_ACCUMULATION], 1);
    for (int i = 0; i < 1024; i++) {
        rounding[i] = i < 64 ? 0x1p10 : i == 64 ? INFINITY : 0x1p-30; /* 64 carry the norm */
    }
    oracle_bound_rms(&output, true, 16);
    double carried = output.rms_share[ORACLE_TERM_OUTPUT];
    cr_assert(fabs(carried - oracle_rms_share_rounding(64)) < 1e-2, "%g", carried);
    rounding[0] = 0x1p40; /* one element: nothing averages out */
    oracle_bound_rms(&output, true, 16);
    cr_assert_eq(output.rms_share[ORACLE_TERM_OUTPUT], 1);
    oracle_bound_rms(&output, false, 3600);
    for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
        cr_assert_eq(output.rms_share[t], 1);
    }
    cr_assert_not(oracle_inputs_independent());
    oracle_set_inputs_independent(true);
    cr_assert(oracle_inputs_independent());
    oracle_set_inputs_independent(false);
    cr_assert_not(oracle_inputs_independent());
}
