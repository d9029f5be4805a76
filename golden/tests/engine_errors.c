/* SPDX-License-Identifier: MIT
 *
 * Error paths of sessions and generation: what is refused leaves the session as it was, what breaks
 * half-way says so until the reset, and every allocation may fail.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/route.h>
#include <assay/testing.h>

#include "engine_common.h"

/* Fails with `expected` and a message that contains `word`. */
static void expect_error(assay_status status, assay_status expected,
                         const struct assay_error *error, const char *word)
{
    char text[1024];
    assay_error_format(error, text, sizeof text);
    cr_assert(status == expected && error->status == expected, "%s instead of %s: %s",
              assay_status_name(status), assay_status_name(expected), text);
    cr_assert(strstr(text, word) != NULL, "\"%s\" is not in: %s", word, text);
}

static const int32_t prompt[] = {1, 2, 3, 4, 5, 6, 7, 8};
enum { NUM_PROMPT = sizeof prompt / sizeof *prompt };

/* The session still gives what a fresh one gives. */
static void expect_usable(struct engine *engine, const float *fresh, float *logits)
{
    struct assay_error error = {0};
    assay_session_reset(engine->session);
    cr_assert(!assay_session_broken(engine->session));
    engine_expect_ok(assay_session_forward(engine->session, prompt, NUM_PROMPT, ASSAY_LOGITS_LAST,
                                           logits, &error),
                     &error, "after reset");
    cr_assert(memcmp(logits, fresh, (size_t)engine->vocab * sizeof *logits) == 0,
              "an error left traces");
}

static float *row(const struct engine *engine)
{
    float *logits = malloc((size_t)engine->vocab * sizeof *logits);
    cr_assert(logits != NULL);
    return logits;
}

static void fresh_logits(struct engine *engine, float *fresh)
{
    struct assay_error error = {0};
    assay_session_reset(engine->session);
    engine_expect_ok(assay_session_forward(engine->session, prompt, NUM_PROMPT, ASSAY_LOGITS_LAST,
                                           fresh, &error),
                     &error, "fresh");
}

Test(engine_errors, arguments)
{
    struct engine engine;
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 12;
    options.prefill_chunk = 4;
    engine_open(&engine, &options);
    float *fresh = row(&engine), *logits = row(&engine);

    /* The split that the refused calls interrupt is 4 + 4 as well, so the bits must agree. */
    fresh_logits(&engine, fresh);
    assay_session_reset(engine.session);
    struct assay_error error = {0};
    engine_expect_ok(
        assay_session_forward(engine.session, prompt, 4, ASSAY_LOGITS_NONE, NULL, &error), &error,
        "first half");
    for (int bad = 0; bad < 2; bad++) {
        /* In the last pass of the call: the earlier ones must not have run. */
        int32_t ids[NUM_PROMPT];
        memcpy(ids, prompt, sizeof ids);
        ids[NUM_PROMPT - 1] = bad == 0 ? -1 : (int32_t)engine.vocab;
        assay_error_clear(&error);
        expect_error(assay_session_forward(engine.session, ids, NUM_PROMPT, ASSAY_LOGITS_LAST,
                                           logits, &error),
                     ASSAY_E_RANGE, &error, "position 7");
        cr_assert(assay_session_length(engine.session) == 4);
    }
    int32_t many[9] = {0};
    assay_error_clear(&error);
    expect_error(assay_session_forward(engine.session, many, 9, ASSAY_LOGITS_LAST, logits, &error),
                 ASSAY_E_FULL, &error, "9 tokens after 4 do not fit into 12");
    assay_error_clear(&error);
    expect_error(assay_session_forward(engine.session, NULL, 1, ASSAY_LOGITS_LAST, logits, &error),
                 ASSAY_E_ARG, &error, "ids");
    assay_error_clear(&error);
    expect_error(assay_session_forward(engine.session, prompt, -1, ASSAY_LOGITS_NONE, NULL, &error),
                 ASSAY_E_ARG, &error, "ids");
    assay_error_clear(&error);
    expect_error(assay_session_forward(engine.session, prompt, 1, ASSAY_LOGITS_LAST, NULL, &error),
                 ASSAY_E_ARG, &error, "logits");
    assay_error_clear(&error);
    expect_error(
        assay_session_forward(engine.session, prompt, 0, ASSAY_LOGITS_LAST, logits, &error),
        ASSAY_E_ARG, &error, "at least one");
    cr_assert(!assay_session_broken(engine.session) && assay_session_length(engine.session) == 4);
    assay_error_clear(&error);
    engine_expect_ok(
        assay_session_forward(engine.session, prompt + 4, 4, ASSAY_LOGITS_LAST, logits, &error),
        &error, "second half");
    cr_assert(memcmp(logits, fresh, (size_t)engine.vocab * sizeof *logits) == 0,
              "refused calls changed the session");

    /* Exactly full is fine, one more is not. */
    engine_expect_ok(
        assay_session_forward(engine.session, prompt, 4, ASSAY_LOGITS_NONE, NULL, &error), &error,
        "to the brim");
    expect_error(assay_session_forward(engine.session, prompt, 1, ASSAY_LOGITS_NONE, NULL, &error),
                 ASSAY_E_FULL, &error, "12");
    free(logits);
    free(fresh);
    engine_close(&engine);
}

