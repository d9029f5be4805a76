/* SPDX-License-Identifier: MIT
 *
 * The cache of rotation steps belongs to one thread. A race on a shared one would show once in
 * millions of calls, so its address is compared instead. Includes the source to reach it.
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "../ball.c"

struct visit {
    const struct step *cache;
    uint128 turns;
};

static void *visit(void *argument)
{
    struct visit *visit = argument;
    visit->turns = step_turns(1e7, 5, 64);
    visit->cache = steps;
    mpfr_free_cache();
    return NULL;
}

Test(ball_cache, belongs_to_one_thread)
{
    struct visit first, second;
    uint128 other = step_turns(1e4, 5, 64); /* the same place, another angle */
    visit(&first);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, visit, &second), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(first.cache != second.cache, "threads share a cache without a lock");
    cr_assert(first.turns == second.turns && first.turns != other);
    cr_assert(steps[5].theta == 1e7 && steps[5].turns == first.turns);
}
