/* SPDX-License-Identifier: MIT
 *
 * How a sequence is cut into passes must not matter, nor what a session did before.
 *
 * Through gdn_recurrent every op treats each token alike ([LINEAR-5], [ATTENTION-8], [GDNREC-4]):
 * all splits give the same bits. Through gdn_chunked the split moves chunk borders, which changes
 * binary32 roundings only. Those reach the logits directly (about 2^-24 times the chunk's length of
 * 64, so 2^-18) and by flipping the rounding of an occasional cache element to bf16: a change of
 * 2^-24 flips one element in 2^15, by 2^-8 of itself, which is 2^-15.5 of the norm of all. The two
 * and a factor for the layers in between stay below 2^-12.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>
#include <assay/model.h>

#include "engine_common.h"

#define NUM_IDS      200
#define SPLIT_BUDGET 0x1p-12

/* Last logits and all recurrent states, as doubles, one after the other. */
struct snapshot {
    double *values;
    float *row; /* room for the larger of a row of logits and a state */
    int64_t vocab, state_size, num_layers;
};

static void snapshot_open(struct snapshot *snapshot, const struct engine *engine)
{
    const struct assay_model_config *config = assay_model_config(engine->model);
    snapshot->vocab = config->vocab_size;
    snapshot->num_layers = config->num_layers;
    snapshot->state_size =
        config->linear_value_heads * config->linear_key_dim * config->linear_value_dim;
    const int64_t count = snapshot->vocab + snapshot->num_layers * snapshot->state_size;
    snapshot->values = calloc((size_t)count, sizeof *snapshot->values);
    snapshot->row = calloc((size_t)count, sizeof *snapshot->row);
    cr_assert(snapshot->values != NULL && snapshot->row != NULL);
}

static void snapshot_close(struct snapshot *snapshot)
{
    free(snapshot->values);
    free(snapshot->row);
}

/* Compares the session's states and `logits` with the snapshot, or stores them there. Returns the
 * largest relative L2 over the parts; *same: all bits are equal. */
static double compare(struct snapshot *snapshot, const struct engine *engine, const float *logits,
                      bool store, bool *same)
{
    double worst = 0.0;
    *same = true;
    for (int64_t part = -1; part < snapshot->num_layers; part++) {
        struct assay_error error = {0};
        const int64_t count = part < 0 ? snapshot->vocab : snapshot->state_size;
        double *values = snapshot->values + (part < 0 ? 0 : snapshot->vocab + part * count);
        if (part < 0)
            memcpy(snapshot->row, logits, (size_t)count * sizeof *logits);
        else if (assay_session_gdn_state(engine->session, part, snapshot->row, &error) != ASSAY_OK)
            continue; /* a full-attention layer */
        double norm = 0.0;
        for (int64_t i = 0; i < count; i++) {
            norm += (double)snapshot->row[i] * (double)snapshot->row[i];
            *same = *same && (double)snapshot->row[i] == values[i];
            if (store)
                values[i] = (double)snapshot->row[i];
        }
        cr_assert(isfinite(norm) && norm > 0.0, "part %lld is zero or not finite", (long long)part);
        if (!store)
            worst = fmax(worst, relative_l2(snapshot->row, values, count));
    }
    return worst;
}

/* Length of the next pass: fixed, or random in [1, 70] for split 0. */
static int64_t next_length(int64_t split, uint64_t *random)
{
    if (split != 0)
        return split;
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int64_t)(*random >> 33) % 70;
}

static void forward_split(struct engine *engine, const int32_t *ids, int64_t split, uint64_t random,
                          float *logits)
{
    assay_session_reset(engine->session);
    for (int64_t at = 0; at < NUM_IDS;) {
        struct assay_error error = {0};
        int64_t length = next_length(split, &random);
        if (length > NUM_IDS - at)
            length = NUM_IDS - at;
        engine_expect_ok(assay_session_forward(engine->session, ids + at, length, ASSAY_LOGITS_LAST,
                                               logits, &error),
                         &error, "forward");
        at += length;
    }
    cr_assert(assay_session_length(engine->session) == NUM_IDS);
}

