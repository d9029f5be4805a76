/* SPDX-License-Identifier: MIT
 *
 * Losses of tokens, and the paired change of their mean with its bootstrap interval.
 */
#include "gate_bench.h"

#include <math.h>
#include <stdlib.h>

#include "gate_random.h"

enum { RESAMPLES = 4000 };

double gate_token_loss(const float *logits, int64_t count, int32_t target)
{
    double largest = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    return log(sum) + largest - (double)logits[target];
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The change of as many resampled texts, in rising order. */
static void resample(const double *base, const double *difference, int64_t n, uint64_t seed,
                     double *drawn)
{
    struct gate_random random = {.state = seed};
    for (int r = 0; r < RESAMPLES; r++) {
        double b = 0.0, d = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = gate_random_below(&random, n);
            b += base[k];
            d += difference[k];
        }
        drawn[r] = d / b;
    }
    qsort(drawn, RESAMPLES, sizeof *drawn, ascending);
}

assay_status gate_change_estimate(const double *base, const double *difference, int64_t n,
                                  uint64_t seed, struct gate_change *change,
                                  struct assay_error *error)
{
    double sum_base = 0.0, sum_difference = 0.0, spread = 0.0;
    double *drawn = calloc(RESAMPLES, sizeof *drawn);
    if (drawn == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "nll", "no memory");
    for (int64_t i = 0; i < n; i++) {
        sum_base += base[i];
        sum_difference += difference[i];
    }
    change->mean = sum_difference / sum_base;
    change->segments = n;
    for (int64_t i = 0; i < n; i++) {
        const double d = difference[i] - change->mean * base[i];
        spread += d * d;
    }
    change->standard_error =
        sqrt(spread * (double)n / (double)(n > 1 ? n - 1 : 1)) / fabs(sum_base);
    resample(base, difference, n, seed, drawn);
    change->low = drawn[RESAMPLES / 40];
    change->high = drawn[RESAMPLES - 1 - RESAMPLES / 40];
    /* A NaN loss has no order: it must not hide behind a sorted interval. */
    if (!isfinite(change->mean))
        change->low = change->high = NAN;
    free(drawn);
    return ASSAY_OK;
}
