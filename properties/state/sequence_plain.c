/* SPDX-License-Identifier: MIT
 *
 * The plain model, and the fresh sessions that say what it stands for.
 */
#include "sequence_plain.h"

#include <stdio.h>
#include <string.h>

int32_t plain_text(int text, int position)
{
    const uint32_t mixed = ((uint32_t)position + 1u) * 2654435761u ^ ((uint32_t)text * 40503u);
    return (int32_t)((mixed >> 13) % SEQUENCE_VOCAB);
}

void plain_append(struct plain *plain, enum plain_mark kind, const int32_t *ids, int count)
{
    for (int i = 0; i < count; i++) {
        const bool begins = i == 0 || (kind != PLAIN_DECODE && i % SEQUENCE_CHUNK == 0);
        const bool is_last = i + SEQUENCE_CHUNK >= count;
        const enum plain_mark mark = kind == PLAIN_PREFILL_LAST && !is_last ? PLAIN_PREFILL : kind;
        plain->ids[plain->length] = ids[i];
        plain->marks[plain->length++] = (uint8_t)(begins ? mark : PLAIN_INSIDE);
    }
}

struct assay_session_options plain_options(const struct sequence_program *program)
{
    struct assay_session_options options = assay_session_defaults();
    options.capacity = SEQUENCE_CAPACITY;
    options.prefill_chunk = SEQUENCE_CHUNK;
    options.gdn_chunk = 8;
    options.recurrent_limit = program->chunked ? 1 : SEQUENCE_CAPACITY;
    options.trades = program->trades;
    return options;
}

static assay_status feed_pass(assay_session *session, const struct plain *plain, int first, int end,
                              float *logits, struct assay_error *error)
{
    const int32_t *const ids = plain->ids + first;
    float *const row = logits + first * SEQUENCE_VOCAB;
    switch ((enum plain_mark)plain->marks[first]) {
    case PLAIN_DECODE:
        return assay_session_verify(session, ids, end - first, row, error);
    case PLAIN_PREFILL_LAST:
        return assay_session_forward(session, ids, end - first, ASSAY_LOGITS_LAST,
                                     logits + (end - 1) * SEQUENCE_VOCAB, error);
    default:
        return assay_session_forward(session, ids, end - first, ASSAY_LOGITS_ALL, row, error);
    }
}

/* The passes from token `first` on. */
static assay_status feed(assay_session *session, const struct plain *plain, int first,
                         float *logits, struct assay_error *error)
{
    for (int end; first < plain->length; first = end) {
        for (end = first + 1; end < plain->length && plain->marks[end] == PLAIN_INSIDE;)
            end++;
        const assay_status status = feed_pass(session, plain, first, end, logits, error);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

bool plain_states(const assay_session *session, float states[SEQUENCE_LAYERS][SEQUENCE_STATE])
{
    memset(states, 0, SEQUENCE_LAYERS * sizeof *states);
    for (int layer = 0; layer < SEQUENCE_LAYERS; layer += 2)
        if (assay_session_gdn_state(session, layer, states[layer], NULL) != ASSAY_OK)
            return false;
    return true;
}

void plain_twin_close(struct plain_twin *twin)
{
    assay_session_destroy(twin->session);
    *twin = (struct plain_twin){.session = NULL};
}

/* What the twin was fed is how the plain model begins, and ends between two of its passes. */
static bool is_beginning(const struct plain_twin *twin, const struct plain *plain)
{
    const int length = twin->fed.length;
    return twin->session != NULL && length <= plain->length &&
           (length == plain->length || plain->marks[length] != PLAIN_INSIDE) &&
           memcmp(twin->fed.ids, plain->ids, (size_t)length * sizeof *plain->ids) == 0 &&
           memcmp(twin->fed.marks, plain->marks, (size_t)length) == 0;
}

static bool open_session(struct sequence_world *world, const struct sequence_program *program,
                         bool one_prefill, assay_session **session, struct assay_error *error)
{
    struct assay_session_options options = plain_options(program);
    assay_context *const context = sequence_context(world, program->backend, true);
    options.cuda_graphs = ASSAY_CUDA_GRAPHS_OFF;
    if (one_prefill)
        options.prefill_chunk = SEQUENCE_CAPACITY;
    if (context != NULL)
        return assay_session_create(context, world->model, &options, session, error) == ASSAY_OK;
    snprintf(error->message, sizeof error->message, "there is no such backend");
    return false;
}

static bool from_fresh(struct sequence_world *world, const struct sequence_program *program,
                       const struct plain *plain, struct plain_reference *reference,
                       struct assay_error *error)
{
    assay_session *session = NULL;
    const bool good = open_session(world, program, true, &session, error) &&
                      (plain->length == 0 ||
                       assay_session_forward(session, plain->ids, plain->length, ASSAY_LOGITS_ALL,
                                             reference->logits, error) == ASSAY_OK) &&
                      plain_states(session, reference->states);
    assay_session_destroy(session);
    return good;
}

static bool from_twin(struct sequence_world *world, const struct sequence_program *program,
                      const struct plain *plain, struct plain_twin *twin,
                      struct plain_reference *reference, struct assay_error *error)
{
    if (!is_beginning(twin, plain)) {
        plain_twin_close(twin);
        if (!open_session(world, program, false, &twin->session, error))
            return false;
    }
    const assay_status status =
        feed(twin->session, plain, twin->fed.length, reference->logits, error);
    twin->fed = *plain;
    return status == ASSAY_OK && plain_states(twin->session, reference->states);
}

bool plain_reference(struct sequence_world *world, const struct sequence_program *program,
                     const struct plain *plain, struct plain_twin *twin,
                     struct plain_reference *reference, char *reason)
{
    struct assay_error error = {.status = ASSAY_OK};
    const bool good = twin == NULL ? from_fresh(world, program, plain, reference, &error)
                                   : from_twin(world, program, plain, twin, reference, &error);
    if (!good)
        snprintf(reason, SEQUENCE_REASON_BYTES, "the plain model: %.300s", error.message);
    return good;
}