static int32_t *prompt_ids(void)
{
    size_t num;
    struct greedy_prompt *prompts = greedy_read(TINY_REFERENCES "/greedy.json", &num);
    int32_t *ids = malloc(NUM_IDS * sizeof *ids);
    cr_assert(ids != NULL);
    for (size_t i = 0; i < num; i++)
        if (strcmp(prompts[i].name, "long-700") == 0)
            memcpy(ids, prompts[i].prompt, NUM_IDS * sizeof *ids);
    greedy_free(prompts, num);
    return ids;
}

/* All splits against one pass. Bit-equal: through the recurrent form. f16 states are rounded at
 * other tokens when chunk borders move, so that trade is checked where it promises equal bits. */
static void check_splits(bool recurrent, assay_trade_set trades)
{
    static const int64_t splits[] = {1, 2, 3, 63, 64, 65, NUM_IDS, 0, 0, 0};
    struct assay_session_options options = assay_session_defaults();
    options.recurrent_limit = recurrent ? NUM_IDS : 1;
    options.trades = trades;
    struct engine engine;
    struct snapshot snapshot;
    engine_open(&engine, &options);
    snapshot_open(&snapshot, &engine);
    int32_t *ids = prompt_ids();
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL);

    bool same;
    double worst = 0.0;
    forward_split(&engine, ids, NUM_IDS, 0, logits);
    compare(&snapshot, &engine, logits, true, &same);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        forward_split(&engine, ids, splits[i], i, logits);
        const double off = compare(&snapshot, &engine, logits, false, &same);
        worst = fmax(worst, off);
        cr_assert(off <= SPLIT_BUDGET, "split %lld: off by %.3g, budget %.3g", (long long)splits[i],
                  off, SPLIT_BUDGET);
        cr_assert(same || !recurrent, "split %lld: other bits through the recurrent form",
                  (long long)splits[i]);
    }
    printf("%s, trades 0x%x: worst relative L2 over splits %.3g of %.3g\n",
           recurrent ? "recurrent" : "chunked", trades, worst, SPLIT_BUDGET);
    free(logits);
    free(ids);
    snapshot_close(&snapshot);
    engine_close(&engine);
}

Test(engine_chunks, any_split)
{
    check_splits(false, 0);
    check_splits(true, 0);
    check_splits(true, 1u << ASSAY_TRADE_GDN_STATE_FP16);
}

/* The session's own passes (prefill_chunk) are splits too, and ALL gives the rows that LAST gives.
 */
Test(engine_chunks, own_passes_and_rows)
{
    struct assay_session_options options = assay_session_defaults();
    options.recurrent_limit = NUM_IDS;
    struct engine engine;
    engine_open(&engine, &options);
    int32_t *ids = prompt_ids();
    const size_t row = (size_t)engine.vocab;
    float *all = malloc(NUM_IDS * row * sizeof *all), *last = malloc(row * sizeof *last);
    float *pieces = malloc(NUM_IDS * row * sizeof *pieces);
    cr_assert(all != NULL && last != NULL && pieces != NULL);
    struct assay_error error = {0};
    engine_expect_ok(
        assay_session_forward(engine.session, ids, NUM_IDS, ASSAY_LOGITS_ALL, all, &error), &error,
        "whole");
    options.prefill_chunk = 7;
    engine_session(&engine, &options);
    engine_expect_ok(
        assay_session_forward(engine.session, ids, NUM_IDS, ASSAY_LOGITS_ALL, pieces, &error),
        &error, "passes of 7");
    cr_assert(memcmp(all, pieces, NUM_IDS * row * sizeof *all) == 0);
    for (int64_t t = 0; t < NUM_IDS; t += 50) {
        assay_session_reset(engine.session);
        engine_expect_ok(
            assay_session_forward(engine.session, ids, t + 1, ASSAY_LOGITS_LAST, last, &error),
            &error, "last");
        cr_assert(memcmp(last, all + (size_t)t * row, row * sizeof *last) == 0,
                  "row %lld of ALL is not LAST of its prefix", (long long)t);
    }
    free(pieces);
    free(last);
    free(all);
    free(ids);
    engine_close(&engine);
}

