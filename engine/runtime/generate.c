/* SPDX-License-Identifier: MIT
 *
 * Generation: prefill, then choose and append one token at a time.
 */
#include "runtime/session_private.h"

#include <string.h>
#include <time.h>

#include <assay/device.h>

#include "core/core.h"

#define WHERE "generate"

struct assay_sampling assay_sampling_defaults(void)
{
    const struct assay_sampling sampling = {.top_p = 1.0};
    return sampling;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static assay_status check(const assay_session *session, int64_t num_prompt,
                          const struct assay_generation *generation, struct assay_error *error)
{
    const int64_t vocab = session->config->vocab_size;
    if (num_prompt == 0 && session->length == 0)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "prompt",
                          "is empty, and so is the session: nothing to continue");
    ASSAY_TRY(session_whole(session, error));
    if (generation->max_new_tokens < 0)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "max_new_tokens", "must be >= 0, is %lld",
                          (long long)generation->max_new_tokens);
    if (generation->limit < 0 || generation->limit > vocab)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "limit", "must be in 0 .. %lld, is %lld",
                          (long long)vocab, (long long)generation->limit);
    if (generation->num_stop_tokens < 0 ||
        (generation->num_stop_tokens > 0 && generation->stop_tokens == NULL))
        return assay_fail(error, ASSAY_E_ARG, WHERE, "stop_tokens",
                          "is NULL or has a negative count (%d)", generation->num_stop_tokens);
    return ASSAY_OK;
}

/* The drawn token; only it leaves the device. */
static assay_status read_chosen(const assay_session *session, int32_t *id,
                                struct assay_error *error)
{
    const assay_status status =
        assay_buffer_read(session->context, id, session->chosen, sizeof *id);
    if (status != ASSAY_OK)
        return session_op_error(session, status, error);
    if (*id < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "logits",
                          "no token can be chosen after position %lld: the logits hold a NaN or "
                          "only -inf",
                          (long long)(session->length - 1));
    return ASSAY_OK;
}

/* Draws the token after the newest one, number `step` of this generation: the same seed gives the
 * same tokens whatever was generated before. */
static assay_status choose(assay_session *session, int64_t step, int32_t *id,
                           struct assay_error *error)
{
    const struct assay_tensor none = {.data = NULL};
    assay_context_clear_error(session->context);
    const assay_status status = session_choose(session, step, none);
    if (status != ASSAY_OK)
        return session_op_error(session, status, error);
    return read_chosen(session, id, error);
}

/* Appends *id and draws its successor into it, in one pass. */
static assay_status advance(assay_session *session, int64_t step, int32_t *id,
                            struct assay_error *error)
{
    ASSAY_TRY(session_check(session, id, 1, error));
    assay_context_clear_error(session->context);
    const assay_status status =
        session_pass(session, ASSAY_PASS_DECODE, id, 1, PASS_CHOOSE, NULL, step);
    if (status != ASSAY_OK) {
        session->broken = true;
        return session_op_error(session, status, error);
    }
    return read_chosen(session, id, error);
}

static bool is_stop(const struct assay_generation *generation, int32_t id)
{
    for (int i = 0; i < generation->num_stop_tokens; i++)
        if (generation->stop_tokens[i] == id)
            return true;
    return false;
}

/* Penalties count what this call generated; the prompt is not held against the model. */
static assay_status clear_counts(assay_session *session, struct assay_error *error)
{
    const size_t bytes = (size_t)session->config->vocab_size * sizeof *session->counts;
    memset(session->host_counts, 0, bytes);
    const assay_status status = assay_buffer_fill(session->context, session->counts, 0, bytes);
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(session, status, error);
}

static assay_status count(assay_session *session, int32_t id, struct assay_error *error)
{
    session->host_counts[id]++;
    if (!session->on_device)
        return ASSAY_OK;
    const assay_status status = assay_buffer_write(
        session->context, session->counts + id, session->host_counts + id, sizeof *session->counts);
    return status == ASSAY_OK ? ASSAY_OK : session_op_error(session, status, error);
}

static assay_status decode(assay_session *session, struct assay_generation *generation,
                           struct assay_error *error)
{
    const struct assay_sampling *sampling = &generation->sampling;
    const bool penalties = sampling->presence != 0.0 || sampling->frequency != 0.0;
    int32_t id = -1;
    session->choice = (struct token_choice){
        .sampling = *sampling,
        .limit = generation->limit == 0 ? session->config->vocab_size : generation->limit};
    if (generation->max_new_tokens == 0)
        return ASSAY_OK;
    if (penalties)
        ASSAY_TRY(clear_counts(session, error));
    ASSAY_TRY(choose(session, 0, &id, error));
    for (;;) {
        if (is_stop(generation, id)) {
            generation->stopped = true;
            return ASSAY_OK;
        }
        if (penalties)
            ASSAY_TRY(count(session, id, error));
        generation->num_new_tokens++;
        if (generation->callback != NULL && !generation->callback(generation->user, id)) {
            generation->cancelled = true;
            return ASSAY_OK;
        }
        if (generation->num_new_tokens == generation->max_new_tokens)
            return ASSAY_OK;
        ASSAY_TRY(advance(session, generation->num_new_tokens, &id, error));
    }
}

assay_status assay_session_generate(assay_session *session, const int32_t *prompt,
                                    int64_t num_prompt, struct assay_generation *generation,
                                    struct assay_error *error)
{
    if (session == NULL || generation == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, session == NULL ? "session" : "generation",
                          "must not be NULL");
    generation->num_new_tokens = 0;
    generation->stopped = generation->cancelled = false;
    generation->prefill_seconds = generation->decode_seconds = 0.0;
    ASSAY_TRY(check(session, num_prompt, generation, error));

    const double begin = seconds();
    ASSAY_TRY(assay_session_forward(session, prompt, num_prompt, ASSAY_LOGITS_NONE, NULL, error));
    const double prefilled = seconds();
    const assay_status status = decode(session, generation, error);
    generation->prefill_seconds = prefilled - begin;
    generation->decode_seconds = seconds() - prefilled;
    return status;
}