Test(engine_errors, creation_and_states)
{
    struct engine engine;
    engine_open(&engine, NULL);
    const int64_t positions = assay_model_config(engine.model)->max_positions;
    const struct {
        struct assay_session_options options;
        assay_status status;
        const char *word;
    } refused[] = {
        {{.capacity = -1}, ASSAY_E_ARG, "capacity"},
        {{.capacity = positions + 1}, ASSAY_E_ARG, "capacity"},
        {{.prefill_chunk = -1}, ASSAY_E_ARG, "prefill_chunk"},
        {{.gdn_chunk = 257}, ASSAY_E_ARG, "gdn_chunk"},
        {{.recurrent_limit = -1}, ASSAY_E_ARG, "recurrent_limit"},
        {{.trades = 1u << 31}, ASSAY_E_USAGE, "trade"},
        {{.cuda_graphs = ASSAY_CUDA_GRAPHS_ON}, ASSAY_E_UNSUPPORTED, "only backend cuda"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct assay_error error = {0};
        assay_session *session = engine.session;
        expect_error(assay_session_create(engine.context, engine.model, &refused[i].options,
                                          &session, &error),
                     refused[i].status, &error, refused[i].word);
        cr_assert(session == NULL);
    }
    float value;
    const int64_t layers[] = {-1, 3, 8}; /* 3 is a full-attention layer */
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct assay_error error = {0};
        expect_error(assay_session_gdn_state(engine.session, layers[i], &value, &error),
                     ASSAY_E_ARG, &error, "layer");
    }
    engine_close(&engine);
}

/* The first route of backend cpu whose name begins with the prefix; "" when there is none. */
static const char *route_like(const char *prefix)
{
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        for (int j = 0; j < assay_op_num_routes(ops[i]); j++) {
            const struct assay_route *route = assay_op_route(ops[i], j);
            if (route->backend == ASSAY_CPU && strncmp(route->name, prefix, strlen(prefix)) == 0)
                return route->name;
        }
    return "";
}

/* A route that refuses the state's format stops a pass in the middle of a layer. */
Test(engine_errors, broken)
{
    struct engine engine;
    engine_open(&engine, NULL);
    float *fresh = row(&engine), *logits = row(&engine);
    fresh_logits(&engine, fresh);
    assay_session_reset(engine.session);
    struct assay_error error = {0};
    engine_expect_ok(assay_context_force_route(engine.context, route_like("gdn_chunked.state16")),
                     &error, "force");
    expect_error(assay_session_forward(engine.session, prompt, NUM_PROMPT, ASSAY_LOGITS_LAST,
                                       logits, &error),
                 ASSAY_E_ROUTE_REFUSED, &error, "gdn_chunked");
    cr_assert(assay_session_broken(engine.session));
    engine_expect_ok(assay_context_force_route(engine.context, NULL),
                     assay_context_error(engine.context), "unforce");
    assay_error_clear(&error);
    expect_error(assay_session_forward(engine.session, prompt, 1, ASSAY_LOGITS_NONE, NULL, &error),
                 ASSAY_E_ARG, &error, "reset");
    struct assay_generation generation = {.max_new_tokens = 1,
                                          .sampling = assay_sampling_defaults()};
    assay_error_clear(&error);
    expect_error(assay_session_generate(engine.session, prompt, 1, &generation, &error),
                 ASSAY_E_ARG, &error, "reset");
    expect_usable(&engine, fresh, logits);
    free(logits);
    free(fresh);
    engine_close(&engine);
}

static bool count_tokens(void *user, int32_t id)
{
    int64_t *left = user;
    (void)id;
    return --*left > 0;
}

