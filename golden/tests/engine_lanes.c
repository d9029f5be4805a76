/* SPDX-License-Identifier: MIT
 *
 * Decode steps of several sequences at once (assay_session_verify_lanes): a lane's logits, states
 * and last row are its own, whatever the others hold and wherever it stands among them; on backend
 * cpu they are the bits of a step alone, elsewhere they differ by the products of another width.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>

#include "engine_common.h"

enum { LANES = 8, COLUMNS = 2, STEPS = 3, WIDTH = LANES * COLUMNS };

/* Logits of one text through products of another width, relative L2: 40 of the 8 layers' products
 * each move by binary32 roundings of 2^-24 and flip roundings of cache elements to bf16. A lane
 * that read another's state or position is off by order 1. */
#define BUDGET 0x1p-7

struct bench {
    struct engine engine;
    int64_t vocab;
    float *alone, *together; /* [LANES][STEPS][COLUMNS][vocab] */
};

static int32_t text(int lane, int64_t at)
{
    return (int32_t)((41 + 97 * lane + 31 * at + at * at * (lane + 3)) % 1900);
}

/* Before the first step: no lane stands where another does. */
static int64_t prompt_length(int lane)
{
    return 1 + 7 * lane;
}

static assay_session *open_lane(struct bench *b, int lane)
{
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    assay_session *session;
    int32_t ids[1 + 7 * LANES];
    options.capacity = 128;
    engine_expect_ok(
        assay_session_create(b->engine.context, b->engine.model, &options, &session, &error),
        &error, "session");
    for (int64_t i = 0; i < prompt_length(lane); i++)
        ids[i] = text(lane, i);
    engine_expect_ok(
        assay_session_forward(session, ids, prompt_length(lane), ASSAY_LOGITS_NONE, NULL, &error),
        &error, "prompt");
    return session;
}

static void ids_of_step(int lane, int step, int32_t *ids)
{
    for (int c = 0; c < COLUMNS; c++)
        ids[c] = text(lane, prompt_length(lane) + step * COLUMNS + c);
}

static float *rows_of(const struct bench *b, float *all, int lane, int step)
{
    return all + (lane * STEPS + step) * COLUMNS * b->vocab;
}

/* Each lane by itself. */
static void run_alone(struct bench *b)
{
    struct assay_error error = {0};
    int32_t ids[COLUMNS];
    for (int lane = 0; lane < LANES; lane++) {
        assay_session *session = open_lane(b, lane);
        for (int step = 0; step < STEPS; step++) {
            ids_of_step(lane, step, ids);
            engine_expect_ok(assay_session_verify(session, ids, COLUMNS,
                                                  rows_of(b, b->alone, lane, step), &error),
                             &error, "alone");
        }
        assay_session_destroy(session);
    }
}

/* All at once, lane i in place order[i]; what stands in a place without a lane (-1) is a filler.
 * Also what the sessions remember: the newest token and the recurrent states. */
static void run_together(struct bench *b, const int *order, float *out)
{
    struct assay_error error = {0};
    assay_session *sessions[LANES];
    int32_t ids[WIDTH];
    float *logits = malloc((size_t)(WIDTH * b->vocab) * sizeof *logits);
    cr_assert_not_null(logits);
    for (int place = 0; place < LANES; place++)
        sessions[place] = open_lane(b, order[place] < 0 ? 0 : order[place]);
    for (int step = 0; step < STEPS; step++) {
        for (int place = 0; place < LANES; place++) {
            ids_of_step(order[place] < 0 ? 5 : order[place], step, ids + place * COLUMNS);
        }
        engine_expect_ok(assay_session_verify_lanes(sessions, LANES, ids, COLUMNS, logits, &error),
                         &error, "together");
        for (int place = 0; place < LANES; place++)
            if (order[place] >= 0)
                memcpy(rows_of(b, out, order[place], step), logits + place * COLUMNS * b->vocab,
                       (size_t)(COLUMNS * b->vocab) * sizeof *logits);
    }
    for (int place = 0; place < LANES; place++) {
        const int lane = order[place] < 0 ? 0 : order[place];
        cr_assert(assay_session_length(sessions[place]) == prompt_length(lane) + STEPS * COLUMNS);
        assay_session_destroy(sessions[place]);
    }
    free(logits);
}

/* The state after steps with others is the one of steps alone: what comes next shows it. */
static void go_on(struct bench *b, bool with_others, float *logits)
{
    struct assay_error error = {0};
    assay_session *sessions[2] = {open_lane(b, 3), open_lane(b, 6)};
    int32_t ids[2 * COLUMNS], more[5];
    ids_of_step(3, 0, ids);
    ids_of_step(6, 0, ids + COLUMNS);
    engine_expect_ok(with_others
                         ? assay_session_verify_lanes(sessions, 2, ids, COLUMNS, logits, &error)
                         : assay_session_verify(sessions[0], ids, COLUMNS, logits, &error),
                     &error, "step");
    for (int i = 0; i < 5; i++)
        more[i] = text(3, prompt_length(3) + COLUMNS + i);
    engine_expect_ok(assay_session_forward(sessions[0], more, 5, ASSAY_LOGITS_LAST, logits, &error),
                     &error, "go on");
    for (int i = 0; i < 2; i++)
        assay_session_destroy(sessions[i]);
}

