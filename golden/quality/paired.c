/* SPDX-License-Identifier: MIT
 *
 * Bootstrap-t intervals, quantiles and power of paired measurements.
 */
#include "paired.h"

#include <math.h>
#include <stdlib.h>

#include "gate_random.h"

enum { LEAST_RESAMPLES = 40 };

const char *paired_level_name(enum paired_level level)
{
    static const char *const names[] = {
#define PAIRED_LEVEL_NAME(enumerator, name) name,
        PAIRED_LEVEL_TABLE(PAIRED_LEVEL_NAME)
#undef PAIRED_LEVEL_NAME
    };
    return (unsigned)level < PAIRED_NUM_LEVELS ? names[level] : "?";
}

/* ---- the interval --------------------------------------------------------------------------- */

/* Moments of units (y: sum, n: tokens), from which the ratio and its error follow. */
struct moments {
    double y, n, yy, yn, nn;
};

static void add(struct moments *m, double y, double n)
{
    m->y += y;
    m->n += n;
    m->yy += y * y;
    m->yn += y * n;
    m->nn += n * n;
}

/* Standard error of y / n over `units` of them: residuals y_i - (y/n) n_i have mean zero. */
static double standard_error(const struct moments *m, int64_t units)
{
    const double ratio = m->y / m->n;
    const double spread = m->yy - 2.0 * ratio * m->yn + ratio * ratio * m->nn;
    /* Equal residuals leave rounding errors of either sign. */
    return spread > 0.0 ? sqrt(spread * (double)units / (double)(units - 1)) / m->n : 0.0;
}

static assay_status draw(const struct paired_unit *units, int64_t num_units, int64_t resamples,
                         uint64_t seed, struct paired_interval *interval, struct assay_error *error)
{
    struct gate_random random = {.state = seed};
    double *t = calloc((size_t)resamples, sizeof *t);
    if (t == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "bootstrap", "no memory");
    for (int64_t r = 0; r < resamples; r++) {
        struct moments m = {0};
        /* Centred, so that the spread is not a small difference of large squares. */
        for (int64_t i = 0; i < num_units; i++) {
            const struct paired_unit *unit = &units[gate_random_below(&random, num_units)];
            add(&m, unit->sum - interval->mean * unit->tokens, unit->tokens);
        }
        const double off = m.y / m.n, se = standard_error(&m, num_units);
        t[r] = off == 0.0 ? 0.0 : off / se; /* se 0: one unit was drawn every time */
    }
    paired_sort(t, resamples);
    const double t_low = paired_quantile(t, resamples, 0.025);
    const double t_high = paired_quantile(t, resamples, 0.975);
    interval->low = interval->mean - t_high * interval->standard_error;
    interval->high = interval->mean - t_low * interval->standard_error;
    free(t);
    return ASSAY_OK;
}

assay_status paired_bootstrap(const struct paired_unit *units, int64_t num_units, int64_t resamples,
                              uint64_t seed, struct paired_interval *interval,
                              struct assay_error *error)
{
    struct moments whole = {0}, centred = {0};
    for (int64_t i = 0; i < num_units; i++)
        add(&whole, units[i].sum, units[i].tokens);
    *interval = (struct paired_interval){.mean = whole.y / whole.n,
                                         .standard_error = NAN,
                                         .low = NAN,
                                         .high = NAN,
                                         .units = num_units,
                                         .tokens = whole.n};
    if (num_units < 2 || !isfinite(interval->mean))
        return ASSAY_OK;
    for (int64_t i = 0; i < num_units; i++)
        add(&centred, units[i].sum - interval->mean * units[i].tokens, units[i].tokens);
    centred.y = 0.0; /* but for rounding */
    interval->standard_error = standard_error(&centred, num_units);
    if (num_units < PAIRED_INTERVAL_UNITS && interval->standard_error != 0.0)
        return ASSAY_OK;
    if (interval->standard_error == 0.0) {
        interval->low = interval->high = interval->mean;
        return ASSAY_OK;
    }
    return draw(units, num_units, resamples < LEAST_RESAMPLES ? LEAST_RESAMPLES : resamples, seed,
                interval, error);
}

/* ---- quantiles ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool paired_sort(double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return false;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return true;
}

double paired_quantile(const double *sorted, int64_t count, double q)
{
    if (count == 0)
        return NAN;
    const double at = q * (double)(count - 1);
    const int64_t below = (int64_t)at;
    const double part = at - (double)below;
    /* Without the tests an infinite neighbour would enter with weight 0, as NaN, and two of them by
     * their difference. */
    if (part == 0.0 || below + 1 >= count || sorted[below] == sorted[below + 1])
        return sorted[below];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double paired_normal_quantile(double p)
{
    /* The lower half, where the distribution function has no cancellation and is convex: Newton's
     * iteration converges. */
    if (p > 0.5)
        return -paired_normal_quantile(1.0 - p);
    double x = -sqrt(-2.0 * log(p));
    for (int i = 0; i < 64; i++) {
        const double distance = 0.5 * erfc(-x * M_SQRT1_2) - p;
        const double slope = exp(-0.5 * x * x) * M_2_SQRTPI * M_SQRT1_2 * 0.5;
        const double step = distance / slope;
        x -= step;
        if (fabs(step) <= 1e-15 * (1.0 + fabs(x)))
            break;
    }
    return x;
}

/* ---- power and judgement -------------------------------------------------------------------- */

double paired_detectable(const struct paired_interval *interval, double power)
{
    const double z = paired_normal_quantile(0.975) + paired_normal_quantile(power);
    return z * interval->standard_error;
}

double paired_tokens_needed(const struct paired_interval *interval, double limit, double power)
{
    const double ratio = paired_detectable(interval, power) / limit;
    return interval->tokens * ratio * ratio;
}

enum paired_answer paired_judge(const struct paired_interval *interval, double limit)
{
    if (!isfinite(interval->mean))
        return PAIRED_BEYOND;
    if (interval->units < PAIRED_LEAST_UNITS || isnan(interval->low) || isnan(interval->high))
        return PAIRED_UNKNOWN;
    if (interval->high <= limit)
        return PAIRED_WITHIN;
    return interval->low > limit ? PAIRED_BEYOND : PAIRED_UNKNOWN;
}
