/* SPDX-License-Identifier: MIT
 *
 * The verdict on hand-made outputs: every finding, the limits of each, and the numbers it reports.
 * Expected values follow from the definitions in verdict.h.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"

static const float top = 0x1.fffffep127f; /* the largest finite binary32 value */

/* One error of 2^-14 in a million elements of magnitude 1: relative L2 about 2^-14 / 10^3, which is
 * a sixteenth of the allowance of about 2^-20, but 64 times the element's bound. */
Test(verdict, one_element_in_a_million)
{
    struct planted p = planted_new(ASSAY_F32, 1000000);
    for (int64_t i = 0; i < p.reference.count; i++)
        planted_set(&p, i, 1 + ldexp((double)(i % 128), -7), 0x1p-20);
    struct verdict v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS, "%s", v.message);
    cr_assert_eq(v.count, 1000000);
    p.actual[777777] += 0x1p-14f;
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_ELEMENT, "%s", verdict_finding_name(v.finding));
    cr_assert_eq(v.worst_index, 777777);
    cr_assert_float_eq(v.worst_ratio, 64, 1e-9);
    cr_assert(v.relative_l2 < v.allowance / 10, "L2 %g of %g sees it too", v.relative_l2,
              v.allowance);
    cr_assert_not_null(strstr(v.message, "y[777777]"));
    planted_free(&p);
}

/* value of the oracle, value of the route, what must be found. Bounds are 2^-20. */
Test(verdict, pattern_of_nan_and_infinity)
{
    const struct {
        double reference;
        float actual;
        enum verdict_finding finding;
    } rows[] = {
        {1, NAN, VERDICT_NONFINITE},
        {NAN, 1, VERDICT_NONFINITE},
        {NAN, NAN, VERDICT_PASS},
        {NAN, INFINITY, VERDICT_NONFINITE},
        {INFINITY, NAN, VERDICT_NONFINITE},
        {INFINITY, INFINITY, VERDICT_PASS},
        {INFINITY, -INFINITY, VERDICT_NONFINITE},
        {-INFINITY, INFINITY, VERDICT_NONFINITE},
        {-INFINITY, -INFINITY, VERDICT_PASS},
        {INFINITY, top, VERDICT_NONFINITE},
        {1, INFINITY, VERDICT_NONFINITE},
        {-1, -INFINITY, VERDICT_NONFINITE},
        {0, NAN, VERDICT_NONFINITE},
    };
    /* A bound that is NaN or infinite must not hide the pattern. */
    const double bounds[] = {0x1p-20, INFINITY, NAN};
    for (size_t b = 0; b < 3; b++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            if (b > 0 && isfinite(rows[i].reference))
                continue; /* no promise about this element */
            struct planted p = planted_new(ASSAY_F32, 9);
            for (int64_t e = 0; e < 9; e++)
                planted_set(&p, e, 1, 0x1p-20);
            p.reference.value[4] = rows[i].reference;
            p.reference.term[ORACLE_TERM_PRODUCTS][4] = bounds[b];
            p.actual[4] = rows[i].actual;
            struct verdict v = planted_compare(&p, 1, false);
            cr_assert_eq(v.finding, rows[i].finding, "oracle %g, route %g, bound %g: %s",
                         rows[i].reference, (double)rows[i].actual, bounds[b],
                         verdict_finding_name(v.finding));
            if (v.finding != VERDICT_PASS)
                cr_assert_not_null(strstr(v.message, "y[4]"));
            planted_free(&p);
        }
    }
}

