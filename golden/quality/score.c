/* SPDX-License-Identifier: MIT
 *
 * Walks windows token by token, all sources and lanes side by side.
 */
#include "score.h"

#include <math.h>
#include <stdlib.h>

#include "gate_try.h"

static bool allocate(struct score_table *table)
{
    const size_t count = (size_t)table->num_tokens;
    bool good = true;
    for (int s = 0; s < table->num_sources; s++) {
        table->nll[s] = calloc(count, sizeof *table->nll[s]);
        good = good && table->nll[s] != NULL;
    }
    for (int p = 0; p < table->num_pairs; p++) {
        struct score_pair *pair = &table->pair[p];
        pair->kl = calloc(count, sizeof *pair->kl);
        pair->right = calloc(count, sizeof *pair->right);
        pair->same_top = calloc(count, 1);
        pair->shared_top = calloc(count, 1);
        good = good && pair->kl != NULL && pair->right != NULL && pair->same_top != NULL &&
               pair->shared_top != NULL;
    }
    return good;
}

void score_table_free(struct score_table *table)
{
    for (int s = 0; s < table->num_sources; s++)
        free(table->nll[s]);
    for (int p = 0; p < table->num_pairs; p++) {
        struct score_pair *pair = &table->pair[p];
        free(pair->kl);
        free(pair->right);
        free(pair->same_top);
        free(pair->shared_top);
    }
    *table = (struct score_table){0};
}

/* What the table keeps of the token `target`, number i. */
static void keep(struct score_source *const *sources, int64_t i, int32_t target,
                 struct score_table *table)
{
    for (int s = 0; s < table->num_sources; s++) {
        const struct distribution *d = &sources[s]->distribution;
        table->nll[s][i] = d->finite ? -d->log_p[target] : NAN;
    }
    for (int p = 0; p < table->num_pairs; p++) {
        struct score_pair *pair = &table->pair[p];
        const struct distribution_change change = distribution_compare(
            &sources[pair->base]->distribution, &sources[pair->other]->distribution, target);
        pair->kl[i] = change.kl;
        pair->right[i] = change.right;
        pair->same_top[i] = change.same_top;
        pair->shared_top[i] = (uint8_t)change.shared_top;
    }
}

/* Windows w, w + 1, ... of the plan, as many as there are lanes. */
static struct score_batch batch_of(const struct score_text *texts, const struct score_plan *plan,
                                   int64_t w, int num_lanes)
{
    struct score_batch batch = {.num_lanes = num_lanes};
    for (int lane = 0; lane < num_lanes; lane++) {
        const int64_t number = w + lane < plan->num_windows ? w + lane : w;
        const struct score_window *window = &plan->windows[number];
        batch.ids[lane] = texts[window->text].ids + window->begin;
        batch.inputs[lane] = window->length - 1; /* the last token is a target only */
        batch.first[lane] = window->first - 1;
        if (batch.inputs[lane] > batch.longest)
            batch.longest = batch.inputs[lane];
    }
    return batch;
}

static assay_status score_batch(struct score_source *const *sources, const struct score_text *texts,
                                const struct score_plan *plan, int64_t w, int num_lanes,
                                struct score_table *table, struct assay_error *error)
{
    const struct score_batch batch = batch_of(texts, plan, w, num_lanes);
    for (int s = 0; s < table->num_sources; s++)
        TRY(score_source_reset(sources[s], error));
    for (int64_t at = 0; at < batch.longest; at++)
        for (int lane = 0; lane < num_lanes && w + lane < plan->num_windows; lane++) {
            const int64_t row = plan->windows[w + lane].at + at - batch.first[lane];
            if (at < batch.first[lane] || at >= batch.inputs[lane])
                continue;
            for (int s = 0; s < table->num_sources; s++)
                TRY(score_source_row(sources[s], &batch, lane, at, error));
            keep(sources, row, batch.ids[lane][at + 1], table);
        }
    return ASSAY_OK;
}

assay_status score_run(struct score_source *const *sources, int num_sources,
                       const struct score_text *texts, const struct score_plan *plan,
                       score_progress *progress, void *user, struct score_table *table,
                       struct assay_error *error)
{
    const int num_lanes = sources[0]->setting.num_lanes;
    table->num_tokens = plan->num_tokens;
    table->num_sources = num_sources;
    if (!allocate(table))
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "score", "no memory for %lld tokens",
                          (long long)plan->num_tokens);
    for (int64_t w = 0; w < plan->num_windows; w += num_lanes) {
        const struct score_window *window = &plan->windows[w];
        if (progress != NULL && !progress(user, window->at, plan->num_tokens))
            return assay_fail(error, ASSAY_E_CANCELLED, "quality", "score",
                              "stopped after %lld of %lld tokens", (long long)window->at,
                              (long long)plan->num_tokens);
        TRY(score_batch(sources, texts, plan, w, num_lanes, table, error));
    }
    return ASSAY_OK;
}
