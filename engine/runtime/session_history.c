/* SPDX-License-Identifier: MIT
 *
 * What a sequence was made of, and the way back: checkpoint and rewind.
 */
#include <string.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"
#include "runtime/session_private.h"

#define WHERE "session"

/* ---- history ------------------------------------------------------------------------------- */

assay_status session_history_allocate(assay_session *session, struct assay_error *error)
{
    struct session_history *const history = &session->history;
    const size_t capacity = (size_t)session->capacity;
    history->tokens = assay_alloc(capacity * sizeof *history->tokens);
    history->marks = assay_alloc(capacity * sizeof *history->marks);
    if (history->tokens == NULL || history->marks == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "history",
                          "no memory at capacity %lld: use a smaller one",
                          (long long)session->capacity);
    return ASSAY_OK;
}

void session_history_free(assay_session *session)
{
    assay_free(session->history.tokens);
    assay_free(session->history.marks);
    assay_buffer_destroy(session->context, session->checkpoint.states);
    assay_buffer_destroy(session->context, session->checkpoint.last_row);
}

void session_history_append(assay_session *session, enum assay_pass_kind kind, const int32_t *ids,
                            int64_t num_ids)
{
    int32_t *const tokens = session->history.tokens + session->length;
    uint8_t *const marks = session->history.marks + session->length;
    memmove(tokens, ids, (size_t)num_ids * sizeof *tokens);
    memset(marks, MARK_INSIDE, (size_t)num_ids);
    marks[0] = kind == ASSAY_PASS_DECODE ? MARK_DECODE : MARK_PREFILL;
}

const int32_t *assay_session_tokens(const assay_session *session)
{
    return session->history.tokens;
}

assay_status session_whole(const assay_session *session, struct assay_error *error)
{
    if (!session->broken)
        return ASSAY_OK;
    return assay_fail(error, ASSAY_E_ARG, WHERE, "session",
                      "an earlier pass failed half-way: rewind or reset the session first");
}

/* ---- checkpoint ---------------------------------------------------------------------------- */

static size_t row_bytes(const assay_session *session)
{
    return (size_t)session->config->hidden_size * sizeof(float);
}

static assay_status allocate(assay_session *session, struct assay_error *error)
{
    struct session_checkpoint *const checkpoint = &session->checkpoint;
    void *row = checkpoint->last_row;
    assay_status status = ASSAY_OK;
    if (checkpoint->states == NULL && session->state_bytes > 0)
        status = assay_buffer_create(session->context, session->state_bytes, &checkpoint->states);
    if (status == ASSAY_OK && row == NULL)
        status = assay_buffer_create(session->context, row_bytes(session), &row);
    checkpoint->last_row = row;
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(error, status, WHERE, "checkpoint", "no memory for %zu bytes",
                      session->state_bytes + row_bytes(session));
}

/* States and the newest token's row, which has no meaning at length 0. */
static assay_status copy(assay_session *session, void *states, const void *from_states, float *row,
                         const float *from_row)
{
    if (session->state_bytes > 0)
        ASSAY_TRY(assay_buffer_copy(session->context, states, from_states, session->state_bytes));
    return assay_buffer_copy(session->context, row, from_row, row_bytes(session));
}

assay_status assay_session_checkpoint(assay_session *session, struct assay_error *error)
{
    if (session == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session", "must not be NULL");
    ASSAY_TRY(session_whole(session, error));
    ASSAY_TRY(allocate(session, error));
    struct session_checkpoint *const checkpoint = &session->checkpoint;
    checkpoint->length = -1;
    const assay_status status = copy(session, checkpoint->states, session->state_memory,
                                     checkpoint->last_row, session->last_row);
    if (status != ASSAY_OK)
        return session_op_error(session, status, error);
    checkpoint->length = session->length;
    return ASSAY_OK;
}

/* ---- rewind -------------------------------------------------------------------------------- */

/* To the newest place at or before `length` whose states are there. */
static assay_status go_back(assay_session *session, int64_t length)
{
    struct session_checkpoint *const checkpoint = &session->checkpoint;
    if (checkpoint->length < 0 || checkpoint->length > length) {
        const int64_t kept = checkpoint->length;
        assay_session_reset(session);
        if (SESSION_FAULT(CHECKPOINT_KEPT))
            checkpoint->length = kept;
        return session->broken ? assay_context_error(session->context)->status : ASSAY_OK;
    }
    float *const row = SESSION_FAULT(REWIND_LAST_ROW) ? checkpoint->last_row : session->last_row;
    session->length = checkpoint->length;
    return copy(session, session->state_memory, checkpoint->states, row, checkpoint->last_row);
}

/* The passes from the session's length to `length` once more. */
static assay_status run_again(assay_session *session, int64_t length)
{
    const struct session_history *const history = &session->history;
    while (session->length < length) {
        const int64_t first = session->length;
        const bool is_decode = history->marks[first] == MARK_DECODE;
        int64_t end = first + 1;
        while (end < length && (SESSION_FAULT(REWIND_WIDER) ? end - first < session->prefill_chunk
                                                            : history->marks[end] == MARK_INSIDE))
            end++;
        ASSAY_TRY(session_pass(session, is_decode ? ASSAY_PASS_DECODE : ASSAY_PASS_PREFILL,
                               history->tokens + first, end - first, PASS_NONE, NULL, 0));
    }
    return ASSAY_OK;
}

assay_status assay_session_rewind(assay_session *session, int64_t length, struct assay_error *error)
{
    if (session == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session", "must not be NULL");
    if (length < 0 || length > session->length)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "length",
                          "must be in 0 .. %lld, the tokens so far, is %lld",
                          (long long)session->length, (long long)length);
    const int64_t before = session->length;
    if (SESSION_FAULT(ABORT_LEAVES_HALF) && length == before)
        session->broken = false;
    if (length == before && !session->broken)
        return ASSAY_OK;
    assay_context_clear_error(session->context);
    assay_status status = go_back(session, length);
    if (status == ASSAY_OK)
        status = run_again(session, length + (SESSION_FAULT(REWIND_ONE_MORE) && length < before));
    session->broken = status != ASSAY_OK;
    if (status != ASSAY_OK)
        return session_op_error(session, status, error);
    session->length = SESSION_FAULT(REWIND_POSITION) ? before : length;
    return ASSAY_OK;
}
