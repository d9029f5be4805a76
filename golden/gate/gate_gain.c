/* SPDX-License-Identifier: MIT
 *
 * What a trade gains: bytes of weights, states and workspace, and the speed of prefill, of decode
 * steps and of steps of several columns, without it and with it. The two settings take turns, so
 * that a machine that slows down slows both; each speed is that of its fastest round, since other
 * work can only slow a round down.
 */
#include "gate_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PROMPT = 512,
    STEPS = 32,
    WIDTH = 16,
    WIDE_STEPS = 4,
    CAPACITY = PROMPT + STEPS + WIDTH * WIDE_STEPS,
    ROUNDS = 5,
    QUICK_ROUNDS = 3
};

#define NOISE 0.25 /* rounds of one setting that differ more are no measurement */

struct runner {
    struct gate_bench *bench;
    assay_session *session[2];
    int32_t ids[CAPACITY];
    float *logits;
    double prefill[2][ROUNDS], decode[2][ROUNDS], width[2][ROUNDS]; /* tokens a second */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static assay_status run_round(struct runner *r, int which, int round, struct assay_error *error)
{
    assay_session *const session = r->session[which];
    const int32_t *const ids = r->ids;
    assay_session_reset(session);
    const double start = now();
    TRY(assay_session_forward(session, ids, PROMPT, ASSAY_LOGITS_LAST, r->logits, error));
    const double prefilled = now();
    for (int i = PROMPT; i < PROMPT + STEPS; i++)
        TRY(assay_session_verify(session, ids + i, 1, r->logits, error));
    const double decoded = now();
    for (int i = PROMPT + STEPS; i < CAPACITY; i += WIDTH)
        TRY(assay_session_verify(session, ids + i, WIDTH, r->logits, error));
    const double end = now();
    r->prefill[which][round] = PROMPT / (prefilled - start);
    r->decode[which][round] = STEPS / (decoded - prefilled);
    r->width[which][round] = WIDTH * WIDE_STEPS / (end - decoded);
    return ASSAY_OK;
}

static double fastest(const double *speeds, int count)
{
    double best = 0.0;
    for (int i = 0; i < count; i++)
        best = speeds[i] > best ? speeds[i] : best;
    return best;
}

/* The fastest round over the slowest, less 1. */
static double spread(const double *speeds, int count)
{
    const double best = fastest(speeds, count);
    double worst = best;
    for (int i = 0; i < count; i++)
        worst = speeds[i] < worst ? speeds[i] : worst;
    return best / worst - 1.0;
}

/* A prompt out of the first held-out text, over and over where it is short. */
static assay_status fill_ids(struct runner *r, struct assay_error *error)
{
    int32_t *ids = NULL;
    size_t num_ids = 0;
    TRY(gate_bench_text(r->bench, gate_texts[0], &ids, &num_ids, error));
    for (size_t i = 0; i < CAPACITY && num_ids > 0; i++)
        r->ids[i] = ids[i % num_ids];
    assay_tokens_free(ids);
    return ASSAY_OK;
}

static assay_status open_sessions(struct runner *r, struct assay_error *error)
{
    const struct gate_bench *const bench = r->bench;
    struct gate_gain *const gain = &bench->result->gain;
    struct assay_session_options options = assay_session_defaults();
    options.capacity = CAPACITY;
    if (assay_model_config(bench->model)->max_positions < CAPACITY)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "gate", "speed",
                          "the model has fewer than %d positions", CAPACITY);
    r->logits = malloc((size_t)(WIDTH * bench->vocab) * sizeof *r->logits);
    if (r->logits == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "speed", "no memory for logits");
    for (int i = 0; i < 2; i++) {
        struct assay_session_memory memory;
        options.trades = i == 0 ? bench->trades_without : bench->trades_with;
        TRY(assay_session_create(i == 0 ? bench->without : bench->with, bench->model, &options,
                                 &r->session[i], error));
        TRY(assay_session_memory(r->session[i], &memory, error));
        gain->weights[i] = (double)memory.weights;
        gain->decode_reads[i] = (double)memory.decode_reads;
        gain->workspace[i] = (double)memory.workspace;
        gain->state[i] = (double)memory.states;
    }
    return ASSAY_OK;
}

static assay_status run_rounds(struct runner *r, struct assay_error *error)
{
    struct gate_gain *const gain = &r->bench->result->gain;
    const int rounds = r->bench->options->quick ? QUICK_ROUNDS : ROUNDS;
    for (int which = 0; which < 2; which++) /* pages, caches, graphs */
        TRY(run_round(r, which, 0, error));
    for (int i = 0; i < rounds; i++) {
        TRY(gate_bench_progress(r->bench, "speed", i, rounds, error));
        for (int k = 0; k < 2; k++)
            TRY(run_round(r, (i + k) % 2, i, error));
    }
    double widest = 0.0;
    for (int which = 0; which < 2; which++) {
        widest = fmax(widest, spread(r->prefill[which], rounds));
        widest = fmax(widest, spread(r->decode[which], rounds));
        widest = fmax(widest, spread(r->width[which], rounds));
        gain->prefill[which] = fastest(r->prefill[which], rounds);
        gain->decode[which] = fastest(r->decode[which], rounds);
        gain->width[which] = fastest(r->width[which], rounds);
    }
    gain->taken = true;
    if (widest > NOISE)
        snprintf(
            gain->note, sizeof gain->note,
            "rounds of one setting differ by up to %.0f %%: other work ran, and the speeds say "
            "little; repeat it on a quiet machine",
            100.0 * widest);
    return ASSAY_OK;
}

assay_status gate_measure_gain(struct gate_bench *bench, struct assay_error *error)
{
    struct runner *r = calloc(1, sizeof *r);
    const double start = now();
    if (r == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "speed", "no memory");
    r->bench = bench;
    assay_status status = fill_ids(r, error);
    if (status == ASSAY_OK)
        status = open_sessions(r, error);
    if (status == ASSAY_OK)
        status = run_rounds(r, error);
    for (int i = 0; i < 2; i++)
        assay_session_destroy(r->session[i]);
    free(r->logits);
    free(r);
    bench->result->gain.seconds = now() - start;
    return status;
}
