/* SPDX-License-Identifier: MIT
 *
 * The verdict. Every element is looked at by both measures; nothing is skipped because it is not
 * finite, small, or in a tail. docs/verdicts.md.
 */
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

const char *verdict_finding_name(enum verdict_finding finding)
{
    static const char *const names[VERDICT_NUM_FINDINGS] = {
#define FINDING_NAME(enumerator, name, meaning) [VERDICT_##enumerator] = name,
        VERDICT_FINDING_TABLE(FINDING_NAME)
#undef FINDING_NAME
    };
    return (unsigned)finding < VERDICT_NUM_FINDINGS ? names[finding] : "?";
}

bool verdict_is_failure(enum verdict_finding finding)
{
    return finding != VERDICT_PASS && finding != VERDICT_MISTRUSTED && finding != VERDICT_NOT_RUN;
}

static void find(struct verdict *v, enum verdict_finding finding, const char *output)
{
    if (v->finding == VERDICT_PASS) {
        v->finding = finding;
        snprintf(v->output, sizeof v->output, "%s", output);
    }
}

/* Running state of one comparison. */
struct comparison {
    const struct oracle_output *reference;
    struct verdict *verdict;
    double error_squares, reference_squares, allowance_squares;
    double *ulps; /* error of each compared element, for the percentiles */
    int64_t num_ulps, num_unbounded;
    bool exact, found_nonfinite, found_inexact;
};