/* Rounding to nearest gives infinity from half an ulp above the largest finite value on. */
Test(verdict, overflow_threshold)
{
    const struct {
        enum assay_dtype dtype;
        double top, half_ulp;
    } formats[] = {{ASSAY_F32, 0x1.fffffep127, 0x1p103},
                   {ASSAY_BF16, 0x1.fep127, 0x1p119},
                   {ASSAY_F16, 65504, 16}};
    for (size_t f = 0; f < 3; f++) {
        double edge = formats[f].top + formats[f].half_ulp, below = nextafter(edge, 0);
        const struct {
            double reference, products;
            bool infinite; /* what the route gives: infinity or the largest finite value */
            bool good;
        } rows[] = {
            {edge, 0, true, true},
            {edge, 0, false, false}, /* must overflow */
            {below, 0, true, false},
            {below, 0, false, true},           /* must not */
            {below, edge - below, true, true}, /* within its bound it may, or not */
            {below, edge - below, false, true},
        };
        for (int negative = 0; negative < 2; negative++) {
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                double sign = negative ? -1 : 1;
                struct planted p = planted_new(formats[f].dtype, 3);
                for (int64_t e = 0; e < 3; e++)
                    planted_set(&p, e, 1, 0);
                p.reference.value[1] = sign * rows[i].reference;
                p.reference.term[ORACLE_TERM_PRODUCTS][1] = rows[i].products;
                p.reference.term[ORACLE_TERM_OUTPUT][1] = INFINITY; /* as oracle_half_ulp says */
                planted_put(&p, 1, sign * (rows[i].infinite ? INFINITY : formats[f].top));
                struct verdict v = planted_compare(&p, 1, false);
                cr_assert_eq(v.finding, rows[i].good ? VERDICT_PASS : VERDICT_NONFINITE,
                             "format %zu row %zu sign %g: %s %s", f, i, sign,
                             verdict_finding_name(v.finding), v.message);
                planted_put(&p, 1, -sign * INFINITY);
                v = planted_compare(&p, 1, false);
                cr_assert_eq(v.finding, VERDICT_NONFINITE, "the wrong infinity passes");
                planted_free(&p);
            }
        }
    }
}

/* Each element errs by 0.9 of its half ulp, to the same side: within every element's bound, but
 * independent roundings of this size have a root mean square of 1/sqrt(3) of it. */
Test(verdict, systematic_bias)
{
    struct planted p = planted_new(ASSAY_F32, 4096);
    const double half = 0x1p-9;
    for (int64_t i = 0; i < 4096; i++) {
        planted_set(&p, i, 1 + ldexp((double)(i % 64), -6), half);
        p.actual[i] += (float)(0.9 * half);
    }
    struct verdict v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS, "a share of 1 claims nothing: %s", v.message);
    p.reference.rms_share[ORACLE_TERM_PRODUCTS] = 0.58;
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_RELATIVE_L2, "%s", verdict_finding_name(v.finding));
    cr_assert(v.worst_ratio < 1, "no element is beyond its bound");
    cr_assert_float_eq(v.relative_l2 / v.allowance, 0.9 / 0.58, 1e-3);
    /* The same size, independent: uniform between -half and half. */
    for (int64_t i = 0; i < 4096; i++)
        p.actual[i] =
            (float)(p.reference.value[i] + half * ((double)(i * 2654435761 % 4096) / 2048 - 1));
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS, "%s", v.message);
    /* The ceiling holds whatever the terms say. */
    v = planted_compare(&p, 1e-6, false);
    cr_assert_eq(v.finding, VERDICT_RELATIVE_L2);
    cr_assert_eq(v.allowance, 1e-6);
    planted_free(&p);
}

