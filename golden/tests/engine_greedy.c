/* SPDX-License-Identifier: MIT
 *
 * Greedy continuations against the float64 reference: 16 prompts of 128 tokens each.
 *
 * Where the engine leaves the path, the step must be a near-tie, which is decided by measurement:
 * the engine's logits of the reference's two best tokens have errors e1 and e2 at that step, and
 * only a gap below |e1| + |e2| <= 2 max(|e1|, |e2|) can flip. The errors themselves are bounded
 * (engine_logits.c derives how far logits may be off), or any gap would count as near. After such
 * a step the test returns to the reference's path, so all 16 x 128 steps are checked.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_common.h"

/* Largest logit error that still counts as rounding. engine_logits.c grants a row 2^-7 of its norm;
 * spread evenly that is 2^-7 of its root mean square, which is 3.9 in this model. Twice that for
 * single logits. */
#define LARGEST_LOGIT_ERROR (0x1p-6 * 3.9)

struct follower {
    const int32_t *expected;
    int64_t matched; /* tokens equal to the reference so far */
    int64_t count;
    int32_t differing; /* the token that was not, or -1 */
};

static bool follow(void *user, int32_t id)
{
    struct follower *follower = user;
    if (id != follower->expected[follower->matched]) {
        follower->differing = id;
        return false;
    }
    return ++follower->matched < follower->count;
}

/* Forwards prompt and the first `steps` reference tokens. */
static void go_to_step(struct engine *engine, const struct greedy_prompt *prompt, int64_t steps,
                       float *logits)
{
    struct assay_error error = {0};
    assay_session_reset(engine->session);
    engine_expect_ok(assay_session_forward(engine->session, prompt->prompt, prompt->num_prompt,
                                           ASSAY_LOGITS_LAST, logits, &error),
                     &error, prompt->name);
    if (steps > 0)
        engine_expect_ok(assay_session_forward(engine->session, prompt->generated, steps,
                                               ASSAY_LOGITS_LAST, logits, &error),
                         &error, prompt->name);
}

/* The engine chose `chosen` at `step`: right only at a near-tie, and only as the second best. */
static void check_near_tie(struct engine *engine, const struct greedy_prompt *prompt, int64_t index,
                           int32_t chosen, float *logits)
{
    const struct greedy_step *step = &prompt->steps[index];
    go_to_step(engine, prompt, index, logits);
    const double error1 = fabs((double)logits[step->top1] - step->logit1);
    const double error2 = fabs((double)logits[step->top2] - step->logit2);
    const double error = fmax(error1, error2), gap = step->logit1 - step->logit2;
    printf("%s: step %lld: %d instead of %d, gap %.4g, logit error %.4g\n", prompt->name,
           (long long)index, (int)chosen, (int)step->top1, gap, error);
    cr_assert(chosen == step->top2, "%s: step %lld: token %d is neither of the two best (%d, %d)",
              prompt->name, (long long)index, (int)chosen, (int)step->top1, (int)step->top2);
    cr_assert(error1 <= LARGEST_LOGIT_ERROR && error2 <= LARGEST_LOGIT_ERROR,
              "%s: step %lld: logits are off by %g", prompt->name, (long long)index, error);
    cr_assert(gap < 2.0 * error, "%s: step %lld: no near-tie: gap %g, logit error %g", prompt->name,
              (long long)index, gap, error);
}

/* Returns how often the engine left the path. */
static int check_prompt(struct engine *engine, const struct greedy_prompt *prompt, float *logits)
{
    const int64_t count = prompt->num_generated;
    int departures = 0;
    struct follower follower = {.expected = prompt->generated, .count = count, .differing = -1};
    go_to_step(engine, prompt, 0, logits);
    while (follower.matched < count) {
        struct assay_error error = {0};
        struct assay_generation generation = {.max_new_tokens = count - follower.matched,
                                              .sampling = assay_sampling_defaults(),
                                              .callback = follow,
                                              .user = &follower};
        engine_expect_ok(assay_session_generate(engine->session, NULL, 0, &generation, &error),
                         &error, prompt->name);
        if (follower.matched == count)
            break;
        cr_assert(follower.differing >= 0, "%s: generation stopped at %lld of %lld", prompt->name,
                  (long long)follower.matched, (long long)count);
        check_near_tie(engine, prompt, follower.matched, follower.differing, logits);
        departures++;
        /* Back on the path: behind the reference's token. */
        follower.matched++;
        follower.differing = -1;
        go_to_step(engine, prompt, follower.matched, logits);
    }
    return departures;
}

Test(engine_greedy, continuations)
{
    size_t num;
    struct greedy_prompt *prompts = greedy_read(TINY_REFERENCES "/greedy.json", &num);
    cr_assert(num == 16, "greedy.json holds %zu prompts", num);
    struct engine engine;
    engine_open(&engine, NULL);
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL);
    int departures = 0;
    for (size_t i = 0; i < num; i++) {
        cr_assert(prompts[i].num_generated == 128);
        departures += check_prompt(&engine, &prompts[i], logits);
    }
    printf("%zu prompts, %d steps differ, all near-ties\n", num, departures);
    free(logits);
    engine_close(&engine);
    greedy_free(prompts, num);
}
