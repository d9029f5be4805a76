/* SPDX-License-Identifier: MIT
 *
 * One case, from memory to verdict.
 */
#include "verify.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <assay/testing.h>

#include "bounds.h"
#include "trial.h"
#include "values.h"
#include "words.h"

struct run {
    assay_context *context;
    const struct case_spec *spec;
    const struct oracle_op *oracle;
    struct trial *trial;
    struct oracle_output outputs[ORACLE_MAX_OUTPUTS];
    struct verify_outcome *outcome;
    bool small_by_design; /* a golden vector need not excite what a sweep's case must */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((format(printf, 3, 4))) static void report(struct run *r,
                                                         enum verdict_finding finding,
                                                         const char *format, ...)
{
    struct verdict *v = &r->outcome->verdict;
    if (v->finding != VERDICT_PASS)
        return;
    v->finding = finding;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->message, sizeof v->message, format, arguments);
    va_end(arguments);
}

static bool create_outputs(struct run *r)
{
    for (int k = 0; k < r->oracle->num_outputs; k++) {
        const struct trial_buffer *b = trial_find(r->trial, r->oracle->outputs[k]);
        if (b == NULL) {
            report(r, VERDICT_MISTRUSTED, "the case has no output '%s'", r->oracle->outputs[k]);
            return false;
        }
        if (!oracle_output_create(&r->outputs[k], r->oracle->outputs[k], b->tensor.dtype,
                                  assay_tensor_count(&b->tensor))) {
            report(r, VERDICT_NOT_RUN, "out of memory for the oracle");
            return false;
        }
    }
    return true;
}

static void destroy_outputs(struct run *r)
{
    for (int k = 0; k < ORACLE_MAX_OUTPUTS; k++)
        oracle_output_destroy(&r->outputs[k]);
}

/* The row that the context will take: the forced one, else the first that accepts. */
static const struct assay_route *expected_route(const struct run *r)
{
    const struct assay_case *c = r->trial->c;
    if (c->route[0] != '\0')
        return assay_route_find(c->route, NULL);
    for (int i = 0; i < r->spec->op->num_routes; i++) {
        const struct assay_route *route = &r->spec->op->routes[i];
        if (assay_route_takes(r->context, route, r->trial->args))
            return route;
    }
    return NULL;
}

static assay_status invoke(struct run *r)
{
    double start = now();
    assay_status status = trial_run(r->trial, r->context);
    if (r->outcome->seconds == 0)
        r->outcome->seconds = now() - start;
    return status;
}

/* Bits outside the outputs, unwritten elements. */
static void check_memory(struct run *r, int pattern)
{
    bool is_input;
    const char *damaged = trial_damage(r->trial, &is_input);
    if (damaged != NULL)
        report(r, is_input ? VERDICT_INPUT_CHANGED : VERDICT_GUARD,
               is_input ? "input %s was written" : "memory around output %s was written", damaged);
    for (int k = 0; k < r->oracle->num_outputs; k++) {
        const struct trial_buffer *b = trial_find(r->trial, r->oracle->outputs[k]);
        int64_t at = trial_unwritten(b, pattern);
        if (at >= 0)
            report(r, VERDICT_UNWRITTEN, "%s[%lld] was not written", b->name, (long long)at);
    }
}

/* A case that cannot show a fault is no evidence. */
static void check_vacuous(struct run *r)
{
    const struct assay_case *c = r->trial->c;
    struct verdict *v = &r->outcome->verdict;
    if (v->count == 0)
        return; /* an empty call: status, guards and inputs were still checked */
    bool may_be_zero = c->dist == CASE_DIST_ZEROS || c->dist == CASE_DIST_SUBNORMAL ||
                       c->dist == CASE_DIST_NONFINITE || c->dist == CASE_DIST_EXACT ||
                       c->dist == CASE_DIST_LARGE;
    bool is_real = r->outputs[0].dtype != ASSAY_I32;
    /* So few may all be zero by chance: codes of 4 bits are zero once in 16, sums of them cancel.
     */
    const bool is_tiny = v->count < 64;
    if (v->nonzero == 0 && !may_be_zero && !is_tiny && is_real)
        report(r, VERDICT_MISTRUSTED, "every reference element is zero");
    if (v->own_share > 0.25)
        report(r, VERDICT_MISTRUSTED, "the oracle's own error is %.0f %% of the bound",
               100 * v->own_share);
    if (case_dist_independent(c->dist) && is_real && v->allowance > 0.25)
        report(r, VERDICT_MISTRUSTED,
               "the allowance %.2g cannot tell right from wrong on well-conditioned input",
               v->allowance);
    if (r->trial->state->unmet_claim != NULL)
        report(r, VERDICT_MISTRUSTED, "not excited: %s", r->trial->state->unmet_claim);
}

