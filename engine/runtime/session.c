/* SPDX-License-Identifier: MIT
 *
 * Sessions: creation, the calls that extend a sequence, its states.
 */
#include <assay/device.h>
#include <assay/ops/moe_router.h>

#include "core/core.h"
#include "numeric/float_words.h"
#include "runtime/session_faults.h"
#include "runtime/session_weights.h"
#include "runtime/step_graphs.h"

#define WHERE "session"

enum {
    DEFAULT_CAPACITY = 4096,
    DEFAULT_PREFILL_CHUNK = 512,
    DEFAULT_GDN_CHUNK = 64,
    DEFAULT_RECURRENT_LIMIT = 1,
    LARGEST_GDN_CHUNK = 256 /* [GDNCHUNK-4] */
};

struct assay_session_options assay_session_defaults(void)
{
    const struct assay_session_options options = {0};
    return options;
}

/* ---- creation ------------------------------------------------------------------------------ */

/* `given`, or `fallback` when it is 0; must lie in [1, largest]. */
static assay_status choose(const char *name, int64_t given, int64_t fallback, int64_t largest,
                           int64_t *chosen, struct assay_error *error)
{
    if (given < 0 || given > largest)
        return assay_fail(error, ASSAY_E_ARG, WHERE, name,
                          "must be in 1 .. %lld (0: %lld), is %lld", (long long)largest,
                          (long long)fallback, (long long)given);
    *chosen = given == 0 ? fallback : given;
    return ASSAY_OK;
}

static assay_status set_options(assay_session *session, const struct assay_session_options *options,
                                struct assay_error *error)
{
    const int64_t trained = session->config->max_positions;
    const int64_t positions =
        trained < SESSION_LARGEST_CAPACITY ? trained : SESSION_LARGEST_CAPACITY;
    const int64_t capacity = positions < DEFAULT_CAPACITY ? positions : DEFAULT_CAPACITY;
    ASSAY_TRY(
        choose("capacity", options->capacity, capacity, positions, &session->capacity, error));
    ASSAY_TRY(choose("prefill_chunk", options->prefill_chunk, DEFAULT_PREFILL_CHUNK, INT32_MAX,
                     &session->prefill_chunk, error));
    ASSAY_TRY(choose("gdn_chunk", options->gdn_chunk, DEFAULT_GDN_CHUNK, LARGEST_GDN_CHUNK,
                     &session->schedule.gdn_chunk, error));
    ASSAY_TRY(choose("recurrent_limit", options->recurrent_limit, DEFAULT_RECURRENT_LIMIT,
                     INT32_MAX, &session->schedule.recurrent_limit, error));
    session->chunk_asked = session->prefill_chunk;
    /* No pass is longer than the sequence may become: scratch beyond that is waste. */
    if (session->prefill_chunk > session->capacity)
        session->prefill_chunk = session->capacity;
    return assay_precision_resolve(options->trades, &session->precision, error);
}

static assay_status check_support(assay_context *context, const struct assay_model_config *config,
                                  const struct assay_session_options *options,
                                  struct assay_error *error)
{
    const enum assay_backend backend = assay_context_backend(context);
    if (config->experts_per_token > ASSAY_MOE_MOST || config->num_experts > ASSAY_MOE_EXPERTS_MOST)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, "model",
                          "%lld of %lld experts a token, this version has at most %d of %d",
                          (long long)config->experts_per_token, (long long)config->num_experts,
                          ASSAY_MOE_MOST, ASSAY_MOE_EXPERTS_MOST);
    if ((unsigned)options->cuda_graphs > ASSAY_CUDA_GRAPHS_OFF)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "cuda_graphs", "is %d, no such choice",
                          (int)options->cuda_graphs);
    if (options->cuda_graphs == ASSAY_CUDA_GRAPHS_ON && backend != ASSAY_CUDA)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, "cuda_graphs",
                          "only backend cuda has graphs, this context is %s",
                          assay_backend_name(backend));
    return ASSAY_OK;
}

/* The weights where the context's ops can read them. */
static assay_status set_weights(assay_session *session, struct assay_error *error)
{
    if (!assay_model_can_run(session->model))
        return assay_fail(error, ASSAY_E_ARG, WHERE, "model",
                          "was opened to read its rows; open it with assay_model_open");
    return session_weights_acquire(session->context, session->model, &session->precision,
                                   &session->schedule.weights, error);
}

static bool has_grouped_layers(const assay_session *session)
{
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        const struct layer_weights *const layer = &session->schedule.weights->layers[i];
        const struct assay_weights *const mixer = layer->kind == ASSAY_LAYER_FULL
                                                      ? &layer->mixer.attention.q_proj
                                                      : &layer->mixer.gdn.in_proj_qkv;
        if (mixer->format != ASSAY_WEIGHT_BF16 ||
            layer->mlp.gate_proj.format != ASSAY_WEIGHT_BF16 ||
            layer->mlp.up_proj.format != ASSAY_WEIGHT_BF16 ||
            layer->mlp.down_proj.format != ASSAY_WEIGHT_BF16)
            return true;
    }
    return false;
}

