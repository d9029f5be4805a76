/* SPDX-License-Identifier: MIT
 *
 * Sessions that are saved, restored, forked and taken back on tiny-hybrid with grouped weights, in
 * the settings whose passes take other products by kind and width: wherever a sequence goes on, it
 * has the bits of one that was fed the same passes.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/precision.h>

#include "engine_common.h"

#define BIT(trade) (1u << ASSAY_TRADE_##trade)

/* Wide enough for 8-bit activations in prefill and in decode steps. */
enum { PROMPT = 70, DRAFT = 20, KEPT = 17, MORE = 66 };

static char folder[64], converted[128], path[128];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/assay-sessions-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(converted, sizeof converted, "%s/q4.assay", folder);
    snprintf(path, sizeof path, "%s/session", folder);
    engine_convert(TINY_MODEL, "q4-mixed", converted);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

static int32_t ids[PROMPT + DRAFT + MORE];

static assay_session *open_session(const struct engine *engine, assay_trade_set trades)
{
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    assay_session *session;
    options.trades = trades;
    options.capacity = 256;
    engine_expect_ok(
        assay_session_create(engine->context, engine->model, &options, &session, &error), &error,
        "session");
    return session;
}

static void verify(assay_session *session, int64_t first, int64_t count, float *logits)
{
    struct assay_error error = {0};
    engine_expect_ok(assay_session_verify(session, ids + first, count, logits, &error), &error,
                     "verify");
}

static void prefill(assay_session *session, int64_t first, int64_t count, float *logits)
{
    struct assay_error error = {0};
    engine_expect_ok(
        assay_session_forward(session, ids + first, count, ASSAY_LOGITS_ALL, logits, &error),
        &error, "forward");
}

/* A wide decode step and a prefill from `length` on, and whether they are what was expected. */
static void expect_rest(assay_session *session, int64_t length, const float *expected,
                        size_t floats, float *logits, const char *what)
{
    const int64_t vocab = (int64_t)floats / (DRAFT + MORE);
    cr_assert(assay_session_length(session) == length, "%s", what);
    verify(session, length, DRAFT, logits);
    prefill(session, length + DRAFT, MORE, logits + DRAFT * vocab);
    cr_assert(memcmp(logits, expected, floats * sizeof *logits) == 0, "%s: other bits", what);
}

static void check(assay_trade_set trades)
{
    struct engine engine;
    struct assay_error error = {0};
    assay_session *copy;
    engine_open_model(&engine, converted);
    const size_t floats = (size_t)((DRAFT + MORE) * engine.vocab);
    float *expected = malloc(floats * sizeof *expected), *logits = malloc(floats * sizeof *logits);
    cr_assert(expected != NULL && logits != NULL);
    assay_session *session = open_session(&engine, trades);
    prefill(session, 0, PROMPT, logits);
    engine_expect_ok(assay_session_save(session, path, &error), &error, "save");
    engine_expect_ok(assay_session_fork(session, &copy, &error), &error, "fork");
    engine_expect_ok(assay_session_checkpoint(session, &error), &error, "checkpoint");
    verify(session, PROMPT, DRAFT, expected);
    prefill(session, PROMPT + DRAFT, MORE, expected + DRAFT * engine.vocab);
    expect_rest(copy, PROMPT, expected, floats, logits, "fork");
    assay_session_destroy(copy);
    copy = open_session(&engine, trades);
    prefill(copy, 3, 5, logits); /* what a slot was used for does not matter */
    engine_expect_ok(assay_session_restore(copy, path, &error), &error, "restore");
    expect_rest(copy, PROMPT, expected, floats, logits, "restore");
    /* From the checkpoint, then, at a place before it, from the empty sequence. */
    engine_expect_ok(assay_session_rewind(session, PROMPT, &error), &error, "rewind");
    expect_rest(session, PROMPT, expected, floats, logits, "rewind");
    engine_expect_ok(assay_session_rewind(session, PROMPT + KEPT, &error), &error, "rewind");
    engine_expect_ok(assay_session_rewind(copy, PROMPT + KEPT, &error), &error, "rewind");
    verify(session, PROMPT + KEPT, 1, expected);
    verify(copy, PROMPT + KEPT, 1, logits);
    cr_assert(memcmp(logits, expected, (size_t)engine.vocab * sizeof *logits) == 0);
    /* The same passes, the last one as narrow as it was cut. */
    assay_session_reset(copy);
    prefill(copy, 0, PROMPT, logits);
    verify(copy, PROMPT, KEPT, logits);
    verify(copy, PROMPT + KEPT, 1, logits);
    cr_assert(memcmp(logits, expected, (size_t)engine.vocab * sizeof *logits) == 0);
    assay_session_destroy(copy);
    assay_session_destroy(session);
    free(expected);
    free(logits);
    engine_close(&engine);
}

Test(engine_sessions, settings, .init = set_up, .fini = tear_down)
{
    static const assay_trade_set sets[] = {
        0,
        BIT(NO_PREFILL_A8) | BIT(GDN_STATE_FP16),
        BIT(MLP_A8_DECODE) | BIT(GDN_STATE_FP16),
        BIT(PREFILL_CUBLAS) | BIT(MLP_A8_DECODE),
    };
    for (int i = 0; i < PROMPT + DRAFT + MORE; i++)
        ids[i] = 5 + 37 * i % 1900;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        check(sets[i]);
}
