/* SPDX-License-Identifier: MIT
 *
 * Sessions: memory of a sequence and the passes that extend it. Everything is allocated when the
 * session is created; a forward pass allocates nothing.
 */
#include "runtime/session_private.h"

#include <string.h>

#include "core/core.h"
#include "numeric/float_words.h"

#define WHERE "session"

enum {
    DEFAULT_CAPACITY = 4096,
    DEFAULT_PREFILL_CHUNK = 512,
    DEFAULT_GDN_CHUNK = 64,
    DEFAULT_RECURRENT_LIMIT = 1,
    LARGEST_GDN_CHUNK = 256,    /* [GDNCHUNK-4] */
    LARGEST_CAPACITY = 1 << 24, /* positions that rope takes, [ROPE-6] */
    ALIGNMENT = 64              /* of every tensor: a cache line, a 512-bit register */
};

struct assay_session_options assay_session_defaults(void)
{
    const struct assay_session_options options = {0};
    return options;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Sums sizes of parts that will lie in one block, and hands the parts out. Both passes make the
 * same calls in the same order: the first with base NULL. */
struct layout {
    uint8_t *base;
    size_t bytes;
    bool overflow;
};

static void *take(struct layout *layout, int64_t count, size_t element)
{
    size_t bytes, end;
    if (__builtin_mul_overflow((size_t)count, element, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)ALIGNMENT - 1, &bytes) ||
        __builtin_add_overflow(layout->bytes, bytes / ALIGNMENT * ALIGNMENT, &end)) {
        layout->overflow = true;
        return NULL;
    }
    void *part = layout->base == NULL ? NULL : layout->base + layout->bytes;
    layout->bytes = end;
    return part;
}

/* k_cache and v_cache of all full-attention layers. */
static void lay_out_kv(assay_session *session, struct layout *layout)
{
    const struct assay_model_config *config = session->config;
    const enum assay_dtype dtype = session->precision.kv_cache;
    const int64_t heads = config->num_kv_heads, dim = config->head_dim;
    for (int64_t i = 0; i < config->num_layers; i++) {
        struct layer_state *state = &session->schedule.layers[i];
        if (config->layers[i] != ASSAY_LAYER_FULL)
            continue;
        const size_t row = (size_t)(heads * dim) * assay_dtype_bytes(dtype);
        void *const k = take(layout, session->capacity, row);
        void *const v = take(layout, session->capacity, row);
        state->k_cache = assay_tensor_3d(k, dtype, session->capacity, heads, dim);
        state->v_cache = assay_tensor_3d(v, dtype, session->capacity, heads, dim);
    }
}

/* Convolution and recurrent states of all linear layers. */
static void lay_out_states(assay_session *session, struct layout *layout)
{
    const struct assay_model_config *config = session->config;
    const enum assay_dtype dtype = session->precision.gdn_state;
    const int64_t dk = config->linear_key_dim, dv = config->linear_value_dim;
    const int64_t heads = config->linear_value_heads, taps = config->conv_taps;
    const int64_t channels = 2 * config->linear_key_heads * dk + heads * dv;
    for (int64_t i = 0; i < config->num_layers; i++) {
        struct layer_state *state = &session->schedule.layers[i];
        if (config->layers[i] != ASSAY_LAYER_LINEAR)
            continue;
        void *const conv = take(layout, (taps - 1) * channels, sizeof(float));
        void *const gdn = take(layout, heads * dk * dv, assay_dtype_bytes(dtype));
        state->conv = assay_tensor_2d(conv, ASSAY_F32, taps - 1, channels);
        state->gdn = assay_tensor_3d(gdn, dtype, heads, dk, dv);
    }
}

