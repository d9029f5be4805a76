/* SPDX-License-Identifier: MIT
 *
 * Evidence nll-decode, nll-prefill and baseline: the loss (negative log likelihood, nats) on
 * held-out texts, without and with the trade on the same tokens.
 *
 * Texts are scored in windows that begin with an empty state. Through the decode path every token
 * passes gdn_recurrent, so the state is stored after every token; through the prefill path it
 * passes gdn_chunked. The change is paired: the mean of per-token differences, with a bootstrap
 * interval over segments of a window, since neighbouring losses are not independent.
 *
 * The baseline check compares the losses without the trade with the model's FP64 reference, on the
 * tokens whose context is the same there: the reference has windows of 1024 at multiples of 512 and
 * scores the second half of each (of the first one all). A slim file of references has the parts
 * that the windows below need in the place of whole texts.
 */
#include "gate_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "oracle_archive.h"

enum {
    WINDOW = 1024,
    QUICK_WINDOW = 704,
    STRIDE = 512,
    WINDOWS = 8, /* of each text */
    QUICK_WINDOWS = 1,
    SEGMENT = 64,
    MAX_SEGMENTS = GATE_MAX_TEXTS * WINDOWS * (WINDOW / SEGMENT),
    LOGIT_FLOATS = 1 << 22 /* of one piece's logits, at most */
};

/* The four ways a window is scored; order of gate_loss.mean. Odd: with the trade. */
enum way { DECODE_WITHOUT, DECODE_WITH, PREFILL_WITHOUT, PREFILL_WITH, NUM_WAYS };

struct scorer {
    struct gate_bench *bench;
    assay_session *session[NUM_WAYS];
    uint64_t coverage[NUM_WAYS][ASSAY_NUM_TRADES];
    int64_t window, piece; /* tokens */
    float *logits[2];      /* without, with the trade */
    struct distribution distribution[2];
    double *loss[NUM_WAYS]; /* of the window's tokens 1 .. */
    double total[NUM_WAYS];
    int64_t tokens;
    /* sums over segments: loss without, difference with - without; decode and prefill */
    double *base[2], *difference[2];
    int64_t num_segments;
    double reference_sum, baseline_sum;
    int64_t reference_tokens;
    int64_t windows_done, windows_total;
};

/* ---- scoring -------------------------------------------------------------------------------- */

/* Losses of the piece's tokens, whose first is ids[begin], without or with the trade. */
static assay_status score_piece(struct scorer *s, enum way way, const int32_t *ids, int64_t begin,
                                int64_t length, struct assay_error *error)
{
    const int64_t vocab = s->bench->vocab;
    float *logits = s->logits[way % 2];
    TRY(assay_session_forward(s->session[way], ids + begin, length, ASSAY_LOGITS_ALL, logits,
                              error));
    for (int64_t t = 0; t < length; t++) {
        const double value = gate_token_loss(logits + t * vocab, vocab, ids[begin + t + 1]);
        s->loss[way][begin + t] = value;
        s->total[way] += value;
    }
    return ASSAY_OK;
}

static int kl_bin(double kl)
{
    if (!(kl >= GATE_KL_LOWEST))
        return isnan(kl) ? GATE_KL_BINS - 1 : 0;
    const double bin = 1.0 + floor(2.0 * log10(kl / GATE_KL_LOWEST));
    return bin < GATE_KL_BINS - 1 ? (int)bin : GATE_KL_BINS - 1;
}

/* How far the distributions of a piece lie apart, both of which are in s->logits. */
static void compare_piece(struct scorer *s, int path, const int32_t *targets, int64_t length)
{
    struct gate_kl *kl = &s->bench->result->kl[path];
    for (int64_t t = 0; t < length; t++) {
        for (int i = 0; i < 2; i++)
            distribution_of_f32(&s->distribution[i], s->logits[i] + t * s->bench->vocab);
        const struct distribution_change change =
            distribution_compare(&s->distribution[0], &s->distribution[1], targets[t]);
        kl->count++;
        kl->same_top += change.same_top;
        kl->bin[kl_bin(change.kl)]++;
        kl->sum += change.kl;
        kl->max = fmax(kl->max, change.kl);
    }
}

