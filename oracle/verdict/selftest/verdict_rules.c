/* SPDX-License-Identifier: MIT
 *
 * Comparison rules that are in use elsewhere, each with a fault that it accepts and the verdict
 * rejects. They are the verdict's own mutants: were it to become one of them, its row would fail.
 * Each rule must also accept the right output, so that it is not beaten by rejecting everything.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "planted.h"

typedef bool rule(const struct planted *p); /* true: accepted */

static double error_of(const struct planted *p, int64_t i)
{
    return fabs((double)p->actual[i] - p->reference.value[i]);
}

/* Elements whose reference is not finite are left out. */
static bool skip_nonfinite(const struct planted *p)
{
    for (int64_t i = 0; i < p->reference.count; i++)
        if (isfinite(p->reference.value[i]) &&
            !(error_of(p, i) <= 1e-6 + 1e-5 * fabs(p->reference.value[i])))
            return false;
    return true;
}

/* 1 - 2 <x, y> / (|x|^2 + |y|^2) < 0.001 */
static bool cosine_only(const struct planted *p)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < p->reference.count; i++) {
        double x = (double)p->actual[i], y = p->reference.value[i];
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return 1 - 2 * xy / (xx + yy) < 0.001;
}

static bool absolute_only(const struct planted *p)
{
    for (int64_t i = 0; i < p->reference.count; i++)
        if (!(error_of(p, i) <= 2e-2))
            return false;
    return true;
}

/* A constant for sums of 256 products, whatever the input. */
static bool loose_constant(const struct planted *p)
{
    for (int64_t i = 0; i < p->reference.count; i++)
        if (!(error_of(p, i) <= 0.2))
            return false;
    return true;
}

/* Absolute and relative: 1e-2 + 0.079 |reference|. */
static bool absolute_plus_relative(const struct planted *p)
{
    for (int64_t i = 0; i < p->reference.count; i++)
        if (!(error_of(p, i) <= 1e-2 + 0.079 * fabs(p->reference.value[i])))
            return false;
    return true;
}

/* Finite, and two in a hundred elements may be anywhere. */
static bool tail_allowed(const struct planted *p)
{
    int64_t outside = 0;
    for (int64_t i = 0; i < p->reference.count; i++) {
        if (!isfinite(p->actual[i]))
            return false;
        outside += error_of(p, i) > 1e-6 + 1e-5 * fabs(p->reference.value[i]);
    }
    return 50 * outside <= p->reference.count;
}

/* Error against the largest element of the tensor. */
static bool largest_norm(const struct planted *p)
{
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < p->reference.count; i++) {
        largest = fmax(largest, fabs(p->reference.value[i]));
        worst = fmax(worst, error_of(p, i));
    }
    return worst <= 1e-5 * largest;
}

/* Mean square of the error over that of the reference below 1e-7. */
static bool normalised_square(const struct planted *p)
{
    double error = 0, reference = 0;
    for (int64_t i = 0; i < p->reference.count; i++) {
        error += error_of(p, i) * error_of(p, i);
        reference += p->reference.value[i] * p->reference.value[i];
    }
    return error / reference < 1e-7;
}

/* A fixed residual per type, however long the sum; here 1e-5 on the relative L2 error. */
static bool fixed_residual(const struct planted *p)
{
    double error = 0, reference = 0;
    for (int64_t i = 0; i < p->reference.count; i++) {
        error += error_of(p, i) * error_of(p, i);
        reference += p->reference.value[i] * p->reference.value[i];
    }
    return sqrt(error) <= 1e-5 * sqrt(reference);
}

/* Prints the failures, and reports success. */
static bool always_success(const struct planted *p)
{
    (void)p;
    return true;
}

enum { COUNT = 10000 };

/* Magnitudes from 1 to 2, one in a hundred 100 times larger; bounds of two binary32 roundings. */
static struct planted right_output(void)
{
    struct planted p = planted_new(ASSAY_F32, COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        double value = (1 + (double)(i * 7919 % COUNT) / COUNT) * (i % 100 == 0 ? 100 : 1);
        value = (double)(float)(i % 3 == 0 ? -value : value);
        planted_set(&p, i, value, fabs(value) * 0x1p-23);
    }
    return p;
}