/* Scratch of the passes and the rows that the session keeps between them. */
static void lay_out_scratch(assay_session *session, struct layout *layout)
{
    const struct schedule_widths widths = schedule_widths(session->config);
    struct schedule_scratch *scratch = &session->schedule.scratch;
    const int64_t tokens = session->prefill_chunk, vocab = session->config->vocab_size;
    const size_t token_bytes = (size_t)tokens * sizeof(float);
    scratch->max_tokens = tokens;
    scratch->x = take(layout, widths.residual, token_bytes);
    scratch->normed = take(layout, widths.residual, token_bytes);
    scratch->first = take(layout, widths.first, token_bytes);
    scratch->second = take(layout, widths.second, token_bytes);
    scratch->third = take(layout, widths.third, token_bytes);
    scratch->gates = take(layout, widths.gates, token_bytes);
    scratch->positions = take(layout, tokens, sizeof(int32_t));
    session->last_row = take(layout, widths.residual, sizeof(float));
    session->logits = take(layout, vocab, sizeof(float));
    session->counts = take(layout, vocab, sizeof(int32_t));
}

/* Measures, allocates and places one block; *bytes may be NULL. An empty block stays NULL. */
static assay_status allocate(assay_session *session,
                             void (*lay_out)(assay_session *, struct layout *), const char *what,
                             void **memory, size_t *bytes, struct assay_error *error)
{
    struct layout layout = {0};
    lay_out(session, &layout);
    if (bytes != NULL)
        *bytes = layout.bytes;
    if (layout.overflow)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, what,
                          "size overflows at capacity %lld, prefill chunk %lld",
                          (long long)session->capacity, (long long)session->prefill_chunk);
    if (layout.bytes == 0)
        return ASSAY_OK;
    *memory = assay_alloc_aligned(layout.bytes);
    if (*memory == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, what,
                          "%zu bytes at capacity %lld, prefill chunk %lld: use a smaller one",
                          layout.bytes, (long long)session->capacity,
                          (long long)session->prefill_chunk);
    layout = (struct layout){.base = *memory};
    lay_out(session, &layout);
    return ASSAY_OK;
}

static assay_status allocate_all(assay_session *session, struct assay_error *error)
{
    struct schedule *schedule = &session->schedule;
    schedule->layers =
        assay_alloc_zero((size_t)session->config->num_layers, sizeof *schedule->layers);
    if (schedule->layers == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "layers", "no memory for %lld layers",
                          (long long)session->config->num_layers);
    ASSAY_TRY(allocate(session, lay_out_kv, "KV cache", &session->kv_memory, NULL, error));
    ASSAY_TRY(allocate(session, lay_out_states, "states", &session->state_memory,
                       &session->state_bytes, error));
    return allocate(session, lay_out_scratch, "scratch", &session->scratch_memory, NULL, error);
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
    const int64_t positions = trained < LARGEST_CAPACITY ? trained : LARGEST_CAPACITY;
    const int64_t capacity = positions < DEFAULT_CAPACITY ? positions : DEFAULT_CAPACITY;
    ASSAY_TRY(
        choose("capacity", options->capacity, capacity, positions, &session->capacity, error));
    ASSAY_TRY(choose("prefill_chunk", options->prefill_chunk, DEFAULT_PREFILL_CHUNK, INT32_MAX,
                     &session->prefill_chunk, error));
    ASSAY_TRY(choose("gdn_chunk", options->gdn_chunk, DEFAULT_GDN_CHUNK, LARGEST_GDN_CHUNK,
                     &session->schedule.gdn_chunk, error));
    ASSAY_TRY(choose("recurrent_limit", options->recurrent_limit, DEFAULT_RECURRENT_LIMIT,
                     INT32_MAX, &session->schedule.recurrent_limit, error));
    /* No pass is longer than the sequence may become: scratch beyond that is waste. */
    if (session->prefill_chunk > session->capacity)
        session->prefill_chunk = session->capacity;
    return assay_precision_resolve(options->trades, &session->precision, error);
}

static assay_status check_support(assay_context *context, const struct assay_model_config *config,
                                  struct assay_error *error)
{
    if (config->is_moe)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, "model",
                          "mixture-of-experts models cannot be run yet; use a dense model");
    if (assay_context_backend(context) != ASSAY_CPU)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, "context",
                          "sessions run on the cpu backend, this context is %s",
                          assay_backend_name(assay_context_backend(context)));
    return ASSAY_OK;
}

