/* SPDX-License-Identifier: MIT
 *
 * One pass over a block of tokens: the step record, the calls, what comes back.
 */
#include <string.h>

#include <assay/device.h>
#include <assay/ops/sample.h>

#include "core/core.h"
#include "runtime/session_faults.h"
#include "runtime/step_graphs.h"

enum { FIRST_TIER = 256, TIER_FACTOR = 4 };

int64_t session_tier(const assay_session *session, int64_t length, int *index)
{
    int64_t tier = FIRST_TIER;
    for (*index = 0; tier < length; (*index)++)
        tier *= TIER_FACTOR;
    return tier < session->capacity ? tier : session->capacity;
}

/* Everything that the pass's ops read and that differs from the pass before, in one copy to where
 * they read it. */
static assay_status write_record(assay_session *session, const int32_t *ids, int64_t num_ids,
                                 int64_t step)
{
    int32_t *const record = session->host_record;
    int32_t *const to = record + STEP_RECORD_TOKENS;
    record[STEP_RECORD_START] = (int32_t)session->length;
    record[STEP_RECORD_STEP] = (int32_t)step;
    memcpy(to, ids, (size_t)num_ids * sizeof *ids);
    for (int64_t t = 0; t < num_ids; t++)
        to[num_ids + t] = (int32_t)(session->length + t);
    if (!session->on_device)
        return ASSAY_OK;
    const size_t bytes = (size_t)(STEP_RECORD_TOKENS + 2 * num_ids) * sizeof *record;
    return assay_buffer_write(session->context, session->record, record, bytes);
}

/* The views of the record. A decode step by the record names its place and its number there, and is
 * otherwise the same for all lengths of a tier. */
static struct pass describe(const assay_session *session, int64_t num_ids, bool by_record,
                            enum pass_tail tail, float *logits, int64_t step)
{
    int32_t *const ids = session->record + STEP_RECORD_TOKENS;
    int tier;
    struct pass pass = {
        .block = {.ids = assay_tensor_1d(ids, ASSAY_I32, num_ids),
                  .positions = assay_tensor_1d(ids + num_ids, ASSAY_I32, num_ids),
                  .start = session->length},
        .tail = tail,
        .logits = session->on_device ? session->logits : logits,
        .step = step,
    };
    if (!by_record)
        return pass;
    pass.block.start = session_tier(session, session->length + num_ids, &tier) - num_ids;
    pass.block.start_at = assay_tensor_1d(session->record + STEP_RECORD_START, ASSAY_I32, 1);
    pass.step = 0;
    pass.step_at = assay_tensor_1d(session->record + STEP_RECORD_STEP, ASSAY_I32, 1);
    return pass;
}

/* Logits of all rows of a long pass, as many at a time as the session has room for. */
static assay_status head_in_pieces(const assay_session *session, int64_t num_rows, float *logits)
{
    const int64_t hidden = session->config->hidden_size, vocab = session->config->vocab_size;
    for (int64_t done = 0; done < num_rows; done += session->head_rows) {
        const int64_t left = num_rows - done;
        const int64_t count = left < session->head_rows ? left : session->head_rows;
        ASSAY_TRY(schedule_head(&session->schedule, session->schedule.scratch.x + done * hidden,
                                count, session->logits));
        ASSAY_TRY(assay_buffer_read(session->context, logits + done * vocab, session->logits,
                                    (size_t)(count * vocab) * sizeof *logits));
    }
    return ASSAY_OK;
}

/* What the caller asked for, from where the ops could write it. */
static assay_status deliver(const assay_session *session, int64_t num_ids, enum pass_tail tail,
                            float *logits)
{
    if (!session->on_device || (tail != PASS_LAST && tail != PASS_ALL))
        return ASSAY_OK;
    if (tail == PASS_ALL && num_ids > session->head_rows)
        return head_in_pieces(session, num_ids, logits);
    const int64_t count = (tail == PASS_ALL ? num_ids : 1) * session->config->vocab_size;
    return assay_buffer_read(session->context, logits, session->logits,
                             (size_t)count * sizeof *logits);
}

assay_status session_pass(assay_session *session, enum assay_pass_kind kind, const int32_t *ids,
                          int64_t num_ids, enum pass_tail tail, float *logits, int64_t step)
{
    session->schedule.products = assay_precision_products(&session->precision, kind, num_ids);
    session->schedule.is_decode = kind == ASSAY_PASS_DECODE;
    const bool is_step = session->by_record && num_ids <= SESSION_STEP_TOKENS;
    const bool too_many = session->on_device && tail == PASS_ALL && num_ids > session->head_rows;
    const struct pass pass =
        describe(session, num_ids, is_step, too_many ? PASS_NONE : tail, logits, step);
    ASSAY_TRY(write_record(session, ids, num_ids, step));
    if (is_step && session->graphs != NULL)
        ASSAY_TRY(step_graphs_run(session->graphs, session, &pass));
    else
        ASSAY_TRY(session_pass_calls(session, &pass));
    ASSAY_TRY(deliver(session, num_ids, tail, logits));
    session_history_append(session, kind, ids, num_ids);
    if (!(SESSION_FAULT(LENGTH_FORGOTTEN) && kind == ASSAY_PASS_DECODE && num_ids > 1))
        session->length += num_ids;
    return ASSAY_OK;
}

assay_status session_pass_calls(assay_session *session, const struct pass *pass)
{
    const struct schedule *schedule = &session->schedule;
    const int64_t hidden = session->config->hidden_size, tokens = pass->block.ids.extent[0];
    ASSAY_TRY(schedule_layers(schedule, &pass->block));
    ASSAY_TRY(assay_buffer_copy(session->context, session->last_row,
                                schedule->scratch.x + (tokens - 1) * hidden,
                                (size_t)hidden * sizeof(float)));
    switch (pass->tail) {
    case PASS_LAST:
        return schedule_head(schedule, session->last_row, 1, pass->logits);
    case PASS_ALL:
        return schedule_head(schedule, schedule->scratch.x, tokens, pass->logits);
    case PASS_CHOOSE:
        return session_choose(session, pass->step, pass->step_at);
    default:
        return ASSAY_OK;
    }
}

assay_status session_choose(assay_session *session, int64_t step, struct assay_tensor step_at)
{
    const struct assay_sampling *sampling = &session->choice.sampling;
    const int64_t vocab = session->config->vocab_size;
    ASSAY_TRY(schedule_head(&session->schedule, session->last_row, 1, session->logits));
    struct assay_sample_args args = {
        .logits = assay_tensor_2d(session->logits, ASSAY_F32, 1, vocab),
        .ids = assay_tensor_1d(session->chosen, ASSAY_I32, 1),
        .limit = session->choice.limit,
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .presence = sampling->presence,
        .frequency = sampling->frequency,
        .seed = sampling->seed,
        .step = (uint64_t)step,
        .step_at = step_at,
    };
    if (sampling->presence != 0.0 || sampling->frequency != 0.0)
        args.counts = assay_tensor_1d(session->counts, ASSAY_I32, vocab);
    return assay_sample(session->context, &args);
}
