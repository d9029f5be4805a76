/* SPDX-License-Identifier: MIT
 *
 * From a number a token to means, intervals and quantiles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gate_try.h"
#include "quality.h"

/* ---- units of resampling -------------------------------------------------------------------- */

/* The tokens of a level, cut into units. */
struct cut {
    struct paired_unit *units;
    int64_t count;
};

static int64_t scored(const struct score_window *window)
{
    return window->length - window->first;
}

/* The first unit gets values[0], and so on; `text` and `at` decide where units end. */
static void fill(const struct score_plan *plan, enum paired_level level, int64_t block,
                 const double *values, struct cut *cut)
{
    int text = -1;
    cut->count = 0;
    for (int64_t w = 0; w < plan->num_windows; w++) {
        const struct score_window *window = &plan->windows[w];
        for (int64_t i = 0; i < scored(window); i++) {
            const bool starts = (level == PAIRED_BLOCK && i % block == 0) ||
                                (level == PAIRED_WINDOW && i == 0) ||
                                (level == PAIRED_DOCUMENT && window->text != text);
            text = window->text;
            if (starts)
                cut->units[cut->count++] = (struct paired_unit){0};
            struct paired_unit *unit = &cut->units[cut->count - 1];
            unit->sum += values[window->at + i];
            unit->tokens += 1.0;
        }
    }
}

struct sampling {
    const struct score_plan *plan;
    int64_t block;
    uint64_t seed;
    struct cut cut; /* room for a unit a token */
};

static assay_status interval(struct sampling *s, enum paired_level level, const double *values,
                             struct paired_interval *out, struct assay_error *error)
{
    fill(s->plan, level, s->block, values, &s->cut);
    return paired_bootstrap(s->cut.units, s->cut.count, QUALITY_RESAMPLES, s->seed, out, error);
}

/* ---- a pair --------------------------------------------------------------------------------- */

static assay_status loss_change(struct sampling *s, const struct score_table *table,
                                struct quality_change *change, double *values,
                                struct assay_error *error)
{
    const double *base = table->nll[change->base], *other = table->nll[change->other];
    for (int64_t i = 0; i < table->num_tokens; i++)
        values[i] = other[i] - base[i];
    change->level = PAIRED_BLOCK;
    for (int level = 0; level < PAIRED_NUM_LEVELS; level++) {
        TRY(interval(s, (enum paired_level)level, values, &change->nll[level], error));
        if (change->nll[level].units >= PAIRED_LEAST_UNITS)
            change->level = (enum paired_level)level;
    }
    return ASSAY_OK;
}

static assay_status divergence(struct sampling *s, const struct score_pair *pair, int64_t count,
                               struct quality_change *change, double *values,
                               struct assay_error *error)
{
    TRY(interval(s, change->level, pair->kl, &change->kl, error));
    memcpy(values, pair->kl, (size_t)count * sizeof *values);
    const bool ordered = paired_sort(values, count);
    change->kl_median = ordered ? paired_quantile(values, count, 0.5) : NAN;
    change->kl_99 = ordered ? paired_quantile(values, count, 0.99) : NAN;
    change->kl_999 = ordered ? paired_quantile(values, count, 0.999) : NAN;
    change->kl_most = ordered ? values[count - 1] : NAN;
    return ASSAY_OK;
}

/* A share lies in [0, 1], its bootstrap-t interval need not. An infinite end stays: nothing is
 * known there. */
static void clamp(struct paired_interval *share)
{
    share->low = share->low < 0.0 && isfinite(share->low) ? 0.0 : share->low;
    share->high = share->high > 1.0 && isfinite(share->high) ? 1.0 : share->high;
}

static assay_status agreement(struct sampling *s, const struct score_pair *pair, int64_t count,
                              struct quality_change *change, double *values,
                              struct assay_error *error)
{
    double squares = 0.0;
    for (int64_t i = 0; i < count; i++)
        values[i] = pair->same_top[i];
    TRY(interval(s, change->level, values, &change->same_top, error));
    for (int64_t i = 0; i < count; i++)
        values[i] = (double)pair->shared_top[i] / DISTRIBUTION_TOP;
    TRY(interval(s, change->level, values, &change->shared_top, error));
    clamp(&change->same_top);
    clamp(&change->shared_top);
    TRY(interval(s, change->level, pair->right, &change->right, error));
    change->right_least = INFINITY;
    change->right_most = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        squares += pair->right[i] * pair->right[i];
        change->right_least = fmin(change->right_least, pair->right[i]);
        change->right_most = fmax(change->right_most, pair->right[i]);
    }
    change->right_rms = sqrt(squares / (double)count);
    return ASSAY_OK;
}