/* A reset session and a second session beside it give a fresh session's bits. */
Test(engine_chunks, independence)
{
    struct engine engine, other;
    struct assay_error error = {0};
    bool same;
    engine_open(&engine, NULL);
    struct snapshot snapshot;
    snapshot_open(&snapshot, &engine);
    int32_t *ids = prompt_ids();
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL);
    forward_split(&engine, ids, NUM_IDS, 0, logits);
    compare(&snapshot, &engine, logits, true, &same);

    /* Something else, longer, then back. */
    assay_session_reset(engine.session);
    for (int i = 0; i < 2; i++)
        engine_expect_ok(assay_session_forward(engine.session, ids + i, NUM_IDS - 1 - i,
                                               ASSAY_LOGITS_NONE, NULL, &error),
                         &error, "other text");
    forward_split(&engine, ids, NUM_IDS, 0, logits);
    compare(&snapshot, &engine, logits, false, &same);
    cr_assert(same, "a reset session remembers");

    /* A second session on the same context and model, in the middle of the first one's work. */
    other =
        (struct engine){.model = engine.model, .context = engine.context, .vocab = engine.vocab};
    engine_session(&other, NULL);
    assay_session_reset(engine.session);
    engine_expect_ok(
        assay_session_forward(engine.session, ids, 100, ASSAY_LOGITS_NONE, NULL, &error), &error,
        "first half");
    forward_split(&other, ids, NUM_IDS, 0, logits);
    compare(&snapshot, &other, logits, false, &same);
    cr_assert(same, "a second session sees the first");
    engine_expect_ok(assay_session_forward(engine.session, ids + 100, NUM_IDS - 100,
                                           ASSAY_LOGITS_LAST, logits, &error),
                     &error, "second half");
    cr_assert(compare(&snapshot, &engine, logits, false, &same) <= SPLIT_BUDGET,
              "the first session was disturbed");
    assay_session_destroy(other.session);
    free(logits);
    free(ids);
    snapshot_close(&snapshot);
    engine_close(&engine);
}

/* Between passes nothing is remembered but what the session says: with the workspace and the
 * scratch overwritten by NaN and the caches moved from under it, the bits stay. */
Test(engine_chunks, nothing_else_is_remembered)
{
    enum { HALF = 60, STEP = 7 };
    struct engine engine;
    struct snapshot snapshot;
    bool same;
    engine_open(&engine, NULL);
    snapshot_open(&snapshot, &engine);
    int32_t *ids = prompt_ids();
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL);
    for (int disturbed = 0; disturbed < 2; disturbed++) {
        struct assay_error error = {0};
        assay_session_reset(engine.session);
        for (int64_t at = 0; at < HALF + 10 * STEP; at += at == 0 ? HALF : STEP) {
            engine_expect_ok(assay_session_forward(engine.session, ids + at, at == 0 ? HALF : STEP,
                                                   ASSAY_LOGITS_LAST, logits, &error),
                             &error, "forward");
            if (!disturbed)
                continue;
            void *old;
            engine_expect_ok(assay_session_poison(engine.session, &error), &error, "poison");
            engine_expect_ok(assay_session_move_kv(engine.session, &old, &error), &error, "move");
            assay_buffer_destroy(engine.context, old);
        }
        compare(&snapshot, &engine, logits, !disturbed, &same);
    }
    cr_assert(same, "a pass reads what an earlier one left behind");
    free(logits);
    free(ids);
    snapshot_close(&snapshot);
    engine_close(&engine);
}

/* Which thread computes what is not part of any result. */
Test(engine_chunks, threads)
{
    static const int counts[] = {1, 3, 5};
    struct engine engine;
    struct snapshot snapshot;
    bool same;
    engine_open(&engine, NULL);
    snapshot_open(&snapshot, &engine);
    int32_t *ids = prompt_ids();
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL);
    forward_split(&engine, ids, 65, 0, logits);
    compare(&snapshot, &engine, logits, true, &same);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        engine_threads(&engine, counts[i]);
        forward_split(&engine, ids, 65, 0, logits);
        compare(&snapshot, &engine, logits, false, &same);
        cr_assert(same, "%d threads give other bits than 2", counts[i]);
    }
    free(logits);
    free(ids);
    snapshot_close(&snapshot);
    engine_close(&engine);
}