/* Where the route had a choice its outputs say which one is the reference. */
static void settle(struct run *r, const struct assay_route *route)
{
    struct oracle_route how = {.profile = route->profile, .depth = route->depth};
    assay_status status = r->oracle->settle(r->trial->args, &how, r->outputs);
    if (status != ASSAY_OK)
        report(r, status == ASSAY_E_MEMORY ? VERDICT_NOT_RUN : VERDICT_MISTRUSTED,
               "the oracle returned %s", assay_status_name(status));
}

static void compare_outputs(struct run *r, const struct assay_route *route)
{
    const struct case_spec *spec = r->spec;
    const struct assay_case *c = r->trial->c;
    bool exact = c->dist == CASE_DIST_EXACT && spec->exact != NULL && spec->exact(c);
    if (!exact && r->oracle->settle != NULL)
        settle(r, route);
    double ceiling =
        r->oracle->ceiling != NULL ? r->oracle->ceiling(r->trial->args, route->profile) : 1;
    for (int k = 0; k < r->oracle->num_outputs; k++) {
        const struct trial_buffer *b = trial_find(r->trial, r->oracle->outputs[k]);
        struct verdict one;
        verdict_compare(&b->tensor, &r->outputs[k], ceiling, exact, &one);
        verdict_merge(&r->outcome->verdict, &one);
    }
}

/* The first byte of an output's own bytes that differs from `first`; -1 when none does. */
static int64_t first_difference(const struct trial_buffer *b, const unsigned char *first)
{
    for (int64_t segment = 0; segment < b->num_segments; segment++) {
        size_t at = (size_t)segment * b->segment_pitch;
        for (size_t k = 0; k < b->segment_bytes; k++)
            if (b->owned[at + k] &&
                b->live[at + k] != first[(size_t)segment * b->segment_bytes + k])
                return (int64_t)(at + k);
    }
    return -1;
}

static size_t memory_of(const struct trial_buffer *b)
{
    return (size_t)b->num_segments * b->segment_bytes;
}

/* All live bytes, one buffer after the other; NULL when out of memory. */
static unsigned char *copy_live(const struct trial_state *s)
{
    size_t total = 0, used = 0;
    for (int i = 0; i < s->num_buffers; i++)
        total += memory_of(&s->buffer[i]);
    unsigned char *copy = malloc(total > 0 ? total : 1);
    for (int i = 0; i < s->num_buffers && copy != NULL; i++) {
        const struct trial_buffer *b = &s->buffer[i];
        for (int64_t k = 0; k < b->num_segments; k++)
            memcpy(copy + used + (size_t)k * b->segment_bytes,
                   b->live + (size_t)k * b->segment_pitch, b->segment_bytes);
        used += memory_of(b);
    }
    return copy;
}

/* A second run from other poison and with a used workspace must give the same bits, and write
 * nothing behind the workspace. */
static void check_repeat(struct run *r, const struct assay_route *route)
{
    struct trial_state *s = r->trial->state;
    unsigned char *first = copy_live(s);
    if (first == NULL) {
        report(r, VERDICT_NOT_RUN, "out of memory for the second run");
        return;
    }
    trial_restore(r->trial, 1);
    size_t workspace = route->workspace == NULL ? 0 : route->workspace(r->context, r->trial->args);
    assay_status status = assay_testing_workspace_mark(r->context, workspace);
    if (status == ASSAY_OK)
        status = invoke(r);
    if (!assay_testing_workspace_marked(r->context, workspace))
        report(r, VERDICT_GUARD, "memory behind the workspace was written");
    if (status != ASSAY_OK)
        report(r, status == ASSAY_E_MEMORY ? VERDICT_NOT_RUN : VERDICT_NOT_REPEATED,
               "the second run returned %s", assay_status_name(status));
    else
        check_memory(r, 1);
    size_t used = 0;
    for (int i = 0; i < s->num_buffers && status == ASSAY_OK; i++) {
        int64_t at = first_difference(&s->buffer[i], first + used);
        if (at >= 0)
            report(r, VERDICT_NOT_REPEATED, "%s: byte %lld differs in the second run",
                   s->buffer[i].name, (long long)at);
        used += memory_of(&s->buffer[i]);
    }
    free(first);
}

