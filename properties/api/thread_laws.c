/* SPDX-License-Identifier: MIT
 *
 * The number of threads never shows in a result: every op, every route, bit for bit.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "case_runs.h"
#include "words.h"
#include <assay/ops/add.h>
#include <assay/ops/rmsnorm.h>

static const int thread_counts[] = {1, 2, 3, 8};
enum { NUM_CONTEXTS = 4, CASES_PER_ROUTE = 10 };

static void open_contexts(assay_context *contexts[NUM_CONTEXTS])
{
    for (int i = 0; i < NUM_CONTEXTS; i++) {
        struct assay_context_options options = assay_context_defaults();
        options.num_threads = thread_counts[i];
        cr_assert_eq(assay_context_create(&options, &contexts[i], NULL), ASSAY_OK);
        cr_assert_eq(assay_context_num_threads(contexts[i]), thread_counts[i]);
    }
}

static void close_contexts(assay_context *contexts[NUM_CONTEXTS])
{
    for (int i = 0; i < NUM_CONTEXTS; i++)
        assay_context_destroy(contexts[i]);
}

/* Number of contexts whose result differs from the first one's; -1: the route refuses the case. */
static int differing(assay_context *contexts[NUM_CONTEXTS], const struct assay_case *c)
{
    struct trial trial;
    cr_assert(trial_create(&trial, c));
    int differ = case_run_accepted(&trial) ? 0 : -1;
    unsigned char *first = malloc(case_run_bytes(&trial)), *other = malloc(case_run_bytes(&trial));
    cr_assert(first != NULL && other != NULL);
    for (int i = 0; i < NUM_CONTEXTS && differ >= 0; i++) {
        cr_assert_eq(case_run(contexts[i], &trial), ASSAY_OK, "%s: %s", c->route,
                     assay_context_error(contexts[i])->message);
        case_run_copy(&trial, i == 0 ? first : other);
        differ += i > 0 && memcmp(first, other, case_run_bytes(&trial)) != 0;
    }
    free(first);
    free(other);
    trial_destroy(&trial);
    return differ;
}

/* The base case and some of the enumeration, spread over all of it. */
static int check_route(assay_context *contexts[NUM_CONTEXTS], const struct case_spec *spec,
                       const struct assay_route *route)
{
    struct case_list list = {NULL, 0, 0};
    cr_assert(case_enumerate_route(spec, route, 1, CASE_QUICK, &list));
    struct assay_case base = case_base(spec);
    snprintf(base.route, sizeof base.route, "%s", route->name);
    int ran = 0;
    for (int64_t k = 0; k <= CASES_PER_ROUTE; k++) {
        const struct assay_case *c =
            k == 0 ? &base : &list.cases[(k * list.num_cases - 1) / CASES_PER_ROUTE];
        int differ = differing(contexts, c);
        char text[CASE_TEXT_BYTES];
        case_print(c, text);
        cr_assert(differ <= 0, "depends on the number of threads: %s", text);
        ran += differ == 0;
    }
    case_list_free(&list);
    return ran;
}

Test(threads, do_not_show)
{
    assay_context *contexts[NUM_CONTEXTS];
    open_contexts(contexts);
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; s < num_specs; s++) {
        int ran = 0;
        for (int r = 0; r < specs[s]->op->num_routes; r++)
            if (specs[s]->op->routes[r].backend == ASSAY_CPU &&
                specs[s]->op->routes[r].isa <= assay_isa_detect())
                ran += check_route(contexts, specs[s], &specs[s]->op->routes[r]);
        cr_assert(ran > CASES_PER_ROUTE / 2, "%s: only %d cases ran", specs[s]->op->name, ran);
    }
    close_contexts(contexts);
}

static bool taken_by_plain_route(const struct trial *trial)
{
    const struct assay_op *op = trial->c->spec->op;
    for (int r = 0; r < op->num_routes; r++)
        if (op->routes[r].backend == ASSAY_CPU && op->routes[r].isa == ASSAY_ISA_PORTABLE &&
            (op->routes[r].accepts == NULL || op->routes[r].accepts(trial->args)))
            return true;
    return false;
}

/* On a processor without AVX2, too, every case has a route. */
Test(threads, plain_routes_take_all)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; s < num_specs; s++) {
        struct case_list list = {NULL, 0, 0};
        cr_assert(case_enumerate(specs[s], 2, CASE_QUICK, &list));
        for (int64_t i = 0; i < list.num_cases; i += list.num_cases / 30 + 1) {
            struct trial trial;
            char text[CASE_TEXT_BYTES];
            case_print(&list.cases[i], text);
            cr_assert(trial_create(&trial, &list.cases[i]));
            cr_assert(taken_by_plain_route(&trial), "%s", text);
            trial_destroy(&trial);
        }
        case_list_free(&list);
    }
}

/* A route whose result does depend on it is seen. */
static assay_status counting_add(assay_context *context, const void *arguments, void *workspace)
{
    (void)workspace;
    const struct assay_add_args *args = arguments;
    for (int64_t i = 0; i < assay_tensor_count(&args->y); i++)
        oracle_put(&args->y, i, floor(assay_context_num_threads(context) / 3.0));
    return ASSAY_OK;
}

Test(threads, planted_dependence)
{
    const struct assay_route route = {
        .name = "add.test.counting.cpu", .backend = ASSAY_CPU, .run = counting_add};
    assay_context *contexts[NUM_CONTEXTS];
    open_contexts(contexts);
    cr_assert_eq(assay_route_add(&route, NULL), ASSAY_OK);
    struct assay_case c = case_base(case_spec_find("add"));
    snprintf(c.route, sizeof c.route, "%s", route.name);
    cr_assert_eq(differing(contexts, &c), 2, "three and eight threads differ from one");
    close_contexts(contexts);
    assay_route_remove(&route);
}

/* Many short calls one after another: none returns before its last range is done, none takes a
 * range twice. rmsnorm hands out single rows, so every call wakes the threads. */
Test(threads, many_short_calls)
{
    assay_context *contexts[NUM_CONTEXTS];
    open_contexts(contexts);
    enum { ROWS = 61, WIDTH = 16, PASSES = 500 };
    static float x[ROWS * WIDTH], w[WIDTH], expected[ROWS * WIDTH], y[ROWS * WIDTH];
    struct assay_rmsnorm_args args = {.x = assay_tensor_2d(x, ASSAY_F32, ROWS, WIDTH),
                                      .w = assay_tensor_1d(w, ASSAY_F32, WIDTH),
                                      .eps = 1e-6};
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < ROWS * WIDTH; i++) {
            x[i] = (float)(i % 37 - pass % 19);
            w[i % WIDTH] = (float)(i % WIDTH + pass);
            y[i] = -1;
        }
        args.y = assay_tensor_2d(expected, ASSAY_F32, ROWS, WIDTH);
        cr_assert_eq(assay_rmsnorm(contexts[0], &args), ASSAY_OK);
        args.y = assay_tensor_2d(y, ASSAY_F32, ROWS, WIDTH);
        cr_assert_eq(assay_rmsnorm(contexts[1 + pass % (NUM_CONTEXTS - 1)], &args), ASSAY_OK);
        cr_assert(memcmp(y, expected, sizeof y) == 0, "pass %d", pass);
    }
    close_contexts(contexts);
}