static void infinite_for_nan(struct planted *p)
{
    p->reference.value[51] = NAN;
    p->actual[51] = 1e30f;
}
static void one_wrong_sign(struct planted *p)
{
    p->actual[5001] = -p->actual[5001];
}
/* A tensor of small values that are half wrong. */
static void small_and_wrong(struct planted *p)
{
    for (int64_t i = 0; i < COUNT; i++) {
        double value = p->reference.value[i] * 0x1p-17;
        planted_set(p, i, value, fabs(value) * 0x1p-23);
        p->actual[i] *= 1.5f;
    }
}
static void seven_percent(struct planted *p)
{
    for (int64_t i = 0; i < COUNT; i++)
        p->actual[i] *= 1.07f;
}
static void tenth_off(struct planted *p)
{
    p->actual[17] += 0.1f;
}
/* Every hundredth column is dropped. */
static void lost_column(struct planted *p)
{
    for (int64_t i = 1; i < COUNT; i += 100)
        p->actual[i] = 0;
}
/* A small element is off by a thousandth of itself, the largest of the tensor hides it. */
static void small_element(struct planted *p)
{
    p->actual[33] *= 1.0005f;
}
static void off_by_a_percent(struct planted *p)
{
    p->actual[4242] *= 1.01f;
}
/* The sum of a longer chain than declared: all elements err by eight roundings. */
static void growth(struct planted *p)
{
    for (int64_t i = 0; i < COUNT; i++)
        p->actual[i] *= 1 + 0x1p-19f;
}
static void all_nan(struct planted *p)
{
    for (int64_t i = 0; i < COUNT; i++)
        p->actual[i] = NAN;
}

/* X(rule, fault, what the verdict must find) */
#define RULES(X)                                              \
    X(skip_nonfinite, infinite_for_nan, VERDICT_NONFINITE)    \
    X(cosine_only, one_wrong_sign, VERDICT_ELEMENT)           \
    X(absolute_only, small_and_wrong, VERDICT_ELEMENT)        \
    X(loose_constant, tenth_off, VERDICT_ELEMENT)             \
    X(absolute_plus_relative, seven_percent, VERDICT_ELEMENT) \
    X(tail_allowed, lost_column, VERDICT_ELEMENT)             \
    X(largest_norm, small_element, VERDICT_ELEMENT)           \
    X(normalised_square, off_by_a_percent, VERDICT_ELEMENT)   \
    X(fixed_residual, growth, VERDICT_ELEMENT)                \
    X(always_success, all_nan, VERDICT_NONFINITE)

Test(verdict, beats_every_wrong_rule)
{
    static const struct {
        const char *rule_name, *fault_name;
        rule *accepts;
        void (*plant)(struct planted *);
        enum verdict_finding finding;
    } rows[] = {
#define ROW(rule, fault, finding) {#rule, #fault, rule, fault, finding},
        RULES(ROW)
#undef ROW
    };
    int beaten = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct planted p = right_output();
        struct verdict v = planted_compare(&p, 1, false);
        cr_assert_eq(v.finding, VERDICT_PASS, "%s", v.message);
        cr_assert(rows[i].accepts(&p), "%s rejects a right output", rows[i].rule_name);
        rows[i].plant(&p);
        cr_assert(rows[i].accepts(&p), "%s is not blind to %s", rows[i].rule_name,
                  rows[i].fault_name);
        v = planted_compare(&p, 1, false);
        cr_expect_eq(v.finding, rows[i].finding, "%s: verdict says %s", rows[i].fault_name,
                     verdict_finding_name(v.finding));
        beaten += v.finding == rows[i].finding;
        planted_free(&p);
    }
    cr_assert_eq(beaten, (int)(sizeof rows / sizeof rows[0]));
}