assay_status quality_summarise(const struct score_plan *plan, const struct score_table *table,
                               int pair_number, int64_t block, uint64_t seed,
                               struct quality_change *change, struct assay_error *error)
{
    const struct score_pair *pair = &table->pair[pair_number];
    const int64_t count = table->num_tokens;
    struct sampling s = {.plan = plan, .block = block, .seed = seed};
    double *values = malloc((size_t)count * sizeof *values);
    s.cut.units = malloc((size_t)count * sizeof *s.cut.units);
    if (values == NULL || s.cut.units == NULL) {
        free(s.cut.units);
        free(values);
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "summary", "no memory for %lld tokens",
                          (long long)count);
    }
    *change = (struct quality_change){.base = pair->base, .other = pair->other};
    assay_status status = loss_change(&s, table, change, values, error);
    if (status == ASSAY_OK)
        status = divergence(&s, pair, count, change, values, error);
    if (status == ASSAY_OK)
        status = agreement(&s, pair, count, change, values, error);
    for (int64_t i = 0; i < count; i++)
        change->not_finite += !isfinite(pair->kl[i]) || !isfinite(table->nll[pair->base][i]) ||
                              !isfinite(table->nll[pair->other][i]);
    free(s.cut.units);
    free(values);
    return status;
}

/* ---- losses --------------------------------------------------------------------------------- */

/* Adds sums; means follow when all are in. */
static void add(struct quality_loss *to, const struct quality_loss *window, int num_sources)
{
    to->windows++;
    to->tokens += window->tokens;
    for (int s = 0; s < num_sources; s++)
        to->mean[s] += window->mean[s] * (double)window->tokens;
}

static void divide(struct quality_loss *loss, int num_sources)
{
    for (int s = 0; s < num_sources && loss->tokens > 0; s++)
        loss->mean[s] /= (double)loss->tokens;
}

static struct quality_loss *domain_of(struct quality_result *result, const char *name)
{
    for (int i = 0; i < result->num_domains; i++)
        if (strcmp(result->domains[i].name, name) == 0)
            return &result->domains[i];
    struct quality_loss *domain = &result->domains[result->num_domains++];
    memcpy(domain->name, name, strlen(name) + 1);
    memcpy(domain->domain, name, strlen(name) + 1);
    return domain;
}

static void add_window(const struct score_table *table, struct quality_result *result, int64_t w)
{
    const struct score_window *window = &result->plan.windows[w];
    const struct score_text *text = &result->texts[window->text];
    struct quality_loss *loss = &result->windows[w], *stream = &result->streams[window->text];
    loss->windows = 1;
    loss->tokens = scored(window);
    memcpy(loss->name, text->name, sizeof loss->name);
    memcpy(loss->domain, text->domain, sizeof loss->domain);
    for (int s = 0; s < table->num_sources; s++) {
        for (int64_t i = 0; i < loss->tokens; i++)
            loss->mean[s] += table->nll[s][window->at + i];
        loss->mean[s] /= (double)loss->tokens;
    }
    add(stream, loss, table->num_sources);
    add(domain_of(result, text->domain), loss, table->num_sources);
    add(&result->overall, loss, table->num_sources);
}

assay_status quality_losses(const struct score_table *table, struct quality_result *result,
                            struct assay_error *error)
{
    result->windows = calloc((size_t)result->plan.num_windows, sizeof *result->windows);
    result->streams = calloc((size_t)result->num_texts, sizeof *result->streams);
    result->domains = calloc((size_t)result->num_texts, sizeof *result->domains);
    if (result->windows == NULL || result->streams == NULL || result->domains == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "losses", "no memory");
    for (int i = 0; i < result->num_texts; i++) {
        const struct score_text *text = &result->texts[i];
        memcpy(result->streams[i].name, text->name, sizeof text->name);
        memcpy(result->streams[i].domain, text->domain, sizeof text->domain);
    }
    for (int64_t w = 0; w < result->plan.num_windows; w++)
        add_window(table, result, w);
    for (int i = 0; i < result->num_texts; i++)
        divide(&result->streams[i], table->num_sources);
    for (int i = 0; i < result->num_domains; i++)
        divide(&result->domains[i], table->num_sources);
    divide(&result->overall, table->num_sources);
    return ASSAY_OK;
}