/* Losses of tokens 1 .. count-1 of a window through one path: decode (0) or prefill (1). */
static assay_status score(struct scorer *s, int path, const int32_t *ids, int64_t count,
                          struct assay_error *error)
{
    const enum way without = path == 0 ? DECODE_WITHOUT : PREFILL_WITHOUT;
    const enum way with = path == 0 ? DECODE_WITH : PREFILL_WITH;
    gate_bench_coverage_begin(s->bench);
    assay_session_reset(s->session[without]);
    assay_session_reset(s->session[with]);
    for (int64_t begin = 0; begin < count - 1; begin += s->piece) {
        const int64_t left = count - 1 - begin;
        const int64_t length = left < s->piece ? left : s->piece;
        TRY(score_piece(s, without, ids, begin, length, error));
        TRY(score_piece(s, with, ids, begin, length, error));
        compare_piece(s, path, ids + begin + 1, length);
    }
    gate_bench_coverage_add(s->bench, s->bench->without, s->coverage[without]);
    gate_bench_coverage_add(s->bench, s->bench->with, s->coverage[with]);
    return ASSAY_OK;
}

static void add_segments(struct scorer *s, int64_t scored)
{
    for (int64_t begin = 0; begin < scored; begin += SEGMENT) {
        if (s->num_segments == MAX_SEGMENTS)
            return;
        for (int path = 0; path < 2; path++) {
            const double *without = s->loss[2 * path], *with = s->loss[2 * path + 1];
            double base = 0.0, difference = 0.0;
            for (int64_t t = begin; t < begin + SEGMENT && t < scored; t++) {
                base += without[t];
                difference += with[t] - without[t];
            }
            s->base[path][s->num_segments] = base;
            s->difference[path][s->num_segments] = difference;
        }
        s->num_segments++;
    }
}

/* A model's FP64 losses of one text. Entry i of `all` is the loss of token i + 1; a file without it
 * has parts instead, TEXT@FIRST with the entries from FIRST on. */
struct reference {
    struct oracle_archive *archive; /* NULL: there is none */
    const char *text;
    double *all;
    int64_t num_all;
};

static assay_status open_reference(const struct gate_bench *bench, const char *text,
                                   struct reference *reference, struct assay_error *error)
{
    char path[1300], message[256] = "";
    *reference = (struct reference){.text = text};
    if (bench->references[0] == '\0')
        return ASSAY_OK;
    gate_bench_losses(bench, path, sizeof path);
    assay_status status = oracle_archive_open(path, &reference->archive, message, sizeof message);
    if (status != ASSAY_OK)
        return assay_fail(error, status, "gate", path, "%s", message);
    status = oracle_archive_read(reference->archive, text, &reference->all, &reference->num_all,
                                 message, sizeof message);
    return status == ASSAY_OK || status == ASSAY_E_NOT_FOUND
               ? ASSAY_OK
               : assay_fail(error, status, "gate", path, "%s", message);
}

static void close_reference(struct reference *reference)
{
    free(reference->all);
    oracle_archive_close(reference->archive);
}