Test(verdict, exact)
{
    struct planted p = planted_new(ASSAY_F32, 64);
    for (int64_t i = 0; i < 64; i++)
        planted_set(&p, i, (double)(i % 9) - 4, 1);
    struct verdict v = planted_compare(&p, 1, true);
    cr_assert_eq(v.finding, VERDICT_PASS, "%s", v.message);
    p.actual[4] = -0.0f; /* reference +0: signs of zero apart */
    v = planted_compare(&p, 1, true);
    cr_assert_eq(v.finding, VERDICT_PASS, "%s", v.message);
    p.actual[60] = nextafterf(p.actual[60], 9);
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS, "within the bound of 1");
    v = planted_compare(&p, 1, true);
    cr_assert_eq(v.finding, VERDICT_INEXACT);
    cr_assert_not_null(strstr(v.message, "y[60]"));
    /* A later NaN does not take over the message of the first finding. */
    p.actual[61] = NAN;
    v = planted_compare(&p, 1, true);
    cr_assert_eq(v.finding, VERDICT_INEXACT);
    cr_assert_not_null(strstr(v.message, "y[60]"), "%s", v.message);
    planted_free(&p);
}

Test(verdict, integers)
{
    int32_t actual[5] = {3, -1, INT32_MAX, 7, 0};
    struct oracle_output o;
    cr_assert(oracle_output_create(&o, "index", ASSAY_I32, 5));
    for (int i = 0; i < 5; i++)
        o.value[i] = actual[i];
    struct assay_tensor tensor = assay_tensor_1d(actual, ASSAY_I32, 5);
    struct verdict v;
    verdict_compare(&tensor, &o, 1, false, &v);
    cr_assert_eq(v.finding, VERDICT_PASS);
    cr_assert_eq(v.count, 5);
    cr_assert_eq(v.nonzero, 4);
    o.value[3] = 8;
    verdict_compare(&tensor, &o, 1, false, &v);
    cr_assert_eq(v.finding, VERDICT_ELEMENT);
    cr_assert_eq(v.worst_index, 3);
    cr_assert_not_null(strstr(v.message, "index[3] is 7, expected 8"), "%s", v.message);
    o.alternative[3] = 7;
    verdict_compare(&tensor, &o, 1, false, &v);
    cr_assert_eq(v.finding, VERDICT_PASS, "the alternative is as good");
    oracle_output_destroy(&o);
}

/* Elements without a promise are left out, but a majority of them is no evidence. */
Test(verdict, infinite_and_zero_bounds)
{
    struct planted p = planted_new(ASSAY_F32, 10);
    for (int64_t i = 0; i < 10; i++)
        planted_set(&p, i, 2, i < 5 ? INFINITY : 0x1p-20);
    p.actual[0] = 1e30f;
    struct verdict v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS, "half is allowed: %s", v.message);
    p.reference.term[ORACLE_TERM_PRODUCTS][5] = INFINITY;
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_MISTRUSTED);
    cr_assert_not_null(strstr(v.message, "6 of 10"), "%s", v.message);

    for (int64_t i = 0; i < 10; i++)
        planted_set(&p, i, 2, 0);
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS);
    cr_assert_eq(v.worst_ratio, 0);
    p.actual[9] = nextafterf(2, 3);
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_ELEMENT, "a bound of zero allows nothing");
    cr_assert_eq(v.worst_index, 9);
    planted_free(&p);

    /* An all-zero reference has no relative error, but each element still has its bound. */
    p = planted_new(ASSAY_F32, 4);
    p.actual[2] = 0x1p-149f;
    v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_ELEMENT);
    cr_assert_eq(v.nonzero, 0);
    planted_free(&p);
}

/* 101 elements of magnitude 1 (ulp 2^-23), errors of 0, 1, ..., 100 ulp. */
Test(verdict, percentiles_and_histogram)
{
    struct planted p = planted_new(ASSAY_F32, 101);
    int64_t expected[VERDICT_ULP_BINS] = {0};
    for (int64_t i = 0; i < 101; i++) {
        int64_t ulps = (i * 37) % 101; /* any order */
        planted_set(&p, i, 1, 1);
        p.actual[i] += ldexpf((float)ulps, -23);
        int bin = 0; /* bin b: [2^(b-8), 2^(b-7)) */
        while (ulps > 0 && ldexp(1, bin - 7) <= (double)ulps)
            bin++;
        expected[bin]++;
    }
    struct verdict v = planted_compare(&p, 1, false);
    cr_assert_eq(v.ulp_50, 50);
    cr_assert_eq(v.ulp_99, 99);
    cr_assert_eq(v.ulp_100, 100);
    for (int b = 0; b < VERDICT_ULP_BINS; b++)
        cr_assert_eq(v.ulp_histogram[b], expected[b], "bin %d", b);
    cr_assert_eq(expected[8], 1, "exactly one ulp lies in [1, 2)");
    double squares = 100.0 * 101 * 201 / 6;
    cr_assert_float_eq(v.relative_l2, sqrt(squares / 101) * 0x1p-23, 1e-18);
    planted_free(&p);
}

