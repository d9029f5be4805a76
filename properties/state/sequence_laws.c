/* SPDX-License-Identifier: MIT
 *
 * Programs over sessions hold, and their lines can be read back. SEQUENCE_PROGRAMS in the
 * environment: how many are played on backend cpu; the failing one's shortest form is printed.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>

#include "guarded_heap.h"
#include "sequence_plain.h"

#ifndef SEQUENCE_BACKEND
#define SEQUENCE_BACKEND ASSAY_CPU
#endif
#ifndef SEQUENCE_PROGRAMS
#define SEQUENCE_PROGRAMS 100
#endif

enum { LENGTH = 40 };

static long num_programs(void)
{
    const char *const asked = getenv("SEQUENCE_PROGRAMS");
    return asked != NULL ? strtol(asked, NULL, 10) : SEQUENCE_PROGRAMS;
}

/* The same tests run on a device where one is. */
static void skip_without_device(void)
{
    if (SEQUENCE_BACKEND != ASSAY_CUDA || assay_device_count() > 0)
        return;
    puts("no CUDA device");
    fflush(stdout);
    cr_skip_test("no CUDA device");
}

Test(sequence, programs)
{
    char reason[SEQUENCE_REASON_BYTES], text[SEQUENCE_TEXT_BYTES];
    struct sequence_program program, smallest;
    skip_without_device();
    struct sequence_world *world = sequence_open(reason);
    cr_assert(world != NULL, "%s", reason);
    sequence_watch(world, guarded_heap_check);
    const long count = num_programs();
    for (long seed = 1; seed <= count; seed++) {
        sequence_draw((uint64_t)seed, LENGTH, SEQUENCE_BACKEND, &program);
        if (sequence_play(world, &program, reason))
            continue;
        printf("seed %ld: %s\n", seed, reason);
        sequence_shrink(world, &program, &smallest);
        sequence_play(world, &smallest, reason);
        sequence_print(&smallest, text);
        cr_assert_fail("%s\n  repeat: assay verify '%s'", reason, text);
    }
    printf("%ld programs of %d steps:", count, LENGTH);
    for (int op = 0; op < NUM_SEQUENCE_OPS; op++) {
        const int64_t done = sequence_done(world, (enum sequence_op)op);
        printf(" %s %lld", sequence_op_name((enum sequence_op)op), (long long)done);
        cr_assert(count < 50 || done * 4 >= count, "%s: only %lld times",
                  sequence_op_name((enum sequence_op)op), (long long)done);
    }
    putchar('\n');
    sequence_close(world);
}

/* ---- speculation --------------------------------------------------------------------------- */

enum { GREEDY = 40, DRAFTS = 4, PROMPT = 9 };

/* How drafts are made from the tokens that will come. */
enum drafter { ALWAYS_RIGHT, ALWAYS_WRONG, ALTERNATING, SOMETIMES_NONE, NUM_DRAFTERS };

static int draft(enum drafter drafter, int round, const int32_t *coming, int32_t *ids)
{
    const int count = drafter == SOMETIMES_NONE ? round % (DRAFTS + 1) : DRAFTS;
    for (int i = 0; i < count; i++) {
        const bool wrong = drafter == ALWAYS_WRONG || (drafter == ALTERNATING && i == round % 4);
        ids[i] = (coming[i] + wrong) % SEQUENCE_VOCAB;
    }
    return count;
}

