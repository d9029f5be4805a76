/* SPDX-License-Identifier: MIT
 *
 * Scripts: the same tokens to sessions that run them in different ways.
 */
#include "replay_play.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char play_error[1024];
int64_t play_position;
int32_t play_id;
assay_trade_set play_trades;

enum { PREFILL_CHUNK = 256 };

static bool good(assay_status status, const struct assay_error *error)
{
    if (status != ASSAY_OK)
        assay_error_format(error, play_error, sizeof play_error);
    return status == ASSAY_OK;
}

bool player_open(struct player *player, const assay_model *model, const struct player *beside,
                 bool graphs, const char *route)
{
    struct assay_error error = {.status = ASSAY_OK};
    *player = (struct player){.model = model, .owns_context = beside == NULL};
    struct assay_context_options context = assay_context_defaults();
    context.backend = ASSAY_CUDA;
    if (beside != NULL)
        player->context = beside->context;
    else if (!good(assay_context_create(&context, &player->context, &error), &error))
        return false;
    if (route != NULL && !good(assay_context_force_route(player->context, route),
                               assay_context_error(player->context)))
        return false;
    struct assay_session_options session = assay_session_defaults();
    session.capacity = PLAY_CAPACITY;
    session.prefill_chunk = PREFILL_CHUNK;
    session.trades = play_trades;
    session.cuda_graphs = graphs ? ASSAY_CUDA_GRAPHS_ON : ASSAY_CUDA_GRAPHS_OFF;
    return good(assay_session_create(player->context, model, &session, &player->session, &error),
                &error);
}

void player_close(struct player *player)
{
    for (int i = 0; i < player->num_old_pools; i++)
        assay_buffer_destroy(player->context, player->old_pools[i]);
    assay_session_destroy(player->session);
    if (player->owns_context)
        assay_context_destroy(player->context);
    *player = (struct player){0};
}

static int32_t token(const struct script *script, int64_t position)
{
    const uint32_t mixed = ((uint32_t)position + 1) * 2654435761u ^ (script->salt * 40503u);
    return (int32_t)(mixed >> 8) % 2000;
}

static bool feed(struct player *player, const struct script *script, int64_t num_ids,
                 enum assay_logits which, float *logits)
{
    struct assay_error error = {.status = ASSAY_OK};
    int32_t *ids = malloc((size_t)num_ids * sizeof *ids);
    if (ids == NULL)
        return false;
    play_position = assay_session_length(player->session);
    for (int64_t i = 0; i < num_ids; i++)
        ids[i] = token(script, play_position + i);
    play_id = ids[0];
    const bool fed =
        good(assay_session_forward(player->session, ids, num_ids, which, logits, &error), &error);
    free(ids);
    return fed;
}

bool play_prefill(struct player *player, const struct script *script)
{
    assay_session_reset(player->session);
    /* In passes that are no decode steps, so that the steps alone make graphs. */
    for (int64_t left = script->prefill; left > 0;) {
        const int64_t count = left > PREFILL_CHUNK + 16 ? PREFILL_CHUNK
                              : left > PREFILL_CHUNK    ? left - PREFILL_CHUNK / 2
                                                        : left;
        if (!feed(player, script, count, ASSAY_LOGITS_NONE, NULL))
            return false;
        left -= count;
    }
    return true;
}

bool play_step(struct player *player, const struct script *script, float *logits)
{
    const enum assay_logits which = logits == NULL       ? ASSAY_LOGITS_NONE
                                    : script->all_logits ? ASSAY_LOGITS_ALL
                                                         : ASSAY_LOGITS_LAST;
    return feed(player, script, script->width, which, logits);
}

/* All recurrent states behind the logits. */
static bool read_states(struct player *player, float *to)
{
    const struct assay_model_config *config = assay_model_config(player->model);
    const int64_t size =
        config->linear_value_heads * config->linear_key_dim * config->linear_value_dim;
    for (int64_t i = 0; i < config->num_layers; i++) {
        struct assay_error error = {.status = ASSAY_OK};
        if (config->layers[i] != ASSAY_LAYER_LINEAR)
            continue;
        if (!good(assay_session_gdn_state(player->session, i, to, &error), &error))
            return false;
        to += size;
    }
    return true;
}

bool play(struct player *player, const struct script *script, between_steps *between, void *user,
          struct trace *trace)
{
    const struct assay_model_config *config = assay_model_config(player->model);
    const int64_t state =
        config->linear_value_heads * config->linear_key_dim * config->linear_value_dim;
    const int64_t row = config->vocab_size * (script->all_logits ? script->width : 1);
    trace->count = script->steps * row + config->num_layers * state;
    trace->values = calloc((size_t)trace->count, sizeof *trace->values);
    if (trace->values == NULL || !play_prefill(player, script))
        return false;
    for (int64_t step = 0; step < script->steps; step++) {
        if (between != NULL && !between(player, step, user))
            return false;
        if (!play_step(player, script, trace->values + step * row))
            return false;
    }
    return read_states(player, trace->values + script->steps * row);
}

void trace_free(struct trace *trace)
{
    free(trace->values);
    *trace = (struct trace){0};
}

bool trace_same(const struct trace *a, const struct trace *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < a->count; i++) {
        sum += fabs((double)a->values[i]);
        if (memcmp(a->values + i, b->values + i, sizeof *a->values) == 0)
            continue;
        snprintf(play_error, sizeof play_error, "value %lld of %lld: %.9g and %.9g", (long long)i,
                 (long long)a->count, (double)a->values[i], (double)b->values[i]);
        return false;
    }
    if (isfinite(sum) && sum > 0.0)
        return true;
    snprintf(play_error, sizeof play_error, "the values are zero or not finite");
    return false;
}
