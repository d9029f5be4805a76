/* SPDX-License-Identifier: MIT
 *
 * Evidence nll-width: the loss on held-out texts through decode steps of WIDTH columns, as the
 * verification of drafts runs them, without and with the trade on the same tokens; and how often
 * the likeliest token is another one. Most steps are of one sequence, some of LANES at once.
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
    QUICK_WINDOW = 448,
    WINDOWS = 3, /* of each text, one after the other */
    QUICK_WINDOWS = 1,
    LANES = 8, /* and as many side by side, */
    LANE_WINDOW = 128,
    QUICK_LANE_WINDOW = 32,
    SEGMENT = 64, /* tokens: neighbouring losses are not independent */
    MAX_SEGMENTS = GATE_MAX_TEXTS * (WINDOWS * (WINDOW / SEGMENT) + LANES * (LANE_WINDOW / SEGMENT))
};

struct scorer {
    struct gate_bench *bench;
    assay_session *session[2][LANES]; /* without and with the trade */
    int64_t window, lane_window;
    int num_windows;
    float *logits[2];
    double total[2];
    int64_t tokens, changed;
    double base[MAX_SEGMENTS], difference[MAX_SEGMENTS]; /* of the sums of segments */
    int64_t num_segments, windows_done;
};

/* Windows side by side, and the sums of their present segments. */
struct group {
    int num_lanes;
    int64_t length;
    const int32_t *ids[LANES];
    double base[LANES], difference[LANES];
};

static int32_t likeliest(const float *logits, int64_t count)
{
    int32_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = (int32_t)i;
    return best;
}

/* The losses of one column of a lane, whose next token is `target`. */
static void add_column(struct scorer *s, struct group *group, int lane, int64_t row, int32_t target,
                       struct gate_width_loss *out)
{
    const int64_t vocab = s->bench->vocab;
    const float *const without = s->logits[0] + row * vocab, *const with =
                                                                 s->logits[1] + row * vocab;
    const double loss = gate_token_loss(without, vocab, target);
    const double other = gate_token_loss(with, vocab, target);
    out->mean[0] += loss;
    out->mean[1] += other;
    out->tokens++;
    out->changed +=
        likeliest(without, s->bench->addressable) != likeliest(with, s->bench->addressable);
    group->base[lane] += loss;
    group->difference[lane] += other - loss;
}

/* One step of WIDTH columns of both settings at token `begin` of the group's windows. */
static assay_status step(struct scorer *s, struct group *group, int64_t begin,
                         struct gate_width_loss *out, struct assay_error *error)
{
    const int columns = WIDTH / group->num_lanes;
    int32_t ids[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        ids[i] = group->ids[i / columns][begin + i % columns];
    for (int i = 0; i < 2; i++)
        TRY(group->num_lanes == 1
                ? assay_session_verify(s->session[i][0], ids, WIDTH, s->logits[i], error)
                : assay_session_verify_lanes(s->session[i], group->num_lanes, ids, columns,
                                             s->logits[i], error));
    for (int i = 0; i < WIDTH; i++)
        add_column(s, group, i / columns, i, group->ids[i / columns][begin + i % columns + 1], out);
    return ASSAY_OK;
}

static assay_status score_group(struct scorer *s, struct group *group, struct gate_width_loss *out,
                                struct assay_error *error)
{
    const int columns = WIDTH / group->num_lanes;
    for (int i = 0; i < 2; i++)
        for (int lane = 0; lane < group->num_lanes; lane++)
            assay_session_reset(s->session[i][lane]);
    for (int64_t begin = 0; begin < group->length; begin += columns) {
        TRY(step(s, group, begin, out, error));
        if ((begin + columns) % SEGMENT != 0 && begin + columns < group->length)
            continue;
        for (int lane = 0; lane < group->num_lanes; lane++) {
            s->base[s->num_segments] = group->base[lane];
            s->difference[s->num_segments++] = group->difference[lane];
            group->base[lane] = group->difference[lane] = 0.0;
        }
    }
    return ASSAY_OK;
}

/* Where the window number `w` of `count` begins. The token behind it is scored, too; below 0: the
 * text is too short. */
static int64_t place(size_t num_ids, int64_t length, int w, int count)
{
    const int64_t last = (int64_t)num_ids - length - 1;
    return count > 1 ? last * w / (count - 1) : last < 0 ? last : 0;
}

static assay_status score_windows(struct scorer *s, const int32_t *ids, size_t num_ids,
                                  struct gate_width_loss *out, struct assay_error *error)
{
    const int64_t all = (int64_t)(s->num_windows + 1) * GATE_MAX_TEXTS;
    struct group together = {.num_lanes = LANES, .length = s->lane_window};
    if ((int64_t)num_ids <= s->window)
        return ASSAY_OK;
    for (int w = 0; w < s->num_windows; w++) {
        struct group alone = {.num_lanes = 1, .length = s->window};
        alone.ids[0] = ids + place(num_ids, s->window, w, s->num_windows);
        TRY(gate_bench_progress(s->bench, "decode steps of 16 columns", s->windows_done++, all,
                                error));
        TRY(score_group(s, &alone, out, error));
    }
    for (int lane = 0; lane < LANES; lane++)
        together.ids[lane] = ids + place(num_ids, s->lane_window, lane, LANES);
    TRY(gate_bench_progress(s->bench, "decode steps of 8 lanes", s->windows_done++, all, error));
    return score_group(s, &together, out, error);
}

static assay_status score_text(struct scorer *s, const char *text, struct gate_width_loss *out,
                               struct assay_error *error)
{
    int32_t *ids = NULL;
    size_t num_ids = 0;
    snprintf(out->text, sizeof out->text, "%s", text);
    TRY(gate_bench_text(s->bench, text, &ids, &num_ids, error));
    const assay_status status = score_windows(s, ids, num_ids, out, error);
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
    s->lane_window = bench->options->quick ? QUICK_LANE_WINDOW : LANE_WINDOW;
    if (s->lane_window > s->window)
        s->lane_window = s->window;
    for (int i = 0; i < 2; i++) {
        s->logits[i] = malloc((size_t)(WIDTH * bench->vocab) * sizeof **s->logits);
        if (s->logits[i] == NULL || s->window == 0)
            return assay_fail(error, ASSAY_E_MEMORY, "gate", "nll-width",
                              "no memory for logits, or no room for %d positions", WIDTH);
        options.trades = i == 0 ? bench->trades_without : bench->trades_with;
        for (int lane = 0; lane < LANES; lane++) {
            options.capacity = lane == 0 ? s->window : s->lane_window;
            TRY(assay_session_create(i == 0 ? bench->without : bench->with, bench->model, &options,
                                     &s->session[i][lane], error));
        }
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
        for (int lane = 0; lane < LANES; lane++)
            assay_session_destroy(s->session[i][lane]);
        free(s->logits[i]);
    }
    free(s);
    return status;
}
