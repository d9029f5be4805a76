/* SPDX-License-Identifier: MIT
 *
 * Playing programs over sessions, judging lanes, shrinking what fails.
 */
#include "sequence_play.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- judgement ----------------------------------------------------------------------------- */

bool play_fail(struct play *play, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(play->reason, SEQUENCE_REASON_BYTES, format, values);
    va_end(values);
    return false;
}

bool play_status(struct play *play, assay_status found, assay_status expected, const char *call)
{
    if (found == expected) {
        assay_error_clear(&play->error);
        return true;
    }
    return play_fail(play, "%s gives %s, not %s: %s", call, assay_status_name(found),
                     assay_status_name(expected), play->error.message);
}

/* Rows do not depend on how a text is cut into passes. */
static bool split_exact(const struct sequence_program *program)
{
    return program->backend == ASSAY_CPU && !program->chunked;
}

/* An fp16 state is rounded at the ends of chunks, which another split moves. (The executor's passes
 * take too long for a second opinion.) */
static bool split_bounded(const struct sequence_program *program)
{
    return !split_exact(program) && program->backend != ASSAY_SIMT &&
           (program->trades & 1u << ASSAY_TRADE_GDN_STATE_FP16) == 0;
}

bool play_expect(struct play *play, int lane)
{
    return plain_reference(play->world, play->program, &play->plains[lane],
                           split_exact(play->program) ? NULL : &play->twins[lane],
                           &play->expected[lane], play->reason);
}

static double distance(const float *a, const float *b)
{
    double difference = 0.0, norm = 0.0;
    for (int i = 0; i < SEQUENCE_VOCAB; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / norm);
}

static bool judge_logits(struct play *play, int lane, int rows)
{
    const struct plain *const plain = &play->plains[lane];
    const float *const expected = play->expected[lane].logits;
    const bool bounded = split_bounded(play->program);
    if (bounded &&
        !plain_reference(play->world, play->program, plain, NULL, &play->one_prefill, play->reason))
        return false;
    for (int i = 0; i < rows; i++) {
        const int token = plain->length - rows + i, at = token * SEQUENCE_VOCAB;
        const float *const found = play->logits + i * SEQUENCE_VOCAB;
        if (memcmp(found, expected + at, SEQUENCE_VOCAB * sizeof *found) != 0)
            return play_fail(play, "logits of token %d differ (by %.3g)", token,
                             distance(found, expected + at));
        const double off = bounded ? distance(found, play->one_prefill.logits + at) : 0.0;
        if (!(off <= SEQUENCE_SPLIT))
            return play_fail(play, "logits of token %d are %.3g from those of one prefill", token,
                             off);
    }
    return true;
}

bool play_judge(struct play *play, int lane, int rows)
{
    const assay_session *const session = play->lanes[lane];
    const struct plain *const plain = &play->plains[lane];
    float states[SEQUENCE_LAYERS][SEQUENCE_STATE];
    if (assay_session_broken(session))
        return play_fail(play, "lane %d is broken", lane);
    if (assay_session_length(session) != plain->length)
        return play_fail(play, "lane %d has %d tokens, not %d", lane,
                         (int)assay_session_length(session), plain->length);
    if (memcmp(assay_session_tokens(session), plain->ids,
               (size_t)plain->length * sizeof *plain->ids) != 0)
        return play_fail(play, "lane %d has other tokens", lane);
    if (!play_expect(play, lane))
        return false;
    if (rows > 0 && !judge_logits(play, lane, rows))
        return false;
    if (!plain_states(session, states))
        return play_fail(play, "lane %d: states cannot be read", lane);
    for (int i = 0; i < SEQUENCE_LAYERS; i++)
        if (memcmp(states[i], play->expected[lane].states[i], sizeof states[i]) != 0)
            return play_fail(play, "lane %d: the state of layer %d differs", lane, i);
    return true;
}

/* ---- playing ------------------------------------------------------------------------------- */

static bool open_lanes(struct play *play)
{
    const struct assay_session_options options = plain_options(play->program);
    play->context = sequence_context(play->world, play->program->backend, false);
    if (play->context == NULL)
        return play_fail(play, "no backend %s", assay_backend_name(play->program->backend));
    for (int i = 0; i < SEQUENCE_LANES; i++)
        if (!play_status(play,
                         assay_session_create(play->context, play->world->model, &options,
                                              &play->lanes[i], &play->error),
                         ASSAY_OK, "create"))
            return false;
    return true;
}

/* What states and logits so far do not show: a stale checkpoint, by a rewind; the newest token's
 * row, by a generation; caches and convolution states, by a few tokens more. */