static assay_status initialise(assay_session *session, const struct assay_session_options *options,
                               struct assay_error *error)
{
    ASSAY_TRY(check_support(session->context, session->config, error));
    ASSAY_TRY(set_options(session, options, error));
    session->schedule.context = session->context;
    session->schedule.config = session->config;
    session->schedule.weights = assay_model_weights(session->model);
    ASSAY_TRY(allocate_all(session, error));
    assay_session_reset(session);
    return ASSAY_OK;
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
    created->context = context;
    created->model = model;
    created->config = assay_model_config(model);
    const assay_status status = initialise(created, options == NULL ? &defaults : options, error);
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
    assay_free(session->scratch_memory);
    assay_free(session->state_memory);
    assay_free(session->kv_memory);
    assay_free(session->schedule.layers);
    assay_free(session);
}

void assay_session_reset(assay_session *session)
{
    if (session->state_memory != NULL)
        memset(session->state_memory, 0, session->state_bytes);
    session->length = 0;
    session->broken = false;
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

/* Everything that can be wrong with the arguments, before any state changes. */
static assay_status check_forward(const assay_session *session, const int32_t *ids, int64_t num_ids,
                                  enum assay_logits which, const float *logits,
                                  struct assay_error *error)
{
    const int64_t vocab = session->config->vocab_size;
    if (session->broken)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session",
                          "an earlier pass failed half-way: reset the session first");
    if (num_ids < 0 || (ids == NULL && num_ids > 0))
        return assay_fail(error, ASSAY_E_ARG, WHERE, "ids", "%s, num_ids is %lld",
                          ids == NULL ? "is NULL" : "must have a length >= 0", (long long)num_ids);
    if ((unsigned)which > ASSAY_LOGITS_ALL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "which", "is %d, no kind of logits",
                          (int)which);
    if (which != ASSAY_LOGITS_NONE && logits == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "logits", "must not be NULL");
    if (which == ASSAY_LOGITS_LAST && num_ids == 0)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "ids",
                          "must hold at least one id when the last logits are asked for");
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

/* One pass of at most prefill_chunk tokens. all_logits: of each of them, or NULL. */
static assay_status pass(assay_session *session, const int32_t *ids, int64_t num_ids,
                         float *all_logits)
{
    const struct schedule *schedule = &session->schedule;
    const int64_t hidden = session->config->hidden_size;
    ASSAY_TRY(schedule_layers(schedule, ids, num_ids, session->length));
    memcpy(session->last_row, schedule->scratch.x + (num_ids - 1) * hidden,
           (size_t)hidden * sizeof(float));
    if (all_logits != NULL)
        ASSAY_TRY(schedule_head(schedule, schedule->scratch.x, num_ids, all_logits));
    session->length += num_ids;
    return ASSAY_OK;
}

assay_status assay_session_forward(assay_session *session, const int32_t *ids, int64_t num_ids,
                                   enum assay_logits which, float *logits,
                                   struct assay_error *error)
{
    if (session == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session", "must not be NULL");
    ASSAY_TRY(check_forward(session, ids, num_ids, which, logits, error));
    const int64_t vocab = session->config->vocab_size;
    assay_context_clear_error(session->context);
    assay_status status = ASSAY_OK;
    for (int64_t done = 0; done < num_ids && status == ASSAY_OK;) {
        const int64_t left = num_ids - done;
        const int64_t count = left < session->prefill_chunk ? left : session->prefill_chunk;
        float *const all = which == ASSAY_LOGITS_ALL ? logits + done * vocab : NULL;
        status = pass(session, ids + done, count, all);
        done += count;
    }
    if (status == ASSAY_OK && which == ASSAY_LOGITS_LAST)
        status = schedule_head(&session->schedule, session->last_row, 1, logits);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    session->broken = true;
    return session_op_error(session, status, error);
}

assay_status session_last_logits(assay_session *session, struct assay_error *error)
{
    assay_context_clear_error(session->context);
    const assay_status status =
        schedule_head(&session->schedule, session->last_row, 1, session->logits);
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(session, status, error);
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
    words_to_f32(state->data, state->dtype, assay_tensor_count(state), out);
    return ASSAY_OK;
}
