/* SPDX-License-Identifier: MIT
 *
 * A second session that continues the same sequence.
 */
#include <string.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"
#include "runtime/session_private.h"

#define WHERE "session"

static assay_status copy_cache(const assay_session *from, const struct assay_tensor *to,
                               const struct assay_tensor *cache)
{
    const int64_t rows = from->length - (SESSION_FAULT(FORK_ROW_SHORT) && from->length > 0);
    if (cache->data == NULL)
        return ASSAY_OK;
    return assay_buffer_copy(from->context, to->data, cache->data,
                             (size_t)rows * (assay_tensor_span(cache) / (size_t)from->capacity));
}

static assay_status copy_caches(const assay_session *from, assay_session *to)
{
    for (int64_t i = 0; i < from->config->num_layers; i++) {
        const struct layer_state *const source = &from->schedule.layers[i];
        struct layer_state *const target = &to->schedule.layers[i];
        ASSAY_TRY(copy_cache(from, &target->k_cache, &source->k_cache));
        ASSAY_TRY(copy_cache(from, &target->v_cache, &source->v_cache));
        if (SESSION_FAULT(FORK_SHARES))
            target->v_cache.data = source->v_cache.data;
    }
    return ASSAY_OK;
}

static assay_status copy_sequence(const assay_session *from, assay_session *to)
{
    const size_t length = (size_t)from->length;
    ASSAY_TRY(copy_caches(from, to));
    if (from->state_bytes > 0)
        ASSAY_TRY(assay_buffer_copy(from->context, to->state_memory, from->state_memory,
                                    from->state_bytes));
    if (length > 0)
        ASSAY_TRY(assay_buffer_copy(from->context, to->last_row, from->last_row,
                                    (size_t)from->config->hidden_size * sizeof(float)));
    memcpy(to->history.tokens, from->history.tokens, length * sizeof *to->history.tokens);
    memcpy(to->history.marks, from->history.marks, length * sizeof *to->history.marks);
    to->length = from->length;
    return ASSAY_OK;
}

assay_status assay_session_fork(const assay_session *session, assay_session **fork,
                                struct assay_error *error)
{
    if (session == NULL || fork == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, session == NULL ? "session" : "fork",
                          "must not be NULL");
    *fork = NULL;
    ASSAY_TRY(session_whole(session, error));
    assay_session *created;
    ASSAY_TRY(
        assay_session_create(session->context, session->model, &session->options, &created, error));
    const assay_status status = copy_sequence(session, created);
    if (status != ASSAY_OK) {
        session_op_error(session, status, error);
        assay_session_destroy(created);
        return status;
    }
    *fork = created;
    return ASSAY_OK;
}
