/* SPDX-License-Identifier: MIT
 *
 * Shared memory of device routes, on the executor: what a route says it needs is what it takes, and
 * a device that has less is given another route.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include <assay/testing.h>

#include "case_runs.h"

/* Bytes a block may have: sm_86 and sm_89; sm_80; sm_90. */
static const size_t limits[] = {99 * 1024, 163 * 1024, 227 * 1024};
enum { NUM_LIMITS = 3, CASES_PER_ROUTE = 6, STATIC_MOST = 48 * 1024 };

static assay_context *simt_context(void)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    return context;
}

/* With exactly its bytes the route runs, with one less it is refused. */
static void check_need(assay_context *context, const struct assay_route *route,
                       const struct assay_case *c, int *needy)
{
    struct trial trial;
    char text[CASE_TEXT_BYTES];
    case_print(c, text);
    cr_assert(trial_create(&trial, c));
    assay_testing_limit_shared(context, limits[NUM_LIMITS - 1]);
    if (route->shared_bytes != NULL && assay_route_takes(context, route, trial.args)) {
        const size_t need = route->shared_bytes(trial.args);
        if (need > STATIC_MOST) {
            assay_testing_limit_shared(context, need);
            cr_assert_eq(case_run(context, &trial), ASSAY_OK, "%s: %s", text,
                         assay_context_error(context)->message);
            assay_testing_limit_shared(context, need - 1);
            cr_assert_eq(case_run(context, &trial), ASSAY_E_ROUTE_REFUSED, "%s", text);
            ++*needy;
        }
    }
    assay_context_clear_error(context);
    trial_destroy(&trial);
}

Test(shared, need_is_what_is_taken)
{
    assay_context *context = simt_context();
    int num_specs, needy = 0;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; s < num_specs; s++)
        for (int r = 0; r < specs[s]->op->num_routes; r++) {
            const struct assay_route *route = &specs[s]->op->routes[r];
            if (route->backend != ASSAY_SIMT)
                continue;
            struct case_list list = {NULL, 0, 0};
            cr_assert(case_enumerate_route(specs[s], route, 3, CASE_QUICK, &list));
            for (int64_t k = 1; k <= CASES_PER_ROUTE && list.num_cases > 0; k++)
                check_need(context, route, &list.cases[(k * list.num_cases - 1) / CASES_PER_ROUTE],
                           &needy);
            case_list_free(&list);
        }
    cr_assert(needy > 20, "only %d cases took more than 48 KiB", needy);
    assay_context_destroy(context);
}

static int routes_that_take(const assay_context *context, const struct assay_op *op,
                            const void *args)
{
    int count = 0;
    for (int r = 0; r < op->num_routes; r++)
        count += assay_route_takes(context, &op->routes[r], args);
    return count;
}

/* Some route is left on every device, and the limit does make a difference. */
Test(shared, every_device_has_a_route)
{
    assay_context *context = simt_context();
    int num_specs, fewer = 0;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; s < num_specs; s++) {
        struct case_list list = {NULL, 0, 0};
        cr_assert(case_enumerate(specs[s], 2, CASE_QUICK, &list));
        for (int64_t i = 0; i < list.num_cases; i += list.num_cases / 60 + 1) {
            struct trial trial;
            int count[NUM_LIMITS];
            char text[CASE_TEXT_BYTES];
            case_print(&list.cases[i], text);
            cr_assert(trial_create(&trial, &list.cases[i]));
            for (int l = 0; l < NUM_LIMITS; l++) {
                assay_testing_limit_shared(context, limits[l]);
                count[l] = routes_that_take(context, specs[s]->op, trial.args);
                cr_assert(count[l] > 0, "%zu bytes: no route takes %s", limits[l], text);
            }
            fewer += count[0] < count[NUM_LIMITS - 1];
            trial_destroy(&trial);
        }
        case_list_free(&list);
    }
    cr_assert(fewer > 20, "only %d cases have fewer routes", fewer);
    assay_context_destroy(context);
}