/* The losses of the window's tokens whose context is the same in the reference. */
static assay_status add_reference(struct scorer *s, const struct reference *reference,
                                  int64_t begin, int64_t scored, struct assay_error *error)
{
    const int64_t first = begin == 0 ? 0 : STRIDE - 1;
    const double *losses = reference->all == NULL ? NULL : reference->all + begin + first;
    int64_t num = reference->num_all - begin - first;
    double *part = NULL;
    char name[80], message[256] = "";
    if (losses == NULL) {
        snprintf(name, sizeof name, "%.40s@%lld", reference->text, (long long)(begin + first));
        const assay_status status =
            oracle_archive_read(reference->archive, name, &part, &num, message, sizeof message);
        if (status != ASSAY_OK)
            return assay_fail(error, status, "gate", "baseline", "%s: %s", s->bench->references,
                              message);
        losses = part;
    }
    for (int64_t t = 0; first + t < scored && t < num; t++) {
        s->reference_sum += losses[t];
        s->baseline_sum += s->loss[PREFILL_WITHOUT][first + t];
        s->reference_tokens++;
    }
    free(part);
    return ASSAY_OK;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Where the w-th of count windows begins: even distances, multiples of STRIDE. */
static int64_t window_begin(const struct scorer *s, int64_t num_ids, int w, int count)
{
    const int64_t last = num_ids > s->window ? (num_ids - s->window) / STRIDE : 0;
    return count <= 1 ? 0 : last * w / (count - 1) * STRIDE;
}

static assay_status score_windows(struct scorer *s, const int32_t *ids, int64_t num_ids,
                                  const struct reference *reference, struct gate_loss *out,
                                  struct assay_error *error)
{
    const int count = s->bench->options->quick ? QUICK_WINDOWS : WINDOWS;
    int64_t previous = -1;
    double before[NUM_WAYS];
    memcpy(before, s->total, sizeof before);
    for (int w = 0; w < count; w++) {
        const int64_t begin = window_begin(s, num_ids, w, count);
        const int64_t left = num_ids - begin, length = left < s->window ? left : s->window;
        TRY(gate_bench_progress(s->bench, "held-out text", s->windows_done++, s->windows_total,
                                error));
        if (begin == previous || length < 2)
            continue; /* a short text has fewer windows */
        previous = begin;
        for (int path = 0; path < 2; path++)
            TRY(score(s, path, ids + begin, length, error));
        add_segments(s, length - 1);
        if (reference->archive != NULL && (begin == 0 || s->window == WINDOW))
            TRY(add_reference(s, reference, begin, length - 1, error));
        out->tokens += length - 1;
    }
    s->tokens += out->tokens;
    for (int way = 0; way < NUM_WAYS && out->tokens > 0; way++)
        out->mean[way] = (s->total[way] - before[way]) / (double)out->tokens;
    return ASSAY_OK;
}

static assay_status score_text(struct scorer *s, const char *text, struct gate_loss *out,
                               struct assay_error *error)
{
    struct reference reference;
    int32_t *ids = NULL;
    size_t num_ids = 0;
    snprintf(out->text, sizeof out->text, "%s", text);
    TRY(gate_bench_text(s->bench, text, &ids, &num_ids, error));
    assay_status status = open_reference(s->bench, text, &reference, error);
    if (status == ASSAY_OK)
        status = score_windows(s, ids, (int64_t)num_ids, &reference, out, error);
    close_reference(&reference);
    assay_tokens_free(ids);
    return status;
}

/* ---- what was measured ---------------------------------------------------------------------- */

static void fill_baseline(const struct scorer *s)
{
    struct gate_result *result = s->bench->result;
    struct gate_item *item = &result->item[GATE_BASELINE];
    if (s->bench->references_unknown) {
        snprintf(item->note, sizeof item->note,
                 "whether the model has a reference is unknown: gate/bundled.json of the golden "
                 "data cannot be read");
        return;
    }
    if (s->reference_tokens == 0) {
        item->taken = GATE_NOT_APPLICABLE;
        snprintf(item->note, sizeof item->note, "there is no FP64 reference of this model");
        return;
    }
    item->taken = GATE_TAKEN;
    result->measured[GATE_LIMIT_BASELINE_DIFFERENCE] =
        fabs(s->baseline_sum - s->reference_sum) / fabs(s->reference_sum);
    snprintf(item->note, sizeof item->note, "%.6f nats a token, reference %.6f, on %lld tokens",
             s->baseline_sum / (double)s->reference_tokens,
             s->reference_sum / (double)s->reference_tokens, (long long)s->reference_tokens);
}

static assay_status fill(const struct scorer *s, struct assay_error *error)
{
    static const enum gate_evidence evidence[] = {GATE_NLL_DECODE, GATE_NLL_PREFILL};
    static const enum gate_limit tokens[] = {GATE_LIMIT_DECODE_TOKENS, GATE_LIMIT_PREFILL_TOKENS};
    static const enum gate_limit changes[] = {GATE_LIMIT_DECODE_CHANGE, GATE_LIMIT_PREFILL_CHANGE};
    struct gate_result *result = s->bench->result;
    if (s->tokens == 0)
        return assay_fail(error, ASSAY_E_CORRUPT, "gate", "nll", "the held-out texts are empty");
    for (int path = 0; path < 2; path++) {
        struct gate_change *change = &result->change[path];
        struct gate_item *item = &result->item[evidence[path]];
        TRY(gate_change_estimate(s->base[path], s->difference[path], s->num_segments,
                                 s->bench->options->seed * 2 + (uint64_t)path + 1, change, error));
        item->taken = GATE_TAKEN;
        /* Routes that both settings take are not the trade's. */
        item->coverage = gate_bench_extra(s->bench, evidence[path], s->coverage[2 * path],
                                          s->coverage[2 * path + 1]);
        result->measured[tokens[path]] = (double)s->tokens;
        result->measured[changes[path]] = change->high;
        snprintf(item->note, sizeof item->note,
                 "%.6f nats a token without, change %+.2e (95 %%: %+.2e to %+.2e, standard error "
                 "%.1e)",
                 s->total[2 * path] / (double)s->tokens, change->mean, change->low, change->high,
                 change->standard_error);
    }
    fill_baseline(s);
    return ASSAY_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static assay_status open_scorer(struct scorer *s, struct assay_error *error)
{
    const int64_t positions = assay_model_config(s->bench->model)->max_positions;
    const int64_t rows = LOGIT_FLOATS / s->bench->vocab;
    s->window = s->bench->options->quick ? QUICK_WINDOW : WINDOW;
    if (s->window > positions)
        s->window = positions;
    s->piece = rows < 16 ? 16 : rows > 512 ? 512 : rows;
    bool good = true;
    for (int i = 0; i < 2; i++) {
        s->logits[i] = malloc((size_t)(s->piece * s->bench->vocab) * sizeof **s->logits);
        good = good && s->logits[i] != NULL;
        good = distribution_alloc(&s->distribution[i], s->bench->vocab) && good;
    }
    for (int path = 0; path < 2; path++) {
        s->base[path] = calloc(MAX_SEGMENTS, sizeof **s->base);
        s->difference[path] = calloc(MAX_SEGMENTS, sizeof **s->difference);
        good = good && s->base[path] != NULL && s->difference[path] != NULL;
    }
    for (int way = 0; way < NUM_WAYS; way++) {
        struct assay_session_options options = assay_session_defaults();
        const bool with = way == DECODE_WITH || way == PREFILL_WITH;
        options.capacity = s->window;
        options.prefill_chunk = s->piece;
        options.recurrent_limit = way == DECODE_WITHOUT || way == DECODE_WITH ? s->piece : 0;
        options.trades = with ? s->bench->trades_with : s->bench->trades_without;
        TRY(assay_session_create(with ? s->bench->with : s->bench->without, s->bench->model,
                                 &options, &s->session[way], error));
        s->loss[way] = calloc((size_t)s->window, sizeof **s->loss);
        good = good && s->loss[way] != NULL;
    }
    return good ? ASSAY_OK : assay_fail(error, ASSAY_E_MEMORY, "gate", "nll", "no memory");
}

static void close_scorer(struct scorer *s)
{
    for (int way = 0; way < NUM_WAYS; way++) {
        assay_session_destroy(s->session[way]);
        free(s->loss[way]);
    }
    for (int path = 0; path < 2; path++) {
        free(s->base[path]);
        free(s->difference[path]);
    }
    for (int i = 0; i < 2; i++) {
        free(s->logits[i]);
        distribution_free(&s->distribution[i]);
    }
}

assay_status gate_collect_nll(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_result *result = bench->result;
    struct scorer s = {.bench = bench};
    s.windows_total = (int64_t)GATE_MAX_TEXTS * (bench->options->quick ? QUICK_WINDOWS : WINDOWS);
    assay_status status = open_scorer(&s, error);
    for (int i = 0; i < GATE_MAX_TEXTS && status == ASSAY_OK; i++) {
        status = score_text(&s, gate_texts[i], &result->loss[i], error);
        result->num_losses = i + 1;
    }
    if (status == ASSAY_OK)
        status = fill(&s, error);
    close_scorer(&s);
    return status;
}
