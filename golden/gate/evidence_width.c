/* SPDX-License-Identifier: MIT
 *
 * Evidence nll-width: the loss on held-out texts through decode steps of WIDTH columns, as the
 * verification of drafts runs them, without and with the trade on the same tokens; and how often
 * the likeliest token is another one.
 *
 * Texts are scored in windows that begin with an empty state and are a multiple of WIDTH long, so
 * that every step has the width that is asked about.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WIDTH = 16,
    WINDOW = 1024,
    QUICK_WINDOW = 704,
    WINDOWS = 4, /* of each text */
    QUICK_WINDOWS = 1,
    SEGMENT = 64, /* tokens: neighbouring losses are not independent */
    MAX_SEGMENTS = GATE_MAX_TEXTS * WINDOWS * (WINDOW / SEGMENT)
};

struct scorer {
    struct gate_bench *bench;
    assay_session *session[2]; /* without and with the trade */
    int64_t window;
    int num_windows;
    float *logits[2];
    double total[2];
    int64_t tokens, changed;
    double base[MAX_SEGMENTS], difference[MAX_SEGMENTS]; /* of the sums of segments */
    int64_t num_segments, windows_done;
};

static int32_t likeliest(const float *logits, int64_t count)
{
    int32_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = (int32_t)i;
    return best;
}

/* One step of both sessions over ids[0, WIDTH), whose losses are those of the tokens behind. */
static assay_status step(struct scorer *s, const int32_t *ids, struct gate_width_loss *out,
                         double *base, double *difference, struct assay_error *error)
{
    const int64_t vocab = s->bench->vocab;
    for (int i = 0; i < 2; i++)
        TRY(assay_session_verify(s->session[i], ids, WIDTH, s->logits[i], error));
    for (int t = 0; t < WIDTH; t++) {
        const float *const without = s->logits[0] + t * vocab, *const with =
                                                                   s->logits[1] + t * vocab;
        const double loss = gate_token_loss(without, vocab, ids[t + 1]);
        const double other = gate_token_loss(with, vocab, ids[t + 1]);
        out->mean[0] += loss;
        out->mean[1] += other;
        *base += loss;
        *difference += other - loss;
        out->changed +=
            likeliest(without, s->bench->addressable) != likeliest(with, s->bench->addressable);
    }
    out->tokens += WIDTH;
    return ASSAY_OK;
}

static assay_status score_window(struct scorer *s, const int32_t *ids, struct gate_width_loss *out,
                                 struct assay_error *error)
{
    double base = 0.0, difference = 0.0;
    for (int i = 0; i < 2; i++)
        assay_session_reset(s->session[i]);
    for (int64_t begin = 0; begin < s->window; begin += WIDTH) {
        TRY(step(s, ids + begin, out, &base, &difference, error));
        if ((begin + WIDTH) % SEGMENT != 0 && begin + WIDTH < s->window)
            continue;
        s->base[s->num_segments] = base;
        s->difference[s->num_segments++] = difference;
        base = difference = 0.0;
    }
    return ASSAY_OK;
}

static assay_status score_text(struct scorer *s, const char *text, struct gate_width_loss *out,
                               struct assay_error *error)
{
    int32_t *ids = NULL;
    size_t num_ids = 0;
    snprintf(out->text, sizeof out->text, "%s", text);
    TRY(gate_bench_text(s->bench, text, &ids, &num_ids, error));
    /* The token behind a window is scored. */
    const int64_t last = (int64_t)num_ids - s->window - 1;
    assay_status status = ASSAY_OK;
    for (int w = 0; w < s->num_windows && last >= 0 && status == ASSAY_OK; w++) {
        const int64_t begin = s->num_windows > 1 ? last * w / (s->num_windows - 1) : 0;
        status = gate_bench_progress(s->bench, "decode steps of 16 columns", s->windows_done++,
                                     (int64_t)s->num_windows * GATE_MAX_TEXTS, error);
        if (status == ASSAY_OK)
            status = score_window(s, ids + begin, out, error);
    }
    assay_tokens_free(ids);
    for (int i = 0; i < 2; i++) {
        s->total[i] += out->mean[i];
        out->mean[i] /= (double)(out->tokens > 0 ? out->tokens : 1);
    }
    s->tokens += out->tokens;
    s->changed += out->changed;
    return status;
}

static assay_status open_scorer(struct scorer *s, struct assay_error *error)
{
    const struct gate_bench *const bench = s->bench;
    const int64_t positions = assay_model_config(bench->model)->max_positions;
    struct assay_session_options options = assay_session_defaults();
    s->window = bench->options->quick ? QUICK_WINDOW : WINDOW;
    if (s->window > positions)
        s->window = positions / WIDTH * WIDTH;
    s->num_windows = bench->options->quick ? QUICK_WINDOWS : WINDOWS;
    options.capacity = s->window;
    for (int i = 0; i < 2; i++) {
        s->logits[i] = malloc((size_t)(WIDTH * bench->vocab) * sizeof **s->logits);
        if (s->logits[i] == NULL || s->window == 0)
            return assay_fail(error, ASSAY_E_MEMORY, "gate", "nll-width",
                              "no memory for logits, or no room for %d positions", WIDTH);
        options.trades = i == 0 ? bench->trades_without : bench->trades_with;
        TRY(assay_session_create(i == 0 ? bench->without : bench->with, bench->model, &options,
                                 &s->session[i], error));
    }
    return ASSAY_OK;
}

static assay_status fill(const struct scorer *s, struct assay_error *error)
{
    struct gate_result *const result = s->bench->result;
    struct gate_item *const item = &result->item[GATE_NLL_WIDTH];
    struct gate_change *const change = &result->change[2];
    if (s->tokens == 0)
        return assay_fail(error, ASSAY_E_CORRUPT, "gate", "nll-width",
                          "the held-out texts are shorter than a window of %lld tokens",
                          (long long)s->window);
    const double share = (double)s->changed / (double)s->tokens;
    TRY(gate_change_estimate(s->base, s->difference, s->num_segments,
                             s->bench->options->seed * 2 + 3, change, error));
    item->taken = GATE_TAKEN;
    result->measured[GATE_LIMIT_WIDTH_TOKENS] = (double)s->tokens;
    result->measured[GATE_LIMIT_WIDTH_CHANGE] = change->high;
    result->measured[GATE_LIMIT_WIDTH_CHOICES] = share;
    snprintf(item->note, sizeof item->note,
             "%.6f nats a token without, change %+.2e (95 %%: %+.2e to %+.2e, standard error "
             "%.1e); %lld of %lld choices changed",
             s->total[0] / (double)s->tokens, change->mean, change->low, change->high,
             change->standard_error, (long long)s->changed, (long long)s->tokens);
    return ASSAY_OK;
}

assay_status gate_collect_width(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_result *const result = bench->result;
    struct scorer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "nll-width", "no memory");
    s->bench = bench;
    gate_bench_coverage_begin(bench);
    assay_status status = open_scorer(s, error);
    for (int i = 0; i < GATE_MAX_TEXTS && status == ASSAY_OK; i++) {
        status = score_text(s, gate_texts[i], &result->width_loss[i], error);
        result->num_width_losses = i + 1;
    }
    if (status == ASSAY_OK)
        status = fill(s, error);
    result->item[GATE_NLL_WIDTH].coverage = gate_bench_extra_coverage(bench, GATE_NLL_WIDTH);
    for (int i = 0; i < 2; i++) {
        assay_session_destroy(s->session[i]);
        free(s->logits[i]);
    }
    free(s);
    return status;
}
