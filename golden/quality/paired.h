/* SPDX-License-Identifier: MIT
 *
 * Statistics of paired measurements: one number a token under each of two settings, on the same
 * tokens. Neighbouring tokens are not independent, so the unit of resampling is never the token
 * but a block of text, a window or a document.
 */
#ifndef QUALITY_PAIRED_H
#define QUALITY_PAIRED_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>

/* What is taken to be independent: X(enumerator, name). Each level holds the ones before it. */
#define PAIRED_LEVEL_TABLE(X) \
    X(BLOCK, "blocks")        \
    X(WINDOW, "windows")      \
    X(DOCUMENT, "documents")

enum paired_level {
#define PAIRED_LEVEL_ENUM(enumerator, name) PAIRED_##enumerator,
    PAIRED_LEVEL_TABLE(PAIRED_LEVEL_ENUM)
#undef PAIRED_LEVEL_ENUM
        PAIRED_NUM_LEVELS
};
const char *paired_level_name(enum paired_level level);

/* Fewer units than PAIRED_LEAST_UNITS carry no interval that a decision may rest on; fewer than
 * PAIRED_INTERVAL_UNITS none at all. */
enum { PAIRED_LEAST_UNITS = 20, PAIRED_INTERVAL_UNITS = 8 };

/* One unit's tokens: the sum of their values, and how many they are. */
struct paired_unit {
    double sum, tokens;
};

/* A mean over tokens with its 95 % interval. */
struct paired_interval {
    double mean;           /* sum of sums / sum of tokens */
    double standard_error; /* of the mean, from the spread of the units */
    double low, high;      /* NaN with too few units, or when a value is not finite */
    int64_t units;
    double tokens;
};

/* The bootstrap-t interval: units are drawn with replacement `resamples` times (at least 40), each
 * drawn set gives t = (its mean - mean) / its standard error, and the quantiles t_low, t_high of
 * these give [mean - t_high se, mean - t_low se]. Means of unequal units are ratios, their standard
 * error is the linearised one. Equal for equal seeds. ASSAY_E_MEMORY. */
ASSAY_MUST_USE assay_status paired_bootstrap(const struct paired_unit *units, int64_t num_units,
                                             int64_t resamples, uint64_t seed,
                                             struct paired_interval *interval,
                                             struct assay_error *error);

/* The q-quantile of sorted values: linear between order statistics, as R's type 7. NaN when empty.
 */
double paired_quantile(const double *sorted, int64_t count, double q);
/* Sorts ascending; false when one of them is NaN (the order is then arbitrary). */
bool paired_sort(double *values, int64_t count);

/* x with P(standard normal <= x) = p, 0 < p < 1, to a few units of the last place. */
double paired_normal_quantile(double p);

/* Power of the two-sided 5 % test on a mean whose standard error is interval->standard_error.
 * Variance falls as 1 / tokens, hence
 *   tokens needed for a change of `limit` = tokens ((z_0.975 + z_power) se / limit)^2,
 *   smallest change seen with `power`     = (z_0.975 + z_power) se. */
double paired_tokens_needed(const struct paired_interval *interval, double limit, double power);
double paired_detectable(const struct paired_interval *interval, double power);

/* What an interval says about a limit from above. */
enum paired_answer {
    PAIRED_WITHIN, /* the whole interval is at most the limit */
    PAIRED_BEYOND, /* the whole interval is above it, or a value is not finite */
    PAIRED_UNKNOWN /* it holds the limit, or it has fewer than PAIRED_LEAST_UNITS units */
};
enum paired_answer paired_judge(const struct paired_interval *interval, double limit);

#endif
