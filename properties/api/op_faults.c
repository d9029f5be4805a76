/* SPDX-License-Identifier: MIT
 *
 * Fail the n-th, for every op and route: from creating the context to the end of the call, each
 * operation that can fail does so once. The failure must be clean, the outputs untouched, nothing
 * lost, and the same call must work afterwards.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/testing.h>

#include "case_runs.h"
#include "verify.h"

enum { MAX_STEPS = 200, CREATE_STEPS = 4 /* context, pool, its threads, one start */ };

struct faults {
    struct trial trial;
    unsigned char *expected, *bits; /* after a good run; scratch */
    size_t bytes;
    int64_t live; /* before anything was created */
};

static bool create(assay_context **context, struct assay_error *error)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = 2;
    assay_status status = assay_context_create(&options, context, error);
    cr_assert_eq(status == ASSAY_OK, *context != NULL);
    if (status == ASSAY_OK)
        return true;
    cr_assert_eq(status, ASSAY_E_MEMORY, "%s", assay_status_name(status));
    cr_assert_eq(error->status, status);
    cr_assert_str_eq(error->where, "context");
    return false;
}

static void check_outputs(struct faults *f, const char *route, int64_t n)
{
    case_run_copy(&f->trial, f->bits);
    trial_restore(&f->trial, 0);
    unsigned char *untouched = malloc(f->bytes);
    cr_assert_not_null(untouched);
    case_run_copy(&f->trial, untouched);
    cr_assert(memcmp(f->bits, untouched, f->bytes) == 0, "%s, step %lld: memory was written", route,
              (long long)n);
    free(untouched);
}

/* The call again, twice: both good, with the bits of an undisturbed run. */
static void check_recovery(struct faults *f, assay_context *context, const char *route, int64_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(case_run(context, &f->trial), ASSAY_OK, "%s after step %lld: %s", route,
                     (long long)n, assay_context_error(context)->message);
        case_run_copy(&f->trial, f->bits);
        cr_assert(memcmp(f->bits, f->expected, f->bytes) == 0, "%s after step %lld: other bits",
                  route, (long long)n);
    }
}

/* False when step n is beyond the last operation: nothing failed. */
static bool fail_step(struct faults *f, const char *route, int64_t n)
{
    assay_context *context;
    struct assay_error error = {.status = ASSAY_OK};
    assay_fault_after(n);
    bool created = create(&context, &error);
    assay_status status = created ? case_run(context, &f->trial) : ASSAY_OK;
    bool happened = assay_fault_happened();
    assay_fault_after(0);
    if (status != ASSAY_OK) {
        cr_assert(happened, "%s fails without a fault", route);
        cr_assert_eq(status, ASSAY_E_MEMORY, "%s: %s", route, assay_status_name(status));
        cr_assert_eq(assay_context_error(context)->status, status);
        cr_assert_str_eq(assay_context_error(context)->where, f->trial.c->spec->op->name);
        check_outputs(f, route, n);
    } else {
        cr_assert_eq(happened, !created, "%s: step %lld was swallowed", route, (long long)n);
    }
    if (created)
        check_recovery(f, context, route, n);
    assay_context_destroy(context);
    cr_assert_eq(assay_live_allocations(), f->live, "%s, step %lld leaks", route, (long long)n);
    return happened;
}

/* Number of operations that failed; 0: the route does not take the case. */
static int64_t fail_route(const struct case_spec *spec, const struct assay_route *route)
{
    struct faults f = {.live = assay_live_allocations()};
    struct assay_case c = case_base(spec);
    snprintf(c.route, sizeof c.route, "%s", route->name);
    cr_assert(trial_create(&f.trial, &c));
    f.bytes = case_run_bytes(&f.trial);
    f.expected = malloc(f.bytes);
    f.bits = malloc(f.bytes);
    cr_assert(f.expected != NULL && f.bits != NULL);
    int64_t n = 0;
    if (case_run_accepted(&f.trial)) {
        assay_context *context;
        struct assay_error error = {.status = ASSAY_OK};
        cr_assert(create(&context, &error));
        cr_assert_eq(case_run(context, &f.trial), ASSAY_OK);
        case_run_copy(&f.trial, f.expected);
        assay_context_destroy(context);
        while (n < MAX_STEPS && fail_step(&f, route->name, n + 1))
            n++;
        cr_assert(n >= CREATE_STEPS + 1 && n < MAX_STEPS, "%s: %lld steps", route->name,
                  (long long)n);
    }
    trial_destroy(&f.trial);
    free(f.expected);
    free(f.bits);
    return n;
}

Test(faults, every_op)
{
    int num_specs, with_workspace = 0;
    const struct case_spec *const *specs = case_specs(&num_specs);
    cr_assert(num_specs > 0);
    for (int s = 0; s < num_specs; s++) {
        int64_t steps = 0;
        for (int r = 0; r < specs[s]->op->num_routes; r++) {
            if (specs[s]->op->routes[r].backend != ASSAY_CPU)
                continue;
            int64_t n = fail_route(specs[s], &specs[s]->op->routes[r]);
            steps += n;
            with_workspace += n > CREATE_STEPS + 1;
        }
        cr_assert(steps > 0, "%s: no route takes the base case", specs[s]->op->name);
    }
    cr_assert(with_workspace > 0, "no workspace failed to grow");
}

/* Memory that gives out in the first or the second run of a verified case says nothing about the
 * route, and the case has not run. */
Test(faults, verdict)
{
    const struct case_spec *spec = case_spec_find("linear_swiglu");
    cr_assert_not_null(spec);
    struct assay_case c = case_base(spec);
    int64_t n = 0;
    for (bool happened = true; happened && n < MAX_STEPS; n++) {
        assay_context *context;
        struct assay_error error = {.status = ASSAY_OK};
        cr_assert(create(&context, &error));
        struct verify_outcome outcome;
        assay_fault_after(n + 1);
        verify_case(context, &c, &outcome);
        happened = assay_fault_happened();
        assay_fault_after(0);
        cr_assert_eq(outcome.verdict.finding, happened ? VERDICT_NOT_RUN : VERDICT_PASS,
                     "step %lld: %s: %s", (long long)n,
                     verdict_finding_name(outcome.verdict.finding), outcome.verdict.message);
        cr_assert_not(verdict_is_failure(outcome.verdict.finding));
        assay_context_destroy(context);
    }
    cr_assert(n > 1 && n < MAX_STEPS, "%lld steps", (long long)n);
}

/* A fixed arena, and the countdown itself: off, beyond the end, counted from the call on. */
Test(faults, countdown)
{
    int64_t live = assay_live_allocations();
    struct assay_context_options options = assay_context_defaults();
    options.workspace_bytes = 4096;
    for (int64_t n = 1; n <= 3; n++) {
        assay_context *context;
        struct assay_error error = {.status = ASSAY_OK};
        assay_fault_after(n);
        assay_status status = assay_context_create(&options, &context, &error);
        cr_assert_eq(status, n <= 2 ? ASSAY_E_MEMORY : ASSAY_OK, "step %lld", (long long)n);
        cr_assert_eq(assay_fault_happened(), n <= 2);
        if (n == 2)
            cr_assert_str_eq(error.what, "workspace_bytes");
        assay_fault_after(0);
        cr_assert_not(assay_fault_happened());
        assay_context_destroy(context);
        cr_assert_eq(assay_live_allocations(), live);
    }
}
