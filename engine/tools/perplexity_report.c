/* SPDX-License-Identifier: MIT
 *
 * The terminal report of assay perplexity.
 */
#include "tools/perplexity_report.h"

#include <math.h>
#include <string.h>

#include "tools/tool.h"

/* ---- losses --------------------------------------------------------------------------------- */

static void loss_row(const struct quality_result *result, const char *kind, const char *name,
                     const struct quality_loss *loss, FILE *stream)
{
    fprintf(stream, "  %-8s %-24.24s %7lld %9lld", kind, name, (long long)loss->windows,
            (long long)loss->tokens);
    for (int s = 0; s < result->num_sources; s++)
        fprintf(stream, "  %10.6f %11.5f", loss->mean[s], exp(loss->mean[s]));
    fputc('\n', stream);
}

static void losses(const struct perplexity_options *options, const struct quality_result *result,
                   FILE *stream)
{
    fprintf(stream, "\n  %-33s %7s %9s", "", "windows", "tokens");
    for (int s = 0; s < result->num_sources; s++)
        fprintf(stream, "  %22.22s", result->source[s].name);
    fprintf(stream, "\n  %-33s %7s %9s", "", "", "");
    for (int s = 0; s < result->num_sources; s++)
        fprintf(stream, "  %10s %11s", "nats/token", "perplexity");
    fputc('\n', stream);
    for (int64_t w = 0; w < result->plan.num_windows && options->windows; w++) {
        char name[160];
        snprintf(name, sizeof name, "%lld %.100s", (long long)result->plan.windows[w].begin,
                 result->windows[w].name);
        loss_row(result, "window", name, &result->windows[w], stream);
    }
    for (int i = 0; i < result->num_texts; i++)
        loss_row(result, "stream", result->streams[i].name, &result->streams[i], stream);
    for (int i = 0; i < result->num_domains; i++)
        loss_row(result, "domain", result->domains[i].name, &result->domains[i], stream);
    loss_row(result, "overall", "", &result->overall, stream);
}

/* ---- path ----------------------------------------------------------------------------------- */

static void path(const struct perplexity_options *options, const struct quality_result *result,
                 FILE *stream)
{
    static const char *const what[] = {
#define PATH_WHAT(enumerator, name, text) text,
        SCORE_PATH_TABLE(PATH_WHAT)
#undef PATH_WHAT
    };
    const enum score_path taken = options->measure.path;
    fprintf(stream, "\nthrough %s", score_path_name(taken));
    if (taken == SCORE_WIDTH)
        fprintf(stream, "=%lld", (long long)options->measure.width);
    if (taken == SCORE_LANES)
        fprintf(stream, "=%dx%lld", options->measure.num_lanes, (long long)options->measure.width);
    fprintf(stream, ": %s\n", what[taken]);
    for (int s = 0; s < result->num_sources; s++) {
        const struct quality_source *source = &result->source[s];
        fprintf(stream, "  %-24.64s %lld passes, %lld of %lld tokens", source->name,
                (long long)source->passes, (long long)source->full_passes,
                (long long)source->width);
        if (strcmp(source->name, "oracle") != 0)
            fprintf(stream, "; gdn_chunked ran %llu times, gdn_recurrent %llu",
                    (unsigned long long)source->chunked, (unsigned long long)source->recurrent);
        fputc('\n', stream);
    }
    if (result->needs_coverage)
        fprintf(stream, "  what differs between the settings ran %llu times%s\n",
                (unsigned long long)result->coverage, result->coverage == 0 ? ": BLIND" : "");
}

static void routes(const struct quality_result *result, FILE *stream)
{
    fprintf(stream, "routes that ran:\n");
    for (int r = 0; r < result->num_routes; r++) {
        fprintf(stream, "  %-44s", result->routes[r].name);
        for (int s = 0; s < result->num_sources; s++)
            if (strcmp(result->source[s].name, "oracle") != 0)
                fprintf(stream, " %10llu", (unsigned long long)result->routes[r].count[s]);
        fputc('\n', stream);
    }
}

/* ---- comparison ----------------------------------------------------------------------------- */

static void interval_row(const char *what, const struct paired_interval *interval, FILE *stream)
{
    fprintf(stream, "  %-34s %+.6e nats", what, interval->mean);
    if (isnan(interval->low))
        fprintf(stream, "   no interval from %lld units\n", (long long)interval->units);
    else
        fprintf(stream, "   95 %%: %+.3e to %+.3e   %lld units\n", interval->low, interval->high,
                (long long)interval->units);
}