/* The route on the trial's inputs, against r->outputs (value and bound are set). */
static void run_route(struct run *r, const struct assay_route *route)
{
    trial_restore(r->trial, 0);
    uint64_t before = assay_context_route_count(r->context, route->name);
    assay_status status = invoke(r);
    if (status != ASSAY_OK) {
        report(r, status == ASSAY_E_MEMORY ? VERDICT_NOT_RUN : VERDICT_STATUS, "returned %s: %s",
               assay_status_name(status), assay_context_error(r->context)->message);
        return;
    }
    if (assay_context_route_count(r->context, route->name) != before + 1)
        report(r, VERDICT_STATUS, "another route than %s ran", route->name);
    check_memory(r, 0);
    compare_outputs(r, route);
    if (!r->small_by_design) {
        if (r->spec->claims != NULL)
            r->spec->claims(r->trial, r->outputs);
        check_vacuous(r);
    }
    if (r->outcome->verdict.finding == VERDICT_PASS)
        check_repeat(r, route);
}

static bool force(struct run *r, const char *route)
{
    if (assay_context_force_route(r->context, NULL) != ASSAY_OK ||
        (route[0] != '\0' && assay_context_force_route(r->context, route) != ASSAY_OK)) {
        report(r, VERDICT_STATUS, "there is no route '%s'", route);
        return false;
    }
    return true;
}

/* Forced route and its predicate; false when the case ends here. */
static bool prepare(struct run *r, const struct assay_route **route)
{
    if (!force(r, r->trial->c->route))
        return false;
    *route = expected_route(r);
    if (*route == NULL) {
        report(r, VERDICT_STATUS, "no route accepts the call");
        return false;
    }
    snprintf(r->outcome->route, sizeof r->outcome->route, "%s", (*route)->name);
    if (!assay_route_takes(r->context, *route, r->trial->args)) {
        r->outcome->refused = true;
        return false;
    }
    return true;
}

static void evaluate(struct run *r, const struct assay_route *route)
{
    struct oracle_route how = {.profile = route->profile, .depth = route->depth};
    oracle_set_inputs_independent(case_dist_independent(r->trial->c->dist));
    trial_restore(r->trial, 0);
    assay_status status =
        oracle_evaluate(r->oracle, r->trial->args, &how, r->outputs, &r->outcome->used_mpfr);
    if (status != ASSAY_OK)
        report(r, status == ASSAY_E_MEMORY ? VERDICT_NOT_RUN : VERDICT_MISTRUSTED,
               "the oracle returned %s", assay_status_name(status));
}

void verify_case(assay_context *context, const struct assay_case *c, struct verify_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->c = *c;
    struct trial trial = {.c = c};
    struct run r = {.context = context,
                    .spec = c->spec,
                    .trial = &trial,
                    .outcome = outcome,
                    .oracle = oracle_find(c->spec->oracle_name)};
    const struct assay_route *route;
    if (r.oracle == NULL)
        report(&r, VERDICT_MISTRUSTED, "there is no oracle '%s'", c->spec->oracle_name);
    else if (!trial_create(&trial, c))
        report(&r, VERDICT_NOT_RUN, "out of memory for the case");
    else if (prepare(&r, &route) && create_outputs(&r)) {
        evaluate(&r, route);
        if (outcome->verdict.finding == VERDICT_PASS)
            run_route(&r, route);
    }
    destroy_outputs(&r);
    trial_destroy(&trial);
}

/* ---- oracle against oracle ------------------------------------------------------------------ */

static bool close_to(double a, double a_own, double b, double b_own)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    double rounding = 0x1p-53 * (fabs(a) + fabs(b)) + 0x1p-1074;
    return fabs(a - b) <= a_own + b_own + rounding;
}