/* All but the output rounding. */
static double inner_bound(const struct oracle_output *o, int64_t i)
{
    double bound = o->own[i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        if (t != ORACLE_TERM_OUTPUT)
            bound += o->term[t][i];
    return bound;
}

/* The output rounding's term is infinite where the rounding may overflow; a result that stayed
 * finite is still no further off than half an ulp of the format's top binade. */
static double output_term(const struct oracle_output *o, int64_t i)
{
    double top = oracle_max_finite(o->dtype) * oracle_unit_roundoff(o->dtype);
    return fmin(o->term[ORACLE_TERM_OUTPUT][i], top);
}

static double bound_of(const struct oracle_output *o, int64_t i)
{
    return inner_bound(o, i) + output_term(o, i);
}

/* Values from here on round to infinity: half an ulp beyond the largest finite value, which is
 * (2 - 2u) 2^e, so at (2 - u) 2^e. */
static double overflow_threshold(enum assay_dtype dtype)
{
    double u = oracle_unit_roundoff(dtype);
    return oracle_max_finite(dtype) / (2 - 2 * u) * (2 - u);
}

static double ulp_of(double value, enum assay_dtype dtype)
{
    double half = oracle_half_ulp(fabs(value), dtype);
    return isfinite(half) && half > 0 ? 2 * half : oracle_max_finite(dtype);
}

static void remember_worst(struct comparison *c, int64_t i, double actual, double ratio)
{
    struct verdict *v = c->verdict;
    if (!(ratio > v->worst_ratio) && v->worst_index >= 0)
        return;
    v->worst_ratio = ratio;
    v->worst_index = i;
    v->worst_actual = actual;
    v->worst_reference = c->reference->value[i];
    v->worst_own = c->reference->own[i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        v->worst_term[t] =
            t == ORACLE_TERM_OUTPUT ? output_term(c->reference, i) : c->reference->term[t][i];
}

static void nonfinite(struct comparison *c, int64_t i, double actual)
{
    if (c->found_nonfinite)
        return;
    c->found_nonfinite = true;
    struct verdict *v = c->verdict;
    if (v->finding == VERDICT_PASS) /* the message belongs to the finding that is reported */
        snprintf(v->message, sizeof v->message, "%s[%lld] is %g, the oracle has %g",
                 c->reference->name, (long long)i, actual, c->reference->value[i]);
    find(v, VERDICT_NONFINITE, c->reference->name);
}

static void inexact(struct comparison *c, int64_t i, double actual, double expected)
{
    if (c->found_inexact)
        return;
    c->found_inexact = true;
    struct verdict *v = c->verdict;
    if (v->finding == VERDICT_PASS)
        snprintf(v->message, sizeof v->message, "%s[%lld] is %.17g, exactly %.17g was expected",
                 c->reference->name, (long long)i, actual, expected);
    find(v, VERDICT_INEXACT, c->reference->name);
}

static void count_ulp(struct comparison *c, double ulps)
{
    c->ulps[c->num_ulps++] = ulps;
    int bin = 0;
    if (ulps > 0) {
        int exponent;
        frexp(ulps, &exponent); /* ulps in [2^(e-1), 2^e) */
        bin = exponent + 7;
        bin = bin < 0 ? 0 : bin >= VERDICT_ULP_BINS ? VERDICT_ULP_BINS - 1 : bin;
    }
    c->verdict->ulp_histogram[bin]++;
}

/* One element whose reference is finite and whose bound is finite. */
static void compare_finite(struct comparison *c, int64_t i, double actual, double bound)
{
    const struct oracle_output *o = c->reference;
    double reference = o->value[i];
    double error = fabs(actual - reference);
    double ratio = error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
    remember_worst(c, i, actual, ratio);
    if (bound > o->own[i] && o->own[i] / bound > c->verdict->own_share)
        c->verdict->own_share = o->own[i] / bound;
    double allowed = o->own[i] + o->rms_share[ORACLE_TERM_OUTPUT] * output_term(o, i);
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        if (t != ORACLE_TERM_OUTPUT)
            allowed += o->rms_share[t] * o->term[t][i];
    c->error_squares += error * error;
    c->reference_squares += reference * reference;
    c->allowance_squares += allowed * allowed;
    count_ulp(c, error / ulp_of(reference, o->dtype));
}

static void compare_element(struct comparison *c, int64_t i, double actual)
{
    const struct oracle_output *o = c->reference;
    double reference = o->value[i], bound = bound_of(o, i);
    c->verdict->count++;
    c->verdict->nonzero += reference != 0;
    if (c->exact && !isnan(reference)) {
        double expected = oracle_round(reference, o->dtype);
        if (actual != expected)
            inexact(c, i, actual, expected);
    }
    /* The pattern of NaN and infinities does not depend on the bound. */
    if (isnan(reference) || isinf(reference)) {
        if (isnan(reference) ? !isnan(actual) : actual != reference)
            nonfinite(c, i, actual);
        return;
    }
    if (!isfinite(bound)) {
        c->num_unbounded++;
        return;
    }
    double inner = inner_bound(o, i), threshold = overflow_threshold(o->dtype);
    bool may_overflow = fabs(reference) + inner >= threshold;
    bool must_overflow = fabs(reference) - inner >= threshold;
    if (isinf(actual) || must_overflow) {
        if (!may_overflow || !isinf(actual) || signbit(actual) != signbit(reference))
            nonfinite(c, i, actual);
        return;
    }
    if (isnan(actual)) {
        nonfinite(c, i, actual);
        return;
    }
    compare_finite(c, i, actual, bound);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void percentiles(struct comparison *c)
{
    if (c->num_ulps == 0)
        return;
    qsort(c->ulps, (size_t)c->num_ulps, sizeof *c->ulps, by_value);
    int64_t last = c->num_ulps - 1;
    c->verdict->ulp_50 = c->ulps[last / 2];
    c->verdict->ulp_99 = c->ulps[(int64_t)((double)last * 0.99)];
    c->verdict->ulp_100 = c->ulps[last];
}

static void compare_integers(const struct assay_tensor *actual,
                             const struct oracle_output *reference, struct verdict *v)
{
    for (int64_t i = 0; i < reference->count; i++) {
        int64_t got = oracle_get_int(actual, i);
        double expected = reference->value[i], other = reference->alternative[i];
        v->count++;
        v->nonzero += expected != 0;
        if ((double)got == expected || (double)got == other || isinf(bound_of(reference, i)))
            continue; /* infinite: more than two are acceptable */
        if (v->finding == VERDICT_PASS) {
            v->worst_index = i;
            v->worst_ratio = INFINITY;
            v->worst_actual = (double)got;
            v->worst_reference = expected;
            snprintf(v->message, sizeof v->message, "%s[%lld] is %lld, expected %.0f",
                     reference->name, (long long)i, (long long)got, expected);
        }
        find(v, VERDICT_ELEMENT, reference->name);
    }
}

static void judge(struct comparison *c, double ceiling)
{
    struct verdict *v = c->verdict;
    const char *name = c->reference->name;
    if (v->worst_ratio > 1) {
        if (v->finding == VERDICT_PASS)
            snprintf(v->message, sizeof v->message,
                     "%s[%lld] is %.9g, the oracle has %.9g: error is %.3g times the bound", name,
                     (long long)v->worst_index, v->worst_actual, v->worst_reference,
                     v->worst_ratio);
        find(v, VERDICT_ELEMENT, name);
    }
    if (c->reference_squares > 0) {
        v->relative_l2 = sqrt(c->error_squares / c->reference_squares);
        v->allowance = fmin(sqrt(c->allowance_squares / c->reference_squares), ceiling);
        if (v->relative_l2 > v->allowance) {
            if (v->finding == VERDICT_PASS)
                snprintf(v->message, sizeof v->message,
                         "%s: relative L2 error %.3g is beyond the allowance %.3g", name,
                         v->relative_l2, v->allowance);
            find(v, VERDICT_RELATIVE_L2, name);
        }
    }
    if (2 * c->num_unbounded > c->reference->count) {
        if (v->finding == VERDICT_PASS)
            snprintf(v->message, sizeof v->message,
                     "%s: the bound is infinite for %lld of %lld elements", name,
                     (long long)c->num_unbounded, (long long)c->reference->count);
        find(v, VERDICT_MISTRUSTED, name);
    }
}

void verdict_compare(const struct assay_tensor *actual, const struct oracle_output *reference,
                     double ceiling, bool exact, struct verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->worst_index = -1;
    snprintf(verdict->output, sizeof verdict->output, "%s", reference->name);
    if (reference->dtype == ASSAY_I32 || reference->dtype == ASSAY_I64) {
        compare_integers(actual, reference, verdict);
        return;
    }
    struct comparison c = {.reference = reference, .verdict = verdict, .exact = exact};
    size_t count = reference->count > 0 ? (size_t)reference->count : 1;
    c.ulps = malloc(count * sizeof *c.ulps);
    if (c.ulps == NULL) {
        find(verdict, VERDICT_MISTRUSTED, reference->name);
        snprintf(verdict->message, sizeof verdict->message, "out of memory while comparing");
        return;
    }
    for (int64_t i = 0; i < reference->count; i++)
        compare_element(&c, i, oracle_get(actual, i));
    judge(&c, ceiling);
    percentiles(&c);
    free(c.ulps);
}

void verdict_merge(struct verdict *total, const struct verdict *more)
{
    if (total->finding == VERDICT_PASS && more->finding != VERDICT_PASS) {
        total->finding = more->finding;
        memcpy(total->output, more->output, sizeof total->output);
        memcpy(total->message, more->message, sizeof total->message);
    }
    if (more->worst_ratio > total->worst_ratio || total->count == 0) {
        total->worst_ratio = more->worst_ratio;
        total->worst_index = more->worst_index;
        total->worst_actual = more->worst_actual;
        total->worst_reference = more->worst_reference;
        total->worst_own = more->worst_own;
        memcpy(total->worst_term, more->worst_term, sizeof total->worst_term);
        if (total->finding == VERDICT_PASS)
            memcpy(total->output, more->output, sizeof total->output);
    }
    /* An allowance near 1 belongs to outputs below their format's normal range: it says nothing. */
    double total_share = total->allowance > 0 ? total->relative_l2 / total->allowance : 0;
    double more_share = more->allowance > 0 ? more->relative_l2 / more->allowance : 0;
    if (more->allowance < 0.25 && (more_share > total_share || total->allowance == 0)) {
        total->relative_l2 = more->relative_l2;
        total->allowance = more->allowance;
    }
    total->own_share = fmax(total->own_share, more->own_share);
    total->ulp_50 = fmax(total->ulp_50, more->ulp_50);
    total->ulp_99 = fmax(total->ulp_99, more->ulp_99);
    total->ulp_100 = fmax(total->ulp_100, more->ulp_100);
    for (int i = 0; i < VERDICT_ULP_BINS; i++)
        total->ulp_histogram[i] += more->ulp_histogram[i];
    total->count += more->count;
    total->nonzero += more->nonzero;
}

void verdict_explain(const struct verdict *v, char *text, size_t size)
{
    if (v->worst_index < 0) {
        snprintf(text, size, "%s: no element was compared with a bound", v->output);
        return;
    }
    double bound = v->worst_own;
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        bound += v->worst_term[t];
    int used =
        snprintf(text, size, "%s[%lld] = %.9g, oracle %.9g, error %.3g, bound %.3g =", v->output,
                 (long long)v->worst_index, v->worst_actual, v->worst_reference,
                 fabs(v->worst_actual - v->worst_reference), bound);
    const char *separator = " ";
    for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
        if (v->worst_term[t] == 0 || used < 0 || (size_t)used >= size)
            continue;
        used += snprintf(text + used, size - (size_t)used, "%s%s %.2g (%.0f %%)", separator,
                         oracle_term_name((enum oracle_term)t), v->worst_term[t],
                         100 * v->worst_term[t] / bound);
        separator = " + ";
    }
    if (used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "%soracle %.2g; used %.3g %%", separator,
                 v->worst_own, 100 * v->worst_ratio);
}
