/* SPDX-License-Identifier: MIT
 *
 * Generation: prefill, then choose and append one token at a time.
 */
#include "runtime/session_private.h"

#include <string.h>
#include <time.h>

#include <assay/ops/sample.h>

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
    if (session->broken)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "session",
                          "an earlier pass failed half-way: reset the session first");
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

/* Draws the token after the newest one. Number `step` of this generation: the same seed gives the
 * same tokens whatever was generated before. */
static assay_status choose(assay_session *session, const struct assay_generation *generation,
                           int64_t step, int32_t *id, struct assay_error *error)
{
    const struct assay_sampling *sampling = &generation->sampling;
    const int64_t vocab = session->config->vocab_size;
    ASSAY_TRY(session_last_logits(session, error));
    struct assay_sample_args args = {
        .logits = assay_tensor_2d(session->logits, ASSAY_F32, 1, vocab),
        .ids = assay_tensor_1d(id, ASSAY_I32, 1),
        .limit = generation->limit == 0 ? vocab : generation->limit,
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .presence = sampling->presence,
        .frequency = sampling->frequency,
        .seed = sampling->seed,
        .step = (uint64_t)step,
    };
    if (sampling->presence != 0.0 || sampling->frequency != 0.0)
        args.counts = assay_tensor_1d(session->counts, ASSAY_I32, vocab);
    const assay_status status = assay_sample(session->context, &args);
    if (status != ASSAY_OK)
        return session_op_error(session, status, error);
    if (*id < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "logits",
                          "no token can be chosen after position %lld: the logits hold a NaN or "
                          "only -inf",
                          (long long)(session->length - 1));
    return ASSAY_OK;
}

static bool is_stop(const struct assay_generation *generation, int32_t id)
{
    for (int i = 0; i < generation->num_stop_tokens; i++)
        if (generation->stop_tokens[i] == id)
            return true;
    return false;
}

static assay_status decode(assay_session *session, struct assay_generation *generation,
                           struct assay_error *error)
{
    /* Penalties count what this call generated; the prompt is not held against the model. */
    memset(session->counts, 0, (size_t)session->config->vocab_size * sizeof *session->counts);
    while (generation->num_new_tokens < generation->max_new_tokens) {
        int32_t id;
        ASSAY_TRY(choose(session, generation, generation->num_new_tokens, &id, error));
        if (is_stop(generation, id)) {
            generation->stopped = true;
            break;
        }
        session->counts[id]++;
        generation->num_new_tokens++;
        if (generation->callback != NULL && !generation->callback(generation->user, id)) {
            generation->cancelled = true;
            break;
        }
        if (generation->num_new_tokens < generation->max_new_tokens)
            ASSAY_TRY(assay_session_forward(session, &id, 1, ASSAY_LOGITS_NONE, NULL, error));
    }
    return ASSAY_OK;
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