static int32_t most_likely(const float *logits)
{
    int32_t best = 0;
    for (int32_t i = 1; i < SEQUENCE_VOCAB; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

struct generated {
    int32_t ids[GREEDY + DRAFTS + 1];
    int count;
};

static bool keep(void *user, int32_t id)
{
    struct generated *const generated = user;
    generated->ids[generated->count++] = id;
    return true;
}

/* One round: the newest token and drafts in one step; the tokens that a step each would have
 * chosen. */
static int speculate(assay_session *session, int32_t newest, const int32_t *drafts, int count,
                     int32_t *chosen)
{
    static float logits[(DRAFTS + 1) * SEQUENCE_VOCAB];
    int32_t ids[DRAFTS + 1] = {newest};
    int accepted = 0;
    const int64_t start = assay_session_length(session);
    memcpy(ids + 1, drafts, (size_t)count * sizeof *drafts);
    cr_assert_eq(assay_session_checkpoint(session, NULL), ASSAY_OK);
    cr_assert_eq(assay_session_verify(session, ids, count + 1, logits, NULL), ASSAY_OK);
    for (;; accepted++) {
        chosen[accepted] = most_likely(logits + accepted * SEQUENCE_VOCAB);
        if (accepted == count || chosen[accepted] != drafts[accepted])
            break;
    }
    cr_assert_eq(assay_session_rewind(session, start + accepted + 1, NULL), ASSAY_OK);
    return accepted + 1;
}

/* Whatever the drafter says, the text is the one without it. */
Test(sequence, speculation)
{
    char reason[SEQUENCE_REASON_BYTES];
    struct sequence_world *world = SEQUENCE_BACKEND == ASSAY_CPU ? sequence_open(reason) : NULL;
    const struct sequence_program recurrent = {.backend = ASSAY_CPU};
    const struct assay_session_options options = plain_options(&recurrent);
    struct generated greedy = {.count = 0};
    struct assay_generation generation = {.max_new_tokens = GREEDY,
                                          .sampling = assay_sampling_defaults(),
                                          .callback = keep,
                                          .user = &greedy};
    int32_t prompt[PROMPT], next;
    assay_session *session;
    if (world == NULL)
        return;
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = plain_text(3, i);
    cr_assert_eq(assay_session_create(sequence_context(world, ASSAY_CPU, false), world->model,
                                      &options, &session, NULL),
                 ASSAY_OK);
    cr_assert_eq(assay_session_generate(session, prompt, PROMPT, &generation, NULL), ASSAY_OK);
    for (int drafter = 0; drafter < NUM_DRAFTERS; drafter++) {
        int count = 1, rounds = 0;
        assay_session_reset(session);
        cr_assert_eq(assay_session_forward(session, prompt, PROMPT, ASSAY_LOGITS_NONE, NULL, NULL),
                     ASSAY_OK);
        next = greedy.ids[0];
        for (; count < GREEDY - DRAFTS; rounds++) {
            int32_t drafts[DRAFTS], chosen[DRAFTS + 1];
            const int num_drafts = draft((enum drafter)drafter, rounds, greedy.ids + count, drafts);
            const int got = speculate(session, next, drafts, num_drafts, chosen);
            cr_assert_eq(memcmp(chosen, greedy.ids + count, (size_t)got * sizeof *chosen), 0,
                         "drafter %d, round %d", drafter, rounds);
            count += got;
            next = chosen[got - 1];
        }
        cr_assert(drafter != ALWAYS_RIGHT || rounds <= GREEDY / (DRAFTS + 1));
        cr_assert(drafter != ALWAYS_WRONG || rounds == GREEDY - DRAFTS - 1);
    }
    assay_session_destroy(session);
    sequence_close(world);
}

Test(sequence, lines)
{
    static const char *const bad[] = {
        "",
        "sequences steps=reset.0.0.0.0",
        "sequence",
        "sequence steps=",
        "sequence steps=reset.0.0.0",
        "sequence steps=reset.0.0.0.0.0",
        "sequence steps=reset.3.0.0.0",
        "sequence steps=reset.0.256.0.0",
        "sequence steps=resets.0.0.0.0",
        "sequence mode=slow steps=reset.0.0.0.0",
        "sequence backend=gpu steps=reset.0.0.0.0",
        "sequence trades=none,all steps=reset.0.0.0.0",
        "sequence seed=1",
        "sequence seed=x length=4",
        "sequence seed=1 length=0",
        "sequence seed=1 length=65",
        "sequence seed=1 length=4 steps=reset.0.0.0.0",
    };
    char reason[SEQUENCE_REASON_BYTES], text[SEQUENCE_TEXT_BYTES], again[SEQUENCE_TEXT_BYTES];
    struct sequence_program program, read;
    for (uint64_t seed = 0; seed < 200; seed++) {
        sequence_draw(seed, SEQUENCE_MAX_STEPS, ASSAY_SIMT, &program);
        sequence_print(&program, text);
        cr_assert(sequence_parse(text, &read, reason), "%s: %s", text, reason);
        sequence_print(&read, again);
        cr_assert_str_eq(text, again);
        cr_assert_eq(memcmp(&program, &read, sizeof read), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reason[0] = '\0';
        cr_assert(!sequence_parse(bad[i], &read, reason), "%s", bad[i]);
        cr_assert_neq(reason[0], '\0', "%s", bad[i]);
    }
    cr_assert(sequence_parse("sequence seed=7 length=9", &read, reason), "%s", reason);
    sequence_draw(7, 9, ASSAY_CPU, &program);
    cr_assert_eq(memcmp(&program, &read, sizeof read), 0);
}
