/* SPDX-License-Identifier: MIT
 *
 * Memory of a session: buffers of its context, allocated once and handed out in parts. A forward
 * pass allocates nothing.
 */
#include <string.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"
#include "runtime/session_private.h"

#define WHERE "session"

enum { ALIGNMENT = 256 /* of every tensor: lines of the host's and of a device's caches */ };

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

static int64_t record_length(const assay_session *session)
{
    return STEP_RECORD_TOKENS + 2 * session->prefill_chunk;
}

/* Scratch of the passes, and the rows that the session keeps between them. */
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
    session->activation_bytes = layout->bytes;
    session->last_row = take(layout, widths.residual, sizeof(float));
    session->logits = take(layout, vocab, (size_t)session->head_rows * sizeof(float));
    session->counts = take(layout, vocab, sizeof(int32_t));
    session->chosen = take(layout, 1, sizeof(int32_t));
    session->record = take(layout, record_length(session), sizeof(int32_t));
}

typedef void lay_out_function(assay_session *session, struct layout *layout);

/* Measures, allocates and places one block. An empty block stays NULL. */
static assay_status allocate(assay_session *session, lay_out_function *lay_out, const char *what,
                             void **memory, size_t *bytes, struct assay_error *error)
{
    struct layout layout = {0};
    lay_out(session, &layout);
    *bytes = layout.bytes;
    if (layout.overflow)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, what,
                          "size overflows at capacity %lld, prefill chunk %lld",
                          (long long)session->capacity, (long long)session->prefill_chunk);
    if (layout.bytes == 0)
        return ASSAY_OK;
    const assay_status status = assay_buffer_create(session->context, layout.bytes, memory);
    if (status != ASSAY_OK)
        return assay_fail(error, status, WHERE, what,
                          "%zu bytes at capacity %lld, prefill chunk %lld: use a smaller one (%s)",
                          layout.bytes, (long long)session->capacity,
                          (long long)session->prefill_chunk,
                          assay_context_error(session->context)->message);
    layout = (struct layout){.base = *memory};
    lay_out(session, &layout);
    return ASSAY_OK;
}

/* Where the host cannot write the session's memory it prepares the step record and the counts in
 * its own. */
static assay_status allocate_host_side(assay_session *session, struct assay_error *error)
{
    session->host_record = session->record;
    session->host_counts = session->counts;
    if (!session->on_device)
        return ASSAY_OK;
    session->host_record =
        assay_alloc_zero((size_t)record_length(session), sizeof *session->host_record);
    session->host_counts =
        assay_alloc_zero((size_t)session->config->vocab_size, sizeof *session->host_counts);
    if (session->host_record == NULL || session->host_counts == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "step record", "no memory");
    return ASSAY_OK;
}

assay_status session_allocate(assay_session *session, struct assay_error *error)
{
    struct schedule *schedule = &session->schedule;
    schedule->layers =
        assay_alloc_zero((size_t)session->config->num_layers, sizeof *schedule->layers);
    if (schedule->layers == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "layers", "no memory for %lld layers",
                          (long long)session->config->num_layers);
    /* The host has the caller's memory for rows of logits. */
    session->head_rows = !session->on_device                          ? 1
                         : session->prefill_chunk < SESSION_HEAD_ROWS ? session->prefill_chunk
                                                                      : SESSION_HEAD_ROWS;
    ASSAY_TRY(
        allocate(session, lay_out_kv, "KV cache", &session->kv_memory, &session->kv_bytes, error));
    ASSAY_TRY(allocate(session, lay_out_states, "states", &session->state_memory,
                       &session->state_bytes, error));
    ASSAY_TRY(allocate(session, lay_out_scratch, "scratch", &session->scratch_memory,
                       &session->scratch_bytes, error));
    return allocate_host_side(session, error);
}

void session_free(assay_session *session)
{
    if (session->on_device) {
        assay_free(session->host_counts);
        assay_free(session->host_record);
    }
    assay_buffer_destroy(session->context, session->scratch_memory);
    assay_buffer_destroy(session->context, session->state_memory);
    if (!SESSION_FAULT(FORK_SHARES)) /* what is shared must stay */
        assay_buffer_destroy(session->context, session->kv_memory);
    assay_free(session->schedule.layers);
}

/* The slots in use; the others have never been written. */
static assay_status copy_cache(const assay_session *session, const struct assay_tensor *to,
                               const struct assay_tensor *from)
{
    const size_t row = assay_tensor_span(from) / (size_t)session->capacity;
    if (from->data == NULL)
        return ASSAY_OK;
    const int64_t rows = session->length - (SESSION_FAULT(MOVE_ROW_SHORT) && session->length > 0);
    return assay_buffer_copy(session->context, to->data, from->data, (size_t)rows * row);
}

static assay_status copy_caches(const assay_session *session, const struct layer_state *before)
{
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        const struct layer_state *const now = &session->schedule.layers[i];
        ASSAY_TRY(copy_cache(session, &now->k_cache, &before[i].k_cache));
        ASSAY_TRY(copy_cache(session, &now->v_cache, &before[i].v_cache));
    }
    return ASSAY_OK;
}

assay_status assay_session_move_kv(assay_session *session, void **old, struct assay_error *error)
{
    const size_t num_layers = (size_t)session->config->num_layers;
    struct layer_state *const layers = session->schedule.layers;
    void *moved = NULL;
    size_t bytes;
    *old = NULL;
    if (session->kv_bytes == 0)
        return ASSAY_OK;
    struct layer_state *before = assay_alloc_zero(num_layers, sizeof *before);
    if (before == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "KV cache", "no memory");
    memcpy(before, layers, num_layers * sizeof *before);
    assay_status status = allocate(session, lay_out_kv, "KV cache", &moved, &bytes, error);
    if (status == ASSAY_OK) {
        *old = session->kv_memory;
        session->kv_memory = moved;
        session->kv_generation++;
        status = copy_caches(session, before);
        if (status != ASSAY_OK)
            session_op_error(session, status, error);
    } else {
        memcpy(layers, before, num_layers * sizeof *before);
    }
    assay_free(before);
    return status;
}
