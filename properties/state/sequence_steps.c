/* SPDX-License-Identifier: MIT
 *
 * The steps of programs over sessions: each does to the session and to the plain model what its
 * name says.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <assay/device.h>

#include "sequence_play.h"

/* What a step works on. */
struct turn {
    struct play *play;
    const struct sequence_step *step;
    int lane;
    assay_session *session;
    struct plain *plain;
    int room;
};

static void write_text(const struct turn *turn, int count, int32_t *ids)
{
    for (int i = 0; i < count; i++)
        ids[i] = plain_text(turn->step->b, turn->plain->length + i);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* The step has done what its name says. */
static void note(const struct turn *turn)
{
    turn->play->world->done[turn->step->op]++;
}

static bool ok(const struct turn *turn, assay_status status, const char *call)
{
    return play_status(turn->play, status, ASSAY_OK, call);
}

/* One token more than there is room for. */
static bool overfill(const struct turn *turn)
{
    int32_t ids[SEQUENCE_CAPACITY + 1];
    write_text(turn, turn->room + 1, ids);
    return play_status(turn->play,
                       assay_session_forward(turn->session, ids, turn->room + 1, ASSAY_LOGITS_NONE,
                                             NULL, &turn->play->error),
                       ASSAY_E_FULL, "forward beyond the capacity") &&
           play_judge(turn->play, turn->lane, 0);
}

static bool prefill(const struct turn *turn)
{
    const enum assay_logits which = (enum assay_logits)(turn->step->c % 3);
    const int count = least(1 + turn->step->a % 32, turn->room);
    int32_t ids[SEQUENCE_CAPACITY];
    if (count == 0)
        return overfill(turn);
    write_text(turn, count, ids);
    if (!ok(turn,
            assay_session_forward(turn->session, ids, count, which, turn->play->logits,
                                  &turn->play->error),
            "forward"))
        return false;
    plain_append(turn->plain, which == ASSAY_LOGITS_LAST ? PLAIN_PREFILL_LAST : PLAIN_PREFILL, ids,
                 count);
    note(turn);
    return play_judge(turn->play, turn->lane, which == ASSAY_LOGITS_ALL ? count : (int)which);
}

static bool verify(const struct turn *turn, const int32_t *ids, int count)
{
    if (!ok(turn,
            assay_session_verify(turn->session, ids, count, turn->play->logits, &turn->play->error),
            "verify"))
        return false;
    plain_append(turn->plain, PLAIN_DECODE, ids, count);
    return play_judge(turn->play, turn->lane, count);
}

static bool decode(const struct turn *turn)
{
    const int count = least(1 + turn->step->a % 3, turn->room);
    for (int i = 0; i < count; i++) {
        int32_t id;
        write_text(turn, 1, &id);
        if (!verify(turn, &id, 1))
            return false;
        note(turn);
    }
    return count > 0 || overfill(turn);
}

/* One step of this lane and those behind it. On a device its products are those of a wider step
 * than the plain model's, which knows a lane alone: there each lane gets a step of its own. */
static bool together(const struct turn *turn)
{
    struct play *const play = turn->play;
    assay_session *sessions[SEQUENCE_LANES];
    int32_t ids[SEQUENCE_CAPACITY];
    int columns = 1 + turn->step->a % 4;
    for (int i = 0; i < SEQUENCE_LANES; i++) {
        const int lane = (turn->lane + i) % SEQUENCE_LANES;
        sessions[i] = play->lanes[lane];
        columns = least(columns, SEQUENCE_CAPACITY - play->plains[lane].length);
    }
    if (columns == 0)
        return true;
    for (int i = 0; i < SEQUENCE_LANES * columns; i++)
        ids[i] = plain_text(turn->step->b + i / columns, i % columns);
    const bool alone = play->program->backend != ASSAY_CPU;
    for (int i = 0; i < (alone ? SEQUENCE_LANES : 1); i++)
        if (!ok(turn,
                assay_session_verify_lanes(
                    sessions + i, alone ? 1 : SEQUENCE_LANES, ids + i * columns, columns,
                    play->logits + i * columns * SEQUENCE_VOCAB, &play->error),
                "a step of lanes"))
            return false;
    note(turn);
    for (int i = 0; i < SEQUENCE_LANES; i++) {
        const int lane = (turn->lane + i) % SEQUENCE_LANES;
        plain_append(&play->plains[lane], PLAIN_DECODE, ids + i * columns, columns);
        if (!play_judge(play, lane, columns))
            return false;
        memmove(play->logits, play->logits + columns * SEQUENCE_VOCAB,
                (size_t)((SEQUENCE_LANES - 1 - i) * columns * SEQUENCE_VOCAB) *
                    sizeof *play->logits);
    }
    return true;
}

/* ---- generation ---------------------------------------------------------------------------- */

enum { MOST_GENERATED = 4 };

struct generated {
    int32_t ids[MOST_GENERATED];
    int count;
};

static bool keep(void *user, int32_t id)
{
    struct generated *const generated = user;
    generated->ids[generated->count++] = id;
    return true;
}

/* The first of the largest; on a device, where a row alone is another product than among others,
 * one that is as large but for roundings. */
static bool is_most_likely(const struct play *play, const float *logits, int32_t id)
{
    const float slack = play->program->backend == ASSAY_CPU ? 0.0f : 0x1p-12f;
    int32_t best = 0;
    if (id < 0 || id >= SEQUENCE_VOCAB)
        return false;
    for (int32_t i = 1; i < SEQUENCE_VOCAB; i++)
        if (logits[i] > logits[best])
            best = i;
    return id == best || (slack > 0.0f && logits[id] >= logits[best] - slack * fabsf(logits[best]));
}

/* Nothing to continue: refused. The last token is not appended, hence the 1. */
static bool generate(const struct turn *turn)
{
    struct generated generated = {.count = 0};
    struct plain *const plain = turn->plain;
    const bool empty = plain->length == 0;
    struct assay_generation generation = {
        .max_new_tokens = least(1 + turn->step->a % MOST_GENERATED, turn->room + 1),
        .sampling = assay_sampling_defaults(),
        .callback = keep,
        .user = &generated};
    if (!play_status(
            turn->play,
            assay_session_generate(turn->session, NULL, 0, &generation, &turn->play->error),
            empty ? ASSAY_E_ARG : ASSAY_OK, "generate"))
        return false;
    if (!empty && generated.count != (int)generation.max_new_tokens)
        return play_fail(turn->play, "%d new tokens instead of %d", generated.count,
                         (int)generation.max_new_tokens);
    for (int i = 0; i < generated.count; i++) {
        if (!play_expect(turn->play, turn->lane))
            return false;
        const int32_t id = generated.ids[i];
        if (!is_most_likely(
                turn->play,
                turn->play->expected[turn->lane].logits + (plain->length - 1) * SEQUENCE_VOCAB, id))
            return play_fail(turn->play, "token %d of the generation, %d, is not the likeliest", i,
                             (int)id);
        if (i + 1 < generated.count)
            plain_append(plain, PLAIN_DECODE, &id, 1);
        note(turn);
    }
    return play_judge(turn->play, turn->lane, 0);
}

/* ---- back and beside ----------------------------------------------------------------------- */

static bool rewind_to(const struct turn *turn, int length)
{
    if (!ok(turn, assay_session_rewind(turn->session, length, &turn->play->error), "rewind"))
        return false;
    if (length < turn->plain->length)
        note(turn);
    turn->plain->length = length;
    return play_judge(turn->play, turn->lane, 0);
}

static bool checkpoint(const struct turn *turn)
{
    if (!ok(turn, assay_session_checkpoint(turn->session, &turn->play->error), "checkpoint"))
        return false;
    if (turn->step->op == SEQUENCE_CHECKPOINT && turn->plain->length > 0)
        note(turn);
    return play_judge(turn->play, turn->lane, 0);
}

/* Every fourth text with the checkpoint that a decoder would make. */
static bool speculate(const struct turn *turn)
{
    const int start = turn->plain->length, count = least(1 + turn->step->a % 6, turn->room);
    int32_t ids[SEQUENCE_CAPACITY];
    if (count == 0)
        return overfill(turn);
    write_text(turn, count, ids);
    return (turn->step->b % 4 != 0 || checkpoint(turn)) && verify(turn, ids, count) &&
           rewind_to(turn, start + turn->step->c % (count + 1));
}

static bool take_back(const struct turn *turn)
{
    return rewind_to(turn, turn->plain->length - turn->step->a % (turn->plain->length + 1));
}

static bool save(const struct turn *turn)
{
    const int file = turn->step->a % SEQUENCE_FILES;
    char path[512];
    sequence_file(turn->play->world, file, path);
    if (!ok(turn, assay_session_save(turn->session, path, &turn->play->error), "save"))
        return false;
    turn->play->files[file] = *turn->plain;
    turn->play->saved[file] = true;
    if (turn->plain->length > 0)
        note(turn);
    return play_judge(turn->play, turn->lane, 0);
}

static bool restore(const struct turn *turn)
{
    const int file = turn->step->a % SEQUENCE_FILES;
    const bool there = turn->play->saved[file];
    char path[512];
    sequence_file(turn->play->world, file, path);
    if (!play_status(turn->play, assay_session_restore(turn->session, path, &turn->play->error),
                     there ? ASSAY_OK : ASSAY_E_NOT_FOUND, "restore"))
        return false;
    if (there)
        *turn->plain = turn->play->files[file];
    if (there && turn->plain->length > 0)
        note(turn);
    return play_judge(turn->play, turn->lane, 0);
}

static bool fork_lane(const struct turn *turn)
{
    struct play *const play = turn->play;
    const int to = (turn->lane + 1 + turn->step->a % (SEQUENCE_LANES - 1)) % SEQUENCE_LANES;
    assay_session_destroy(play->lanes[to]);
    play->lanes[to] = NULL;
    if (!ok(turn, assay_session_fork(turn->session, &play->lanes[to], &play->error), "fork"))
        return false;
    play->plains[to] = *turn->plain;
    if (turn->plain->length > 0)
        note(turn);
    return play_judge(play, turn->lane, 0) && play_judge(play, to, 0);
}

/* ---- disturbance --------------------------------------------------------------------------- */

static bool reset(const struct turn *turn)
{
    assay_session_reset(turn->session);
    if (turn->step->op == SEQUENCE_RESET && turn->plain->length > 0)
        note(turn);
    turn->plain->length = 0;
    return play_judge(turn->play, turn->lane, 0);
}

/* Whoever still reads the old caches gets NaN. */
static bool move(const struct turn *turn)
{
    struct assay_session_memory memory;
    void *old;
    if (!ok(turn, assay_session_memory(turn->session, &memory, &turn->play->error), "memory") ||
        !ok(turn, assay_session_move_kv(turn->session, &old, &turn->play->error), "move"))
        return false;
    const assay_status status = assay_buffer_fill(turn->play->context, old, 0xff, memory.kv);
    assay_buffer_destroy(turn->play->context, old);
    if (turn->plain->length > 0)
        note(turn);
    return ok(turn, status, "fill") && play_judge(turn->play, turn->lane, 0);
}

static bool poison(const struct turn *turn)
{
    if (!ok(turn, assay_session_poison(turn->session, &turn->play->error), "poison"))
        return false;
    note(turn);
    return play_judge(turn->play, turn->lane, 0);
}

/* A pass that stops in the middle: refused from there on until it is taken back. A countdown beyond
 * the pass's calls does nothing. */
static bool interrupt(const struct turn *turn)
{
    struct play *const play = turn->play;
    const struct sequence_step *const step = turn->step;
    const int count = least(1 + step->a % SEQUENCE_CHUNK, turn->room);
    int32_t ids[SEQUENCE_CAPACITY];
    if (count == 0)
        return overfill(turn);
    write_text(turn, count, ids);
    const char *const route = sequence_failing_route(play->program->backend, 1 + step->c % 8);
    if (route == NULL || assay_context_force_route(play->context, route) != ASSAY_OK)
        return play_fail(play, "the failing route cannot be added");
    const bool is_decode = step->b % 2 != 0;
    const assay_status status =
        is_decode ? assay_session_verify(turn->session, ids, count, play->logits, &play->error)
                  : assay_session_forward(turn->session, ids, count, ASSAY_LOGITS_ALL, play->logits,
                                          &play->error);
    if (assay_context_force_route(play->context, NULL) != ASSAY_OK ||
        !play_status(play, status, sequence_failed() ? ASSAY_E_INTERNAL : ASSAY_OK, "a pass"))
        return false;
    if (!sequence_failed()) {
        plain_append(turn->plain, is_decode ? PLAIN_DECODE : PLAIN_PREFILL, ids, count);
        return play_judge(play, turn->lane, count);
    }
    if (!play_status(play, assay_session_checkpoint(turn->session, &play->error), ASSAY_E_ARG,
                     "checkpoint of a broken session"))
        return false;
    note(turn);
    if (step->c / 8 % 4 == 3)
        return reset(turn);
    return rewind_to(turn, turn->plain->length - least(step->c / 8 % 4, turn->plain->length));
}

static bool call_badly(const struct turn *turn)
{
    struct play *const play = turn->play;
    struct assay_error *const error = &play->error;
    assay_session *const session = turn->session;
    int32_t ids[] = {0, SEQUENCE_VOCAB};
    char path[600];
    bool good;
    switch (turn->step->a % 6) {
    case 0:
        if (turn->room < 2)
            return overfill(turn);
        good = play_status(play, assay_session_verify(session, ids, 2, play->logits, error),
                           ASSAY_E_RANGE, "verify of an id outside");
        break;
    case 1:
        return overfill(turn);
    case 2:
        good = play_status(play, assay_session_verify(session, ids, 0, play->logits, error),
                           ASSAY_E_ARG, "verify of nothing");
        break;
    case 3:
        good = play_status(play, assay_session_rewind(session, turn->plain->length + 1, error),
                           ASSAY_E_ARG, "rewind to what is not there");
        break;
    case 4:
        snprintf(path, sizeof path, "%s/absent", play->world->folder);
        good = play_status(play, assay_session_restore(session, path, error), ASSAY_E_NOT_FOUND,
                           "restore from no file");
        break;
    default:
        snprintf(path, sizeof path, "%s/config.json", play->world->folder);
        good = play_status(play, assay_session_restore(session, path, error), ASSAY_E_CORRUPT,
                           "restore from another file");
    }
    note(turn);
    return good && play_judge(play, turn->lane, 0);
}

bool sequence_step_run(struct play *play, const struct sequence_step *step)
{
    static bool (*const runs[])(const struct turn *) = {
        [SEQUENCE_PREFILL] = prefill,       [SEQUENCE_DECODE] = decode,
        [SEQUENCE_GENERATE] = generate,     [SEQUENCE_ROUND] = speculate,
        [SEQUENCE_TOGETHER] = together,     [SEQUENCE_REWIND] = take_back,
        [SEQUENCE_CHECKPOINT] = checkpoint, [SEQUENCE_SAVE] = save,
        [SEQUENCE_RESTORE] = restore,       [SEQUENCE_FORK] = fork_lane,
        [SEQUENCE_RESET] = reset,           [SEQUENCE_MOVE] = move,
        [SEQUENCE_POISON] = poison,         [SEQUENCE_ABORT] = interrupt,
        [SEQUENCE_BAD] = call_badly,
    };
    const int lane = step->lane % SEQUENCE_LANES;
    const struct turn turn = {.play = play,
                              .step = step,
                              .lane = lane,
                              .session = play->lanes[lane],
                              .plain = &play->plains[lane],
                              .room = SEQUENCE_CAPACITY - play->plains[lane].length};
    assay_error_clear(&play->error);
    return runs[step->op](&turn);
}
