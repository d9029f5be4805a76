/* SPDX-License-Identifier: MIT
 *
 * Two calling threads, each with a context of two threads, run every op's base case on every route
 * at the same time; the bits must be those of a single thread. A plain program, not a Criterion
 * suite: those do not start under ThreadSanitizer, for which this is meant (preset tsan).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_runs.h"

enum { CALLERS = 2, PASSES = 3 };

struct caller {
    pthread_t thread;
    int cases, wrong;
};

static assay_context *new_context(int num_threads)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = num_threads;
    assay_context *context;
    return assay_context_create(&options, &context, NULL) == ASSAY_OK ? context : NULL;
}

static bool same_bits(assay_context *alone, assay_context *shared, struct trial *trial)
{
    size_t bytes = case_run_bytes(trial);
    unsigned char *expected = malloc(bytes), *bits = malloc(bytes);
    bool good = expected != NULL && bits != NULL && case_run(alone, trial) == ASSAY_OK;
    if (good)
        case_run_copy(trial, expected);
    for (int pass = 0; pass < PASSES && good; pass++) {
        good = case_run(shared, trial) == ASSAY_OK;
        case_run_copy(trial, bits);
        good = good && memcmp(expected, bits, bytes) == 0;
    }
    free(expected);
    free(bits);
    return good;
}

static void run_route(struct caller *caller, assay_context *alone, assay_context *shared,
                      const struct case_spec *spec, const struct assay_route *route)
{
    struct assay_case c = case_base(spec);
    snprintf(c.route, sizeof c.route, "%s", route->name);
    struct trial trial;
    bool built = trial_create(&trial, &c);
    if (built && case_run_accepted(&trial)) {
        caller->cases++;
        if (!same_bits(alone, shared, &trial)) {
            caller->wrong++;
            fprintf(stderr, "%s: an error or other bits\n", route->name);
        }
    }
    trial_destroy(&trial);
}

static void *call(void *argument)
{
    struct caller *caller = argument;
    assay_context *alone = new_context(1), *shared = new_context(2);
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; alone != NULL && shared != NULL && s < num_specs; s++)
        for (int r = 0; r < specs[s]->op->num_routes; r++)
            if (specs[s]->op->routes[r].backend == ASSAY_CPU)
                run_route(caller, alone, shared, specs[s], &specs[s]->op->routes[r]);
    assay_context_destroy(alone);
    assay_context_destroy(shared);
    return NULL;
}

int main(void)
{
    struct caller callers[CALLERS] = {{.cases = 0}};
    int cases = 0, wrong = 0;
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            return 1;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        cases += callers[i].cases;
        wrong += callers[i].wrong;
    }
    printf("%d cases, %d wrong\n", cases, wrong);
    return cases == 0 || wrong > 0;
}
