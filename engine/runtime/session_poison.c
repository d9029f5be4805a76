/* SPDX-License-Identifier: MIT
 *
 * For tests: overwrites what nobody may rely on.
 */
#include <assay/device.h>

#include "core/core.h"
#include "runtime/step_graphs.h"

enum { NAN_BYTE = 0xff }; /* NaN in every float format, -1 in the integers */

/* The slots of one cache behind the newest token. */
static assay_status poison_cache(const assay_session *session, const struct assay_tensor *cache)
{
    if (cache->data == NULL || session->length == session->capacity)
        return ASSAY_OK;
    const size_t row = assay_tensor_span(cache) / (size_t)session->capacity;
    return assay_buffer_fill(session->context,
                             (uint8_t *)cache->data + (size_t)session->length * row, NAN_BYTE,
                             (size_t)(session->capacity - session->length) * row);
}

static assay_status poison_caches(const assay_session *session)
{
    for (int64_t i = 0; i < session->config->num_layers; i++) {
        const struct layer_state *state = &session->schedule.layers[i];
        ASSAY_TRY(poison_cache(session, &state->k_cache));
        ASSAY_TRY(poison_cache(session, &state->v_cache));
    }
    return ASSAY_OK;
}

assay_status assay_session_poison(assay_session *session, struct assay_error *error)
{
    assay_context *const context = session->context;
    assay_status status = assay_workspace_poison(context);
    if (status == ASSAY_OK)
        status = assay_buffer_fill(context, session->scratch_memory, NAN_BYTE,
                                   session->activation_bytes);
    if (status == ASSAY_OK)
        status = poison_caches(session);
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(session, status, error);
}

void assay_session_graph_counts(const assay_session *session, int64_t *recorded, int64_t *replayed)
{
    step_graphs_counts(session->graphs, recorded, replayed);
}
