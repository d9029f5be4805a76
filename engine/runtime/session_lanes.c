/* SPDX-License-Identifier: MIT
 *
 * One decode step of several sequences: the weights are read once for all of them, and each mixes
 * its own tokens only.
 */
#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_faults.h"
#include "runtime/session_private.h"

#define WHERE "session"

/* What all lanes must have in common to share a pass, and its extents. */
static assay_status check_call(assay_session *const *lanes, int num_lanes, const int32_t *ids,
                               int64_t columns, const float *logits, struct assay_error *error)
{
    if (lanes == NULL || ids == NULL || logits == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE,
                          lanes == NULL ? "lanes"
                          : ids == NULL ? "ids"
                                        : "logits",
                          "must not be NULL");
    if (num_lanes < 1 || num_lanes > ASSAY_VERIFY_COLUMNS)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "num_lanes", "must be in 1 .. %d, is %d",
                          ASSAY_VERIFY_COLUMNS, num_lanes);
    for (int i = 0; i < num_lanes; i++) {
        if (lanes[i] == NULL)
            return assay_fail(error, ASSAY_E_ARG, WHERE, "lanes", "lane %d must not be NULL", i);
        for (int j = 0; j < i; j++)
            if (lanes[i] == lanes[j])
                return assay_fail(error, ASSAY_E_ARG, WHERE, "lanes",
                                  "lanes %d and %d are one session; a fork of it is another", j, i);
        if (lanes[i]->context != lanes[0]->context || lanes[i]->model != lanes[0]->model ||
            lanes[i]->options.trades != lanes[0]->options.trades)
            return assay_fail(error, ASSAY_E_ARG, WHERE, "lanes",
                              "lane %d has another context, model or set of trades than lane 0", i);
    }
    const int64_t chunk = lanes[0]->prefill_chunk;
    const int64_t most = (chunk < ASSAY_VERIFY_COLUMNS ? chunk : ASSAY_VERIFY_COLUMNS) / num_lanes;
    if (columns < 1 || columns > most)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "columns",
                          "a step of %d lanes has 1 to %lld columns each (%d in all, and the "
                          "prefill chunk of lane 0), not %lld",
                          num_lanes, (long long)most, ASSAY_VERIFY_COLUMNS, (long long)columns);
    for (int i = 0; i < num_lanes; i++)
        ASSAY_TRY(session_check(lanes[i], ids + i * columns, columns, error));
    return ASSAY_OK;
}

/* Ids and positions of all lanes, to where the ops read them: the record of lane 0. */
static assay_status write_record(assay_session *const *lanes, int num_lanes, const int32_t *ids,
                                 int64_t columns)
{
    const assay_session *const first = lanes[0];
    const int64_t tokens = num_lanes * columns;
    int32_t *const to = first->host_record + STEP_RECORD_TOKENS;
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t lane = SESSION_FAULT(LANES_SHARE_POSITION) ? 0 : t / columns;
        to[t] = ids[t];
        to[tokens + t] = (int32_t)(lanes[lane]->length + t % columns);
    }
    if (!first->on_device)
        return ASSAY_OK;
    return assay_buffer_write(first->context, first->record, first->host_record,
                              (size_t)(STEP_RECORD_TOKENS + 2 * tokens) * sizeof *to);
}

/* The newest token's residual stream of each lane, as after a pass of its own. */
static assay_status keep_last_rows(assay_session *const *lanes, int num_lanes, int64_t columns)
{
    const int64_t hidden = lanes[0]->config->hidden_size;
    for (int64_t i = 0; i < num_lanes; i++) {
        const int64_t row = ((SESSION_FAULT(LANES_LAST_ROW) ? 0 : i) + 1) * columns - 1;
        ASSAY_TRY(assay_buffer_copy(lanes[i]->context, lanes[i]->last_row,
                                    lanes[0]->schedule.scratch.x + row * hidden,
                                    (size_t)hidden * sizeof(float)));
    }
    return ASSAY_OK;
}

static assay_status run(assay_session *const *lanes, int num_lanes, const int32_t *ids,
                        int64_t columns, float *logits)
{
    assay_session *const first = lanes[0];
    const int64_t tokens = num_lanes * columns;
    int32_t *const record = first->record + STEP_RECORD_TOKENS;
    struct schedule_lane places[ASSAY_VERIFY_COLUMNS];
    for (int i = 0; i < num_lanes; i++)
        places[i] = (struct schedule_lane){
            .layers = lanes[SESSION_FAULT(LANES_SHARE_STATES) ? 0 : i]->schedule.layers,
            .start = lanes[i]->length};
    const struct schedule_block block = {.ids = assay_tensor_1d(record, ASSAY_I32, tokens),
                                         .positions =
                                             assay_tensor_1d(record + tokens, ASSAY_I32, tokens),
                                         .lanes = places,
                                         .num_lanes = num_lanes};
    first->schedule.products =
        assay_precision_products(&first->precision, ASSAY_PASS_DECODE, tokens);
    first->schedule.is_decode = true;
    ASSAY_TRY(write_record(lanes, num_lanes, ids, columns));
    ASSAY_TRY(schedule_layers(&first->schedule, &block));
    ASSAY_TRY(keep_last_rows(lanes, num_lanes, columns));
    /* A session on a device has room for the logits of its chunk, at least as many as columns. */
    float *const to = first->on_device ? first->logits : logits;
    ASSAY_TRY(schedule_head(&first->schedule, first->schedule.scratch.x, tokens, to));
    if (!first->on_device)
        return ASSAY_OK;
    return assay_buffer_read(first->context, logits, to,
                             (size_t)(tokens * first->config->vocab_size) * sizeof *logits);
}

assay_status assay_session_verify_lanes(assay_session *const *lanes, int num_lanes,
                                        const int32_t *ids, int64_t columns, float *logits,
                                        struct assay_error *error)
{
    ASSAY_TRY(check_call(lanes, num_lanes, ids, columns, logits, error));
    assay_context_clear_error(lanes[0]->context);
    const assay_status status = run(lanes, num_lanes, ids, columns, logits);
    for (int i = 0; i < num_lanes; i++) {
        assay_session *const session = lanes[i];
        session->broken = status != ASSAY_OK;
        if (status != ASSAY_OK)
            continue;
        session_history_append(session, ASSAY_PASS_DECODE, ids + i * columns, columns);
        session->length += columns;
    }
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(lanes[0], status, error);
}