static double distance(const float *a, const float *b, int64_t count)
{
    double difference = 0.0, norm = 0.0;
    for (int64_t i = 0; i < count; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / norm);
}

static void expect_same(const struct bench *b, const float *found, const float *expected,
                        int64_t count, const char *what)
{
    const double off = distance(found, expected, count);
    printf("%s: relative L2 %.3g\n", what, off);
    cr_assert(off <= BUDGET, "%s: off by %g", what, off);
    if (assay_context_backend(b->engine.context) == ASSAY_CPU)
        cr_assert(memcmp(found, expected, (size_t)count * sizeof *found) == 0, "%s: other bits",
                  what);
}

static void open_bench(struct bench *b)
{
    engine_open(&b->engine, NULL);
    b->vocab = b->engine.vocab;
    const size_t floats = (size_t)(LANES * STEPS * COLUMNS * b->vocab);
    b->alone = calloc(floats, sizeof *b->alone);
    b->together = calloc(floats, sizeof *b->together);
    cr_assert(b->alone != NULL && b->together != NULL);
}

static void close_bench(struct bench *b)
{
    free(b->alone);
    free(b->together);
    engine_close(&b->engine);
}

Test(engine_lanes, independent)
{
    static const int rising[LANES] = {0, 1, 2, 3, 4, 5, 6, 7},
                     mixed[LANES] = {5, 2, 7, 0, 6, 1, 4, 3},
                     few[LANES] = {-1, 6, -1, -1, 2, -1, -1, -1};
    struct bench b;
    open_bench(&b);
    const int64_t lane_floats = STEPS * COLUMNS * b.vocab, floats = LANES * lane_floats;
    float *again = calloc((size_t)floats, sizeof *again);
    cr_assert_not_null(again);
    run_alone(&b);
    run_together(&b, rising, b.together);
    for (int lane = 0; lane < LANES; lane++)
        expect_same(&b, b.together + lane * lane_floats, b.alone + lane * lane_floats, lane_floats,
                    "a lane among others");
    /* Of one width, so the bits are the same on every backend. */
    run_together(&b, mixed, again);
    cr_assert(memcmp(again, b.together, (size_t)floats * sizeof *again) == 0, "places matter");
    run_together(&b, few, again);
    for (int lane = 2; lane <= 6; lane += 4)
        cr_assert(memcmp(again + lane * lane_floats, b.together + lane * lane_floats,
                         (size_t)lane_floats * sizeof *again) == 0,
                  "lane %d depends on the others", lane);
    go_on(&b, false, b.alone);
    go_on(&b, true, again);
    expect_same(&b, again, b.alone, b.vocab, "after a step among others");
    free(again);
    close_bench(&b);
}

/* Refused before anything changes, and the message says what is wrong. */
static void refuse(assay_session *const *lanes, int num_lanes, const int32_t *ids, int64_t columns,
                   float *logits, assay_status expected, const char *says)
{
    struct assay_error error = {0};
    const assay_status status =
        assay_session_verify_lanes(lanes, num_lanes, ids, columns, logits, &error);
    cr_assert(status == expected && strstr(error.message, says) != NULL, "%s: %s",
              assay_status_name(status), error.message);
    for (int i = 0; i < 2; i++)
        cr_assert_not(assay_session_broken(lanes[i]));
}

Test(engine_lanes, errors)
{
    struct bench b;
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    const int32_t ids[2 * ASSAY_VERIFY_COLUMNS] = {1, 2, 3, 1 << 30};
    open_bench(&b);
    assay_session *lanes[] = {open_lane(&b, 0), open_lane(&b, 1)};
    assay_session *const twice[] = {lanes[0], lanes[0]};
    float *const out = b.together;
    refuse(lanes, 0, ids, 1, out, ASSAY_E_ARG, "1 .. 32, is 0");
    refuse(lanes, 2, ids, 0, out, ASSAY_E_ARG, "1 to 16 columns");
    refuse(lanes, 2, ids, 17, out, ASSAY_E_ARG, "1 to 16 columns");
    refuse(twice, 2, ids, 1, out, ASSAY_E_ARG, "lanes 0 and 1 are one session");
    refuse(lanes, 2, ids, 2, out, ASSAY_E_RANGE, "outside");
    refuse(lanes, 2, NULL, 1, out, ASSAY_E_ARG, "NULL");
    refuse(lanes, 2, ids, 1, NULL, ASSAY_E_ARG, "NULL");
    options.trades = 1u << ASSAY_TRADE_GDN_STATE_FP16;
    engine_session(&b.engine, &options);
    assay_session *const other[] = {lanes[0], b.engine.session};
    refuse(other, 2, ids, 1, out, ASSAY_E_ARG, "lane 1 has another context, model or set");
    options = assay_session_defaults();
    options.capacity = 2;
    engine_session(&b.engine, &options);
    assay_session *const small[] = {lanes[0], b.engine.session};
    refuse(small, 2, ids, 3, out, ASSAY_E_RANGE, "outside");
    const int32_t good[8] = {0};
    refuse(small, 2, good, 3, out, ASSAY_E_FULL, "do not fit");
    engine_expect_ok(assay_session_verify_lanes(small, 2, good, 2, out, &error), &error, "fits");
    for (int i = 0; i < 2; i++)
        assay_session_destroy(lanes[i]);
    close_bench(&b);
}