Test(engine_errors, generation)
{
    struct engine engine;
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 10;
    engine_open(&engine, &options);
    struct assay_error error = {0};
    struct assay_generation generation = {.max_new_tokens = 3,
                                          .sampling = assay_sampling_defaults()};
    expect_error(assay_session_generate(engine.session, NULL, 0, &generation, &error), ASSAY_E_ARG,
                 &error, "prompt");
    generation.limit = engine.vocab + 1;
    assay_error_clear(&error);
    expect_error(assay_session_generate(engine.session, prompt, 1, &generation, &error),
                 ASSAY_E_ARG, &error, "limit");
    generation.limit = 0;
    generation.max_new_tokens = -1;
    assay_error_clear(&error);
    expect_error(assay_session_generate(engine.session, prompt, 1, &generation, &error),
                 ASSAY_E_ARG, &error, "max_new_tokens");
    cr_assert(assay_session_length(engine.session) == 0, "a refused call prefilled");

    /* 8 of 10 slots for the prompt; the last of 3 tokens needs none. A fourth has no room. */
    assay_error_clear(&error);
    generation.max_new_tokens = 3;
    engine_expect_ok(
        assay_session_generate(engine.session, prompt, NUM_PROMPT, &generation, &error), &error,
        "three tokens");
    cr_assert(generation.num_new_tokens == 3 && !generation.stopped && !generation.cancelled);
    cr_assert(assay_session_length(engine.session) == 10);
    assay_session_reset(engine.session);
    generation.max_new_tokens = 4;
    expect_error(assay_session_generate(engine.session, prompt, NUM_PROMPT, &generation, &error),
                 ASSAY_E_FULL, &error, "10");
    cr_assert(generation.num_new_tokens == 3 && !assay_session_broken(engine.session));

    /* The callback stops it; a stop token is not reported. */
    int64_t left = 2;
    assay_error_clear(&error);
    assay_session_reset(engine.session);
    generation = (struct assay_generation){.max_new_tokens = 3,
                                           .sampling = assay_sampling_defaults(),
                                           .callback = count_tokens,
                                           .user = &left};
    engine_expect_ok(
        assay_session_generate(engine.session, prompt, NUM_PROMPT, &generation, &error), &error,
        "cancelled");
    cr_assert(generation.cancelled && generation.num_new_tokens == 2);
    float *logits = row(&engine);
    fresh_logits(&engine, logits);
    int64_t best = 0;
    for (int64_t i = 1; i < engine.vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    generation = (struct assay_generation){.max_new_tokens = 3,
                                           .sampling = assay_sampling_defaults(),
                                           .stop_tokens = &best,
                                           .num_stop_tokens = 1};
    engine_expect_ok(assay_session_generate(engine.session, NULL, 0, &generation, &error), &error,
                     "stop");
    cr_assert(generation.stopped && generation.num_new_tokens == 0);
    free(logits);
    engine_close(&engine);
}

/* One go at everything that may allocate: a session, a pass, a generation. */
static assay_status whole_use(const struct engine *engine, struct assay_error *error)
{
    assay_session *session = NULL;
    struct assay_generation generation = {.max_new_tokens = 2,
                                          .sampling = assay_sampling_defaults()};
    assay_context *context = NULL;
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = 2;
    assay_status status = assay_context_create(&options, &context, error);
    if (status == ASSAY_OK)
        status = assay_session_create(context, engine->model, NULL, &session, error);
    if (status == ASSAY_OK)
        status = assay_session_forward(session, prompt, NUM_PROMPT, ASSAY_LOGITS_NONE, NULL, error);
    if (status == ASSAY_OK)
        status = assay_session_generate(session, prompt, NUM_PROMPT, &generation, error);
    if (status == ASSAY_OK) {
        const struct assay_model_config *config = assay_model_config(engine->model);
        float *state = malloc((size_t)(config->linear_value_heads * config->linear_key_dim *
                                       config->linear_value_dim) *
                              sizeof *state);
        cr_assert_not_null(state);
        status = assay_session_gdn_state(session, 0, state, error);
        free(state);
    }
    assay_session_destroy(session);
    assay_context_destroy(context);
    return status;
}

Test(engine_errors, fail_the_nth)
{
    struct engine engine;
    engine_open(&engine, NULL);
    const int64_t live = assay_live_allocations();
    int64_t n = 1;
    for (;; n++) {
        struct assay_error error = {0};
        assay_fault_after(n);
        const assay_status status = whole_use(&engine, &error);
        const bool happened = assay_fault_happened();
        assay_fault_after(0);
        cr_assert(assay_live_allocations() == live, "failure %lld leaked", (long long)n);
        if (!happened) {
            engine_expect_ok(status, &error, "without a fault");
            break;
        }
        cr_assert(status != ASSAY_OK && error.status == status && error.message[0] != '\0',
                  "failure %lld gave %s without a message", (long long)n,
                  assay_status_name(status));
        cr_assert(n < 10000, "no end of failures");
    }
    printf("%lld operations failed in turn\n", (long long)(n - 1));
    cr_assert(n > 5, "a session that allocates %lld times cannot be right", (long long)(n - 1));
    engine_close(&engine);
    cr_assert(assay_live_allocations() == 0, "not everything was freed");
}