static void change(const struct quality_result *result, const struct quality_change *c,
                   FILE *stream)
{
    const struct paired_interval *nll = &c->nll[c->level];
    const double loss = result->overall.mean[c->base];
    fprintf(stream, "\n%s against %s, paired on the same %.0f tokens; intervals over %s\n",
            result->source[c->other].name, result->source[c->base].name, nll->tokens,
            paired_level_name(c->level));
    for (int level = 0; level < PAIRED_NUM_LEVELS; level++) {
        char what[64];
        snprintf(what, sizeof what, "change of the loss, %s",
                 paired_level_name((enum paired_level)level));
        interval_row(what, &c->nll[level], stream);
    }
    fprintf(stream, "  %-34s %+.4f %%; of the loss %+.4f %%\n", "change of the perplexity",
            100.0 * expm1(nll->mean), 100.0 * nll->mean / loss);
    interval_row("KL divergence, mean", &c->kl, stream);
    fprintf(stream, "  %-34s median %.3e, 99 %% %.3e, 99.9 %% %.3e, largest %.3e\n",
            "KL divergence of a token", c->kl_median, c->kl_99, c->kl_999, c->kl_most);
    fprintf(stream, "  %-34s %.4f %%", "same likeliest token", 100.0 * c->same_top.mean);
    if (isfinite(c->same_top.low) && isfinite(c->same_top.high))
        fprintf(stream, "   95 %%: %.4f to %.4f", 100.0 * c->same_top.low,
                100.0 * c->same_top.high);
    fputc('\n', stream);
    fprintf(stream, "  %-34s %.4f %%\n", "shared among the five likeliest",
            100.0 * c->shared_top.mean);
    fprintf(stream, "  %-34s mean %+.3e, root mean square %.3e, %+.3e to %+.3e\n",
            "right token's probability, change", c->right.mean, c->right_rms, c->right_least,
            c->right_most);
    if (c->not_finite > 0)
        fprintf(stream, "  %lld TOKENS WITHOUT A FINITE LOSS OR DIVERGENCE\n",
                (long long)c->not_finite);
}

static void floor_row(const char *what, const struct quality_change *c, FILE *stream)
{
    fprintf(stream,
            "  %-34s loss %+.3e, KL mean %.3e, 99.9 %% %.3e, largest %.3e, same token "
            "%.4f %%\n",
            what, c->nll[c->level].mean, c->kl.mean, c->kl_999, c->kl_most,
            100.0 * c->same_top.mean);
}

static void comparison(const struct perplexity_options *options,
                       const struct quality_result *result, FILE *stream)
{
    char other[64];
    for (int i = 0; i < result->num_changes; i++)
        change(result, &result->change[i], stream);
    if (result->has_floor) {
        fprintf(stream, "\nthe tool's own floor: %s on %lld tokens\n", result->source[0].name,
                (long long)result->floor_tokens);
        floor_row("against itself", &result->floor_self, stream);
        snprintf(other, sizeof other, "passes of %lld against %lld",
                 (long long)result->floor_width[1], (long long)result->floor_width[0]);
        floor_row(other, &result->floor_width_change, stream);
    }
    if (result->num_changes > 0 && !isnan(result->detectable))
        fprintf(stream, "\npower: at %.0f %% power these tokens show a change of %.3e nats",
                100.0 * options->measure.power, result->detectable);
    if (!isnan(result->tokens_needed))
        fprintf(stream, "; one of %.3e needs about %.0f tokens", options->measure.limit,
                ceil(result->tokens_needed));
    if (result->num_changes > 0 && !isnan(result->detectable))
        fputc('\n', stream);
}

void perplexity_report_text(const struct perplexity_options *options,
                            const struct quality_result *result, FILE *stream)
{
    const struct quality_options *m = &options->measure;
    fprintf(stream, "%s on %s, windows of %lld tokens every %lld", m->model_dir,
            assay_backend_name(m->backend), (long long)result->context, (long long)result->stride);
    if (m->tokens > 0)
        fprintf(stream, ", about %lld tokens of each text", (long long)m->tokens);
    fprintf(stream, "; %.1f s\n", result->seconds);
    if (m->plant != NULL)
        fprintf(stream, "PLANTED %s\n", m->plant);
    losses(options, result, stream);
    path(options, result, stream);
    routes(result, stream);
    comparison(options, result, stream);
    if (result->verdict != QUALITY_REPORTED)
        fprintf(stream, "\n%s: %s\n", quality_verdict_name(result->verdict), result->reason);
}
