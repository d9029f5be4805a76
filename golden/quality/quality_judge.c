/* SPDX-License-Identifier: MIT
 *
 * From intervals and limits to a verdict.
 */
#include <math.h>
#include <stdio.h>

#include "quality.h"

const char *quality_verdict_name(enum quality_verdict verdict)
{
    static const char *const names[] = {"WITHIN", "BEYOND", "INCONCLUSIVE", "REPORTED"};
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "?";
}

/* The words beside an answer of the loss. */
static void describe_loss(const struct quality_options *options, struct quality_result *result,
                          enum paired_answer answer)
{
    const struct paired_interval *nll = &result->change[0].nll[result->change[0].level];
    const double needed = result->tokens_needed;
    if (answer == PAIRED_BEYOND)
        snprintf(result->reason, sizeof result->reason,
                 "the loss changes by %+.3e nats (%+.3e to %+.3e) where %.3e is allowed", nll->mean,
                 nll->low, nll->high, options->limit);
    else if (nll->units < PAIRED_LEAST_UNITS)
        snprintf(result->reason, sizeof result->reason,
                 "%lld independent pieces of text are too few for an interval, %d are needed",
                 (long long)nll->units, PAIRED_LEAST_UNITS);
    else if (needed > nll->tokens)
        snprintf(result->reason, sizeof result->reason,
                 "too few tokens: a change of %.3e nats needs about %.0f at %.0f %% power, there "
                 "are %.0f; the interval is %+.3e to %+.3e",
                 options->limit, ceil(needed), 100.0 * options->power, nll->tokens, nll->low,
                 nll->high);
    else
        snprintf(result->reason, sizeof result->reason,
                 "the change lies close to the limit: the interval %+.3e to %+.3e holds %.3e",
                 nll->low, nll->high, options->limit);
}

static void describe_divergence(const struct quality_options *options,
                                struct quality_result *result, enum paired_answer answer)
{
    const struct paired_interval *kl = &result->change[0].kl;
    snprintf(result->reason, sizeof result->reason,
             answer == PAIRED_BEYOND
                 ? "the mean divergence is %.3e nats (%.3e to %.3e) where %.3e is allowed"
                 : "the mean divergence is %.3e nats, its interval %.3e to %.3e does not decide "
                   "about %.3e",
             kl->mean, kl->low, kl->high, options->kl_limit);
}

/* Each limit that was given; what is worse wins, the loss before the divergence. */
static void judge_limits(const struct quality_options *options, struct quality_result *result)
{
    const struct quality_change *change = &result->change[0];
    static const enum quality_verdict verdicts[] = {
        [PAIRED_WITHIN] = QUALITY_WITHIN,
        [PAIRED_BEYOND] = QUALITY_BEYOND,
        [PAIRED_UNKNOWN] = QUALITY_INCONCLUSIVE,
    };
    if (!isnan(options->limit)) {
        const struct paired_interval *nll = &change->nll[change->level];
        enum paired_answer answer = paired_judge(nll, options->limit);
        /* An interval that happens to lie below the limit is no evidence where a change of the
         * limit's size would as well be missed. */
        if (answer == PAIRED_WITHIN && result->tokens_needed > nll->tokens)
            answer = PAIRED_UNKNOWN;
        result->verdict = verdicts[answer];
        if (answer != PAIRED_WITHIN)
            describe_loss(options, result, answer);
    }
    if (!isnan(options->kl_limit) && result->verdict != QUALITY_BEYOND) {
        const enum paired_answer answer = paired_judge(&change->kl, options->kl_limit);
        if (answer == PAIRED_BEYOND || result->verdict != QUALITY_INCONCLUSIVE)
            result->verdict = verdicts[answer];
        if (answer == PAIRED_BEYOND || (answer == PAIRED_UNKNOWN && result->reason[0] == '\0'))
            describe_divergence(options, result, answer);
    }
    if (result->verdict == QUALITY_WITHIN)
        snprintf(result->reason, sizeof result->reason, "every limit given is met");
}

static void judge_power(const struct quality_options *options, struct quality_result *result)
{
    const struct quality_change *change = &result->change[0];
    const struct paired_interval *nll = &change->nll[change->level];
    result->tokens_needed = result->detectable = NAN;
    if (result->num_changes == 0 || isnan(nll->standard_error))
        return;
    result->detectable = paired_detectable(nll, options->power);
    if (!isnan(options->limit))
        result->tokens_needed = paired_tokens_needed(nll, options->limit, options->power);
}

void quality_judge(const struct quality_options *options, struct quality_result *result)
{
    const struct quality_change *change = &result->change[0];
    int64_t not_finite = result->num_changes > 0 ? change->not_finite : 0;
    judge_power(options, result);
    result->verdict = QUALITY_REPORTED;
    result->reason[0] = '\0';
    if (result->num_changes == 0 && !isfinite(result->overall.mean[result->setting]))
        not_finite = 1;
    if (not_finite > 0) {
        result->verdict = QUALITY_BEYOND;
        snprintf(result->reason, sizeof result->reason,
                 "%s%lld tokens have no finite loss or divergence",
                 result->num_changes == 0 ? "at least " : "", (long long)not_finite);
        return;
    }
    if (result->num_changes > 0)
        judge_limits(options, result);
    if (result->verdict != QUALITY_BEYOND && result->needs_coverage && result->coverage == 0) {
        result->verdict = QUALITY_INCONCLUSIVE;
        snprintf(result->reason, sizeof result->reason,
                 "blind: the routes in which the settings differ did not all run through this "
                 "path");
    }
}