static bool finish(struct play *play)
{
    const uint8_t steps = play->program->backend == ASSAY_SIMT ? 0 : 2; /* its passes are slow */
    for (uint8_t lane = 0; lane < SEQUENCE_LANES; lane++) {
        const struct sequence_step last[] = {{SEQUENCE_REWIND, lane, 1, 0, 0},
                                             {SEQUENCE_GENERATE, lane, 0, 0, 0},
                                             {SEQUENCE_PREFILL, lane, 0, 1, 1},
                                             {SEQUENCE_DECODE, lane, steps, 1, 0}};
        for (size_t i = 0; i < sizeof last / sizeof *last; i++)
            if (!sequence_step_run(play, &last[i]))
                return false;
    }
    return true;
}

/* The reason so far, after what it happened at. */
static bool name_step(struct play *play, int index)
{
    char found[SEQUENCE_REASON_BYTES];
    snprintf(found, sizeof found, "%s", play->reason);
    if (index < play->program->num_steps)
        snprintf(play->reason, SEQUENCE_REASON_BYTES, "step %d: %.400s", index + 1, found);
    else
        snprintf(play->reason, SEQUENCE_REASON_BYTES, "after the last step: %.400s", found);
    return false;
}

static bool run(struct play *play)
{
    const int num_steps = play->program->num_steps;
    if (!open_lanes(play))
        return false;
    for (int i = 0; i <= num_steps; i++) {
        if (!(i < num_steps ? sequence_step_run(play, &play->program->steps[i]) : finish(play)))
            return name_step(play, i);
        const char *const wrong = play->world->watch != NULL ? play->world->watch() : NULL;
        if (wrong != NULL) {
            play_fail(play, "%s", wrong);
            return name_step(play, i);
        }
    }
    return true;
}

bool sequence_play(struct sequence_world *world, const struct sequence_program *program,
                   char reason[SEQUENCE_REASON_BYTES])
{
    struct play *play = calloc(1, sizeof *play);
    snprintf(reason, SEQUENCE_REASON_BYTES, "no memory");
    if (play == NULL)
        return false;
    play->world = world;
    play->program = program;
    play->reason = reason;
    bool good = run(play);
    for (int i = 0; i < SEQUENCE_LANES; i++)
        plain_twin_close(&play->twins[i]);
    for (int i = 0; i < SEQUENCE_LANES; i++)
        assay_session_destroy(play->lanes[i]);
    /* Also what shows when blocks are freed; after a failure it is part of that. */
    const char *const wrong = world->watch != NULL ? world->watch() : NULL;
    if (good && wrong != NULL)
        good = play_fail(play, "at the end: %s", wrong);
    for (int i = 0; i < SEQUENCE_FILES; i++) {
        char path[512];
        sequence_file(world, i, path);
        remove(path);
    }
    free(play);
    if (good)
        reason[0] = '\0';
    return good;
}

/* ---- shrinking ----------------------------------------------------------------------------- */

/* *smallest becomes the candidate when that fails, too. */
static bool take(struct sequence_world *world, const struct sequence_program *candidate,
                 struct sequence_program *smallest)
{
    char reason[SEQUENCE_REASON_BYTES];
    if (sequence_play(world, candidate, reason))
        return false;
    *smallest = *candidate;
    return true;
}

static bool drop_steps(struct sequence_world *world, struct sequence_program *smallest)
{
    bool any = false;
    for (int count = smallest->num_steps / 2; count >= 1; count /= 2)
        for (int first = smallest->num_steps - count; first >= 0; first -= count) {
            struct sequence_program candidate = *smallest;
            candidate.num_steps -= count;
            if (first + count > smallest->num_steps || candidate.num_steps < 1)
                continue;
            memmove(candidate.steps + first, candidate.steps + first + count,
                    (size_t)(candidate.num_steps - first) * sizeof *candidate.steps);
            any |= take(world, &candidate, smallest);
        }
    return any;
}

/* Settings, then every number: 0, or half of it. */
static bool lower_numbers(struct sequence_world *world, struct sequence_program *smallest)
{
    bool any = false;
    struct sequence_program candidate = *smallest;
    candidate.trades = 0;
    any |= smallest->trades != 0 && take(world, &candidate, smallest);
    candidate = *smallest;
    candidate.chunked = false;
    any |= smallest->chunked && take(world, &candidate, smallest);
    for (int i = 0; i < smallest->num_steps; i++)
        for (int number = 0; number < 4; number++)
            for (int divisor = 0; divisor <= 2; divisor += 2) {
                candidate = *smallest;
                struct sequence_step *const s = &candidate.steps[i];
                uint8_t *const numbers[] = {&s->lane, &s->a, &s->b, &s->c};
                if (*numbers[number] == 0)
                    break;
                *numbers[number] = (uint8_t)(divisor == 0 ? 0 : *numbers[number] / divisor);
                if (take(world, &candidate, smallest)) {
                    any = true;
                    break;
                }
            }
    return any;
}

void sequence_shrink(struct sequence_world *world, const struct sequence_program *failing,
                     struct sequence_program *smallest)
{
    enum { MOST_ROUNDS = 8 };
    *smallest = *failing;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        const bool fewer = drop_steps(world, smallest);
        const bool lower = lower_numbers(world, smallest);
        if (!fewer && !lower)
            return;
    }
}