/* Integer products are of grouped matrices. */
static void tell_no_effect(const assay_session *session, assay_trade_set trades)
{
    static const enum assay_trade integer[] = {ASSAY_TRADE_NO_PREFILL_A8, ASSAY_TRADE_MLP_A8_DECODE,
                                               ASSAY_TRADE_PREFILL_CUBLAS};
    if (has_grouped_layers(session))
        return;
    for (size_t i = 0; i < sizeof integer / sizeof *integer; i++)
        if ((trades >> integer[i] & 1u) != 0)
            assay_log(1,
                      "%s: the model's layers are stored as bf16, which no integer product takes; "
                      "the option changes nothing until the model is converted (assay convert)",
                      assay_trade_name(integer[i]));
}

static assay_status initialise(assay_session *session, const struct assay_session_options *options,
                               struct assay_error *error)
{
    ASSAY_TRY(check_support(session->context, session->config, options, error));
    ASSAY_TRY(set_options(session, options, error));
    const enum assay_backend backend = assay_context_backend(session->context);
    session->by_record = backend != ASSAY_CPU;
    session->schedule.context = session->context;
    session->schedule.config = session->config;
    ASSAY_TRY(set_weights(session, error));
    tell_no_effect(session, options->trades);
    ASSAY_TRY(session_allocate(session, error));
    ASSAY_TRY(session_history_allocate(session, error));
    ASSAY_TRY(session_plan_workspace(session, error));
    if (backend == ASSAY_CUDA && options->cuda_graphs != ASSAY_CUDA_GRAPHS_OFF) {
        session->graphs = step_graphs_create();
        if (session->graphs == NULL)
            return assay_fail(error, ASSAY_E_MEMORY, WHERE, "cuda_graphs", "no memory");
    }
    assay_session_reset(session);
    return session->broken
               ? session_op_error(session, assay_context_error(session->context)->status, error)
               : ASSAY_OK;
}

assay_status assay_session_create(assay_context *context, const assay_model *model,
                                  const struct assay_session_options *options,
                                  assay_session **session, struct assay_error *error)
{
    *session = NULL;
    if (context == NULL || model == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, context == NULL ? "context" : "model",
                          "must not be NULL");
    const struct assay_session_options defaults = assay_session_defaults();
    assay_session *created = assay_alloc_zero(1, sizeof *created);
    if (created == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "session", "no memory");
    created->options = options == NULL ? defaults : *options;
    created->checkpoint.length = -1;
    created->context = context;
    created->model = model;
    created->config = assay_model_config(model);
    created->on_device = assay_on_device(context);
    const assay_status status = initialise(created, &created->options, error);
    if (status != ASSAY_OK) {
        assay_session_destroy(created);
        return status;
    }
    *session = created;
    return ASSAY_OK;
}

void assay_session_destroy(assay_session *session)
{
    if (session == NULL)
        return;
    step_graphs_destroy(session->graphs);
    session_history_free(session);
    session_free(session);
    session_weights_release(session->schedule.weights);
    assay_free(session);
}

void assay_session_reset(assay_session *session)
{
    const bool keep = SESSION_FAULT(RESET_KEEPS_STATES) && session->length > 0;
    session->length = 0;
    session->checkpoint.length = -1;
    session->broken = session->state_memory != NULL && !keep &&
                      assay_buffer_fill(session->context, session->state_memory, 0,
                                        session->state_bytes) != ASSAY_OK;
}

int64_t assay_session_length(const assay_session *session)
{
    return session->length;
}

bool assay_session_broken(const assay_session *session)
{
    return session->broken;
}

/* ---- passes -------------------------------------------------------------------------------- */

assay_status session_op_error(const assay_session *session, assay_status status,
                              struct assay_error *error)
{
    const struct assay_error *found = assay_context_error(session->context);
    if (error != NULL && error->status == ASSAY_OK)
        *error = *found;
    /* An op that failed without a record would be a bug; the caller still gets a message. */
    return assay_fail(error, status, WHERE, "forward", "an op failed with %s",
                      assay_status_name(status));
}