Test(verdict, explanation)
{
    struct planted p = planted_new(ASSAY_F32, 2);
    planted_set(&p, 0, 1, 0);
    planted_set(&p, 1, 3, 0);
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        p.reference.term[t][1] = ldexp(1, -10);
    p.reference.own[1] = 0x1p-40;
    p.actual[1] = 3 + 0x1p-10f;
    struct verdict v = planted_compare(&p, 1, false);
    cr_assert_eq(v.finding, VERDICT_PASS);
    char text[512];
    verdict_explain(&v, text, sizeof text);
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        cr_assert_not_null(strstr(text, oracle_term_name((enum oracle_term)t)), "%s", text);
    cr_assert_not_null(strstr(text, "y[1] = 3.00097656, oracle 3, error 0.000977"), "%s", text);
    cr_assert_not_null(strstr(text, "(17 %)"), "each of six equal terms: %s", text);
    cr_assert_not_null(strstr(text, "oracle 9.1e-13; used 16.7 %"), "%s", text);
    /* Cut, never overrun. */
    for (size_t size = 0; size < 200; size++) {
        char small[256];
        memset(small, '#', sizeof small);
        verdict_explain(&v, small, size);
        cr_assert_eq(small[size], '#', "size %zu", size);
        cr_assert(size == 0 || memchr(small, '\0', size) != NULL);
    }
    planted_free(&p);
    struct verdict nothing = {.worst_index = -1, .output = "y"};
    verdict_explain(&nothing, text, sizeof text);
    cr_assert_not_null(strstr(text, "no element"));
}

/* The first finding wins; maxima and counts combine. */
Test(verdict, merging)
{
    struct verdict total = {0};
    struct verdict good = {.count = 3,
                           .nonzero = 2,
                           .worst_ratio = 0.5,
                           .worst_index = 1,
                           .relative_l2 = 1e-4,
                           .allowance = 1e-2,
                           .ulp_100 = 3,
                           .output = "y"};
    struct verdict bad = {.finding = VERDICT_NONFINITE,
                          .count = 4,
                          .nonzero = 4,
                          .worst_ratio = 0.25,
                          .relative_l2 = 1e-3,
                          .allowance = 2e-3,
                          .ulp_100 = 1,
                          .output = "state",
                          .message = "first"};
    struct verdict worse = {.finding = VERDICT_ELEMENT,
                            .count = 1,
                            .worst_ratio = 9,
                            .output = "z",
                            .message = "second"};
    good.ulp_histogram[3] = 2;
    bad.ulp_histogram[3] = 5;
    verdict_merge(&total, &good);
    verdict_merge(&total, &bad);
    verdict_merge(&total, &worse);
    cr_assert_eq(total.finding, VERDICT_NONFINITE);
    cr_assert_str_eq(total.output, "state");
    cr_assert_str_eq(total.message, "first");
    cr_assert_eq(total.count, 8);
    cr_assert_eq(total.nonzero, 6);
    cr_assert_eq(total.worst_ratio, 9);
    cr_assert_eq(total.relative_l2, 1e-3, "the larger share of its allowance");
    cr_assert_eq(total.ulp_100, 3);
    cr_assert_eq(total.ulp_histogram[3], 7);
}