static bool same_results(const char *names[2], const struct oracle_op *op,
                         const struct oracle_output *a, const struct oracle_output *b,
                         char *message, size_t message_bytes)
{
    for (int k = 0; k < op->num_outputs; k++) {
        for (int64_t i = 0; i < a[k].count; i++) {
            bool either = a[k].alternative[i] == b[k].value[i];
            if (close_to(a[k].value[i], a[k].own[i], b[k].value[i], b[k].own[i]) || either)
                continue;
            snprintf(message, message_bytes,
                     "%s[%lld]: %s has %.17g (own error %.3g), %s has %.17g (own error %.3g)",
                     a[k].name, (long long)i, names[0], a[k].value[i], a[k].own[i], names[1],
                     b[k].value[i], b[k].own[i]);
            return false;
        }
    }
    return true;
}

bool verify_oracle(const struct assay_case *c, long precision, char *message, size_t message_bytes)
{
    struct trial trial;
    struct verify_outcome outcome = {.c = *c};
    const struct oracle_op *op = oracle_find(c->spec->oracle_name);
    if (op == NULL || op->mpfr == NULL) {
        snprintf(message, message_bytes, "%s has no oracle in MPFR", c->spec->oracle_name);
        return false;
    }
    struct run r[3];
    for (int i = 0; i < 3; i++)
        r[i] = (struct run){.spec = c->spec, .oracle = op, .trial = &trial, .outcome = &outcome};
    bool good = trial_create(&trial, c);
    for (int i = 0; i < 3 && good; i++)
        good = create_outputs(&r[i]);
    if (!good) {
        snprintf(message, message_bytes, "out of memory");
    } else {
        trial_restore(&trial, 0);
        good = op->ref(trial.args, r[0].outputs) == ASSAY_OK &&
               op->mpfr(trial.args, precision, r[1].outputs) == ASSAY_OK &&
               op->mpfr(trial.args, 2 * precision, r[2].outputs) == ASSAY_OK;
        if (!good)
            snprintf(message, message_bytes, "an oracle failed");
        good = good &&
               same_results((const char *[]){"fp64", "mpfr"}, op, r[0].outputs, r[1].outputs,
                            message, message_bytes) &&
               same_results((const char *[]){"mpfr", "mpfr at twice the precision"}, op,
                            r[1].outputs, r[2].outputs, message, message_bytes);
    }
    for (int i = 0; i < 3; i++)
        destroy_outputs(&r[i]);
    trial_destroy(&trial);
    return good;
}

/* ---- golden vectors ------------------------------------------------------------------------- */

bool verify_vector(assay_context *context, struct vector *vector, const char *route_name,
                   struct verify_outcome *outcome, char *message, size_t message_bytes)
{
    memset(outcome, 0, sizeof *outcome);
    snprintf(vector->c.route, sizeof vector->c.route, "%s", route_name);
    outcome->c = vector->c;
    vector->trial.c = &vector->c;
    struct run r = {.context = context,
                    .spec = vector->c.spec,
                    .trial = &vector->trial,
                    .outcome = outcome,
                    .oracle = oracle_find(vector->c.spec->oracle_name)};
    const struct assay_route *route;
    if (!prepare(&r, &route)) {
        snprintf(message, message_bytes, "%s", outcome->verdict.message);
        return outcome->refused;
    }
    bool good = create_outputs(&r);
    if (!good)
        snprintf(message, message_bytes, "%s", outcome->verdict.message);
    if (good) {
        trial_restore(r.trial, 0);
        good = r.oracle->mpfr(r.trial->args, ORACLE_DEFAULT_PRECISION, r.outputs) == ASSAY_OK &&
               same_results((const char *[]){"the vector", "mpfr"}, r.oracle, vector->outputs,
                            r.outputs, message, message_bytes) &&
               r.oracle->ref(r.trial->args, r.outputs) == ASSAY_OK &&
               same_results((const char *[]){"the vector", "fp64"}, r.oracle, vector->outputs,
                            r.outputs, message, message_bytes);
    }
    if (good) {
        struct oracle_route how = {.profile = route->profile, .depth = route->depth};
        oracle_set_inputs_independent(false);
        for (int k = 0; k < r.oracle->num_outputs; k++) {
            size_t bytes = (size_t)r.outputs[k].count * sizeof(double);
            memcpy(r.outputs[k].value, vector->outputs[k].value, bytes);
            memcpy(r.outputs[k].own, vector->outputs[k].own, bytes);
        }
        r.oracle->bound(r.trial->args, &how, r.outputs);
        r.small_by_design = true;
        run_route(&r, route);
    }
    destroy_outputs(&r);
    return good;
}