assay_status session_check(const assay_session *session, const int32_t *ids, int64_t num_ids,
                           struct assay_error *error)
{
    const int64_t vocab = session->config->vocab_size;
    ASSAY_TRY(session_whole(session, error));
    if (num_ids < 0 || (ids == NULL && num_ids > 0))
        return assay_fail(error, ASSAY_E_ARG, WHERE, "ids", "%s, num_ids is %lld",
                          ids == NULL ? "is NULL" : "must have a length >= 0", (long long)num_ids);
    for (int64_t i = 0; i < num_ids; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return assay_fail(error, ASSAY_E_RANGE, WHERE, "ids",
                              "id %d at position %lld is outside 0 .. %lld", (int)ids[i],
                              (long long)i, (long long)(vocab - 1));
    if (num_ids > session->capacity - session->length)
        return assay_fail(error, ASSAY_E_FULL, WHERE, "capacity",
                          "%lld tokens after %lld do not fit into %lld", (long long)num_ids,
                          (long long)session->length, (long long)session->capacity);
    return ASSAY_OK;
}

static assay_status check_logits(int64_t num_ids, enum assay_logits which, const float *logits,
                                 struct assay_error *error)
{
    if ((unsigned)which > ASSAY_LOGITS_ALL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "which", "is %d, no kind of logits",
                          (int)which);
    if (which != ASSAY_LOGITS_NONE && logits == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "logits", "must not be NULL");
    if (which == ASSAY_LOGITS_LAST && num_ids == 0)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "ids",
                          "must hold at least one id when the last logits are asked for");
    return ASSAY_OK;
}

assay_status assay_session_forward(assay_session *session, const int32_t *ids, int64_t num_ids,
                                   enum assay_logits which, float *logits,
                                   struct assay_error *error)
{
    if (session == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session", "must not be NULL");
    ASSAY_TRY(session_check(session, ids, num_ids, error));
    ASSAY_TRY(check_logits(num_ids, which, logits, error));
    assay_context_clear_error(session->context);
    for (int64_t done = 0; done < num_ids;) {
        const int64_t left = num_ids - done;
        const int64_t count = left < session->prefill_chunk ? left : session->prefill_chunk;
        enum pass_tail tail = PASS_NONE;
        float *to = logits;
        if (which == ASSAY_LOGITS_ALL) {
            tail = PASS_ALL;
            to = logits + done * session->config->vocab_size;
        } else if (which == ASSAY_LOGITS_LAST && count == left) {
            tail = PASS_LAST;
        }
        const assay_status status =
            session_pass(session, ASSAY_PASS_PREFILL, ids + done, count, tail, to, 0);
        if (status != ASSAY_OK) {
            session->broken = true;
            return session_op_error(session, status, error);
        }
        done += count;
    }
    return ASSAY_OK;
}

assay_status assay_session_verify(assay_session *session, const int32_t *ids, int64_t num_ids,
                                  float *logits, struct assay_error *error)
{
    if (session == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session", "must not be NULL");
    const int64_t chunk = session->prefill_chunk;
    const int64_t most = chunk < ASSAY_VERIFY_COLUMNS ? chunk : ASSAY_VERIFY_COLUMNS;
    if (num_ids < 1 || num_ids > most)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "ids",
                          "a decode step has 1 to %lld columns (%d, and the prefill chunk), not "
                          "%lld: split it, or create the session with a larger prefill_chunk",
                          (long long)most, ASSAY_VERIFY_COLUMNS, (long long)num_ids);
    ASSAY_TRY(session_check(session, ids, num_ids, error));
    ASSAY_TRY(check_logits(num_ids, ASSAY_LOGITS_ALL, logits, error));
    assay_context_clear_error(session->context);
    const assay_status status =
        session_pass(session, ASSAY_PASS_DECODE, ids, num_ids, PASS_ALL, logits, 0);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    session->broken = true;
    return session_op_error(session, status, error);
}

/* ---- states -------------------------------------------------------------------------------- */

assay_status assay_session_gdn_state(const assay_session *session, int64_t layer, float *out,
                                     struct assay_error *error)
{
    if (session == NULL || out == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, session == NULL ? "session" : "out",
                          "must not be NULL");
    if (layer < 0 || layer >= session->config->num_layers ||
        session->config->layers[layer] != ASSAY_LAYER_LINEAR)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "layer",
                          "%lld of %lld is not a layer with a recurrent state", (long long)layer,
                          (long long)session->config->num_layers);
    const struct assay_tensor *state = &session->schedule.layers[layer].gdn;
    const int64_t count = assay_tensor_count(state);
    if (!session->on_device) {
        words_to_f32(state->data, state->dtype, count, out);
        return ASSAY_OK;
    }
    const size_t bytes = (size_t)count * assay_dtype_bytes(state->dtype);
    void *staging = assay_alloc(bytes);
    if (staging == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "gdn_state", "no memory for %zu bytes",
                          bytes);
    const assay_status status = assay_buffer_read(session->context, staging, state->data, bytes);
    if (status == ASSAY_OK)
        words_to_f32(staging, state->dtype, count, out);
    assay_free(staging);
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(session, status, error);
}
