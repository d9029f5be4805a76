/* SPDX-License-Identifier: MIT
 *
 * Trial memory and the runner's findings about conduct: guards, lanes, inputs, unwritten elements,
 * repetition, aliasing, and cases that prove nothing.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "trial.h"
#include "verify.h"
#include "words.h"
#include <assay/ops/add.h>

/* A right kernel of op add with one fault of conduct at a time: what it does to memory, to its
 * inputs, from run to run. (Faults of arithmetic are the ops' mutants.) */
static enum add_fault {
    ADD_RIGHT,
    ADD_WRITES_BEFORE,   /* the element before the output's first */
    ADD_WRITES_AFTER,    /* the one after its last */
    ADD_WRITES_LANE,     /* the first element of the padding after row 0 */
    ADD_WRITES_INPUT,    /* the first element of b */
    ADD_READS_LANE,      /* adds the first padding element of a's row 0, times zero */
    ADD_SKIPS_LAST,      /* the last element of y is left as it was */
    ADD_SKIPS_SECOND,    /* the same, but in every other run only */
    ADD_COPIES_POISON_0, /* the last element gets the first run's poison */
    ADD_COPIES_POISON_1, /* the second run's */
    ADD_CLEARS_FIRST,    /* y is zeroed before a is read: wrong in place only */
    ADD_DRIFTS,          /* the last bit of an element changes from run to run */
    ADD_WRITES_BEHIND,   /* the byte behind the workspace */
    ADD_FAILS,           /* returns an error */
} add_fault;

enum { WORKSPACE = 48 };

static void skip_or_poison(const struct assay_add_args *args, int64_t run_number)
{
    int64_t last = assay_tensor_count(&args->y) - 1;
    double sum = oracle_get(&args->a, last) + oracle_get(&args->b, last);
    const uint32_t poison[2] = {0x7fe5a5a5u, 0xffda5a5au};
    bool skips = add_fault == ADD_SKIPS_LAST || (add_fault == ADD_SKIPS_SECOND && run_number % 2);
    if (add_fault == ADD_COPIES_POISON_0 || add_fault == ADD_COPIES_POISON_1)
        memcpy((float *)assay_tensor_row(&args->y, args->y.extent[0] - 1) + args->y.extent[1] - 1,
               &poison[add_fault == ADD_COPIES_POISON_1], 4);
    else if (!skips)
        oracle_put(&args->y, last, sum);
}

/* binary32 tensors of rank 2 only. */
static assay_status run(assay_context *context, const void *arguments, void *workspace)
{
    static int64_t run_number;
    (void)context;
    const struct assay_add_args *args = arguments;
    int64_t count = assay_tensor_count(&args->y), width = args->y.extent[1];
    float *y = args->y.data, *b = args->b.data;
    const float *a = args->a.data;
    if (add_fault == ADD_FAILS)
        return ASSAY_E_UNSUPPORTED;
    for (int64_t i = 0; i < count && add_fault == ADD_CLEARS_FIRST; i++)
        oracle_put(&args->y, i, 0);
    for (int64_t i = 0; i < count - 1; i++)
        oracle_put(&args->y, i, oracle_get(&args->a, i) + oracle_get(&args->b, i));
    skip_or_poison(args, run_number);
    if (add_fault == ADD_WRITES_BEFORE)
        y[-1] = 1;
    if (add_fault == ADD_WRITES_AFTER)
        y[(args->y.extent[0] - 1) * args->y.stride[0] + width] = 1;
    if (add_fault == ADD_WRITES_LANE)
        y[width] = 1;
    if (add_fault == ADD_WRITES_INPUT)
        b[0] += 1;
    if (add_fault == ADD_READS_LANE)
        y[0] += 0 * a[width];
    if (add_fault == ADD_WRITES_BEHIND)
        ((char *)workspace)[WORKSPACE] = 0;
    if (add_fault == ADD_DRIFTS && run_number % 2)
        y[0] = nextafterf(y[0], 0);
    run_number++;
    return ASSAY_OK;
}

static size_t workspace_of(const assay_context *context, const void *arguments)
{
    (void)context;
    (void)arguments;
    return WORKSPACE;
}

static const struct assay_route faulty_add = {.name = "add.test.faulty.cpu",
                                              .backend = ASSAY_CPU,
                                              .profile = ASSAY_PROFILE_F64,
                                              .workspace = workspace_of,
                                              .run = run};

static assay_context *new_context(void)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    return context;
}

static struct assay_case add_case(const struct case_spec *spec, enum case_layout layout)
{
    struct assay_case c = case_base(spec);
    case_set(&c, "T", 3);
    case_set(&c, "I", 21);
    c.layout = layout;
    snprintf(c.route, sizeof c.route, "%s", faulty_add.name);
    return c;
}

/* Sums that round to binary32 exactly have a bound of at most half an ulp: a drift of one ulp may
 * be found as an error of the element or, with integers, as a missing repetition. */
Test(trial, faults_of_conduct)
{
    static const struct {
        enum add_fault fault;
        enum verdict_finding finding[CASE_FAR]; /* packed, strided, in place */
        const char *message;
    } rows[] = {
        {ADD_RIGHT, {VERDICT_PASS, VERDICT_PASS, VERDICT_PASS}, ""},
        {ADD_WRITES_BEFORE, {VERDICT_GUARD, VERDICT_GUARD, VERDICT_GUARD}, "around output y"},
        {ADD_WRITES_AFTER, {VERDICT_GUARD, VERDICT_GUARD, VERDICT_GUARD}, "around output y"},
        {ADD_WRITES_LANE, {VERDICT_PASS, VERDICT_GUARD, VERDICT_PASS}, "around output y"},
        {ADD_WRITES_INPUT,
         {VERDICT_INPUT_CHANGED, VERDICT_INPUT_CHANGED, VERDICT_INPUT_CHANGED},
         "input b"},
        {ADD_READS_LANE, {VERDICT_PASS, VERDICT_NONFINITE, VERDICT_PASS}, "y[0]"},
        {ADD_SKIPS_LAST, {VERDICT_UNWRITTEN, VERDICT_UNWRITTEN, VERDICT_ELEMENT}, "y[62]"},
        {ADD_SKIPS_SECOND, {VERDICT_UNWRITTEN, VERDICT_UNWRITTEN, VERDICT_NOT_REPEATED}, "y"},
        {ADD_COPIES_POISON_0, {VERDICT_UNWRITTEN, VERDICT_UNWRITTEN, VERDICT_NONFINITE}, "y[62]"},
        {ADD_COPIES_POISON_1, {VERDICT_NONFINITE, VERDICT_NONFINITE, VERDICT_NONFINITE}, "y[62]"},
        {ADD_CLEARS_FIRST, {VERDICT_PASS, VERDICT_PASS, VERDICT_ELEMENT}, "y["},
        {ADD_WRITES_BEHIND, {VERDICT_GUARD, VERDICT_GUARD, VERDICT_GUARD}, "behind the workspace"},
        {ADD_FAILS, {VERDICT_STATUS, VERDICT_STATUS, VERDICT_STATUS}, "ASSAY_E_UNSUPPORTED"},
    };
    assay_context *context = new_context();
    cr_assert_eq(assay_route_add(&faulty_add, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int layout = 0; layout < CASE_FAR; layout++) {
            /* Packed rows have no lanes: these faults would be faults of arithmetic there. */
            bool lane = rows[i].fault == ADD_WRITES_LANE || rows[i].fault == ADD_READS_LANE;
            if (lane && layout != CASE_STRIDED)
                continue;
            struct assay_case c = add_case(case_spec_find("add"), (enum case_layout)layout);
            struct verify_outcome outcome;
            add_fault = rows[i].fault;
            verify_case(context, &c, &outcome);
            enum verdict_finding got = outcome.verdict.finding, want = rows[i].finding[layout];
            cr_expect_eq(got, want, "fault %zu layout %d: found '%s', expected '%s' (%s)", i,
                         layout, verdict_finding_name(got), verdict_finding_name(want),
                         outcome.verdict.message);
            if (want != VERDICT_PASS)
                cr_expect_not_null(strstr(outcome.verdict.message, rows[i].message), "%s",
                                   outcome.verdict.message);
        }
    }
    assay_context_destroy(context);
    assay_route_remove(&faulty_add);
}

/* An element that alternates between two neighbours: sometimes both are within its bound, and then
 * only the second run shows it. Never may it pass. */
Test(trial, repetition)
{
    assay_context *context = new_context();
    cr_assert_eq(assay_route_add(&faulty_add, NULL), ASSAY_OK);
    int found = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct assay_case c = add_case(case_spec_find("add"), CASE_PACKED);
        c.seed = seed;
        struct verify_outcome outcome;
        add_fault = ADD_DRIFTS;
        verify_case(context, &c, &outcome);
        found += outcome.verdict.finding == VERDICT_NOT_REPEATED;
        cr_assert_neq(outcome.verdict.finding, VERDICT_PASS, "a drift passes");
    }
    cr_assert(found > 0);
    assay_context_destroy(context);
    assay_route_remove(&faulty_add);
}

/* Both patterns, each format: a byte-exact poison is seen at every place. */
Test(trial, unwritten_with_either_poison)
{
    const enum assay_dtype formats[] = {ASSAY_F32, ASSAY_BF16};
    for (int f = 0; f < 2; f++) {
        for (int pattern = 0; pattern < 2; pattern++) {
            struct assay_case c = add_case(case_spec_find("add"), CASE_STRIDED);
            case_set(&c, "y", formats[f]);
            struct trial trial;
            cr_assert(trial_create(&trial, &c));
            trial_restore(&trial, pattern);
            struct trial_buffer *y = trial_find(&trial, "y");
            cr_assert_not_null(y);
            int64_t count = assay_tensor_count(&y->tensor);
            for (int64_t missing = 0; missing < count; missing += 7) {
                trial_restore(&trial, pattern);
                for (int64_t i = 0; i < count; i++)
                    if (i != missing)
                        oracle_put(&y->tensor, i, (double)i);
                cr_assert_eq(trial_unwritten(y, pattern), missing);
                cr_assert_eq(trial_unwritten(y, 1 - pattern), -1);
                oracle_put(&y->tensor, missing, NAN);
                cr_assert_eq(trial_unwritten(y, pattern), -1, "a NaN is written");
                bool is_input;
                cr_assert_null(trial_damage(&trial, &is_input));
            }
            cr_assert_null(trial_find(&trial, "nonsense"));
            trial_destroy(&trial);
        }
    }
}

/* Every byte of a buffer that is not an element is watched. */
Test(trial, damage_at_every_byte)
{
    for (int layout = 0; layout < CASE_FAR; layout++) {
        struct assay_case c = add_case(case_spec_find("add"), (enum case_layout)layout);
        struct trial trial;
        cr_assert(trial_create(&trial, &c));
        trial_restore(&trial, 0);
        struct trial_state *s = trial.state;
        cr_assert_eq(s->num_buffers, layout == CASE_INPLACE ? 2 : 3);
        for (int b = 0; b < s->num_buffers; b++) {
            struct trial_buffer *buffer = &s->buffer[b];
            size_t owned = 0;
            for (size_t k = 0; k < buffer->bytes; k++) {
                bool is_input;
                buffer->live[k] ^= 1;
                const char *damaged = trial_damage(&trial, &is_input);
                buffer->live[k] ^= 1;
                owned += buffer->owned[k];
                cr_assert(buffer->owned[k] ? damaged == NULL : damaged != NULL, "byte %zu", k);
                if (damaged != NULL) {
                    cr_assert_str_eq(damaged, buffer->name);
                    cr_assert_eq(is_input, buffer->role == BUFFER_INPUT);
                }
            }
            size_t elements = (size_t)assay_tensor_count(&buffer->tensor) * 4;
            cr_assert_eq(owned, buffer->role == BUFFER_INPUT ? 0 : elements);
        }
        const struct assay_add_args *args = trial.args;
        cr_assert_eq(args->a.data == args->y.data, layout == CASE_INPLACE);
        trial_destroy(&trial);
    }
}

/* What follows some packed inputs of the op's own routes cannot be read. */
Test(trial, edge, .signal = SIGSEGV)
{
    enum { SEEDS = 64 };
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own handler */
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct assay_case c = add_case(case_spec_find("add"), CASE_PACKED);
        struct trial trial;
        snprintf(c.route, sizeof c.route, "add.plain.cpu");
        c.seed = seed;
        cr_assert(trial_create(&trial, &c));
        const struct trial_buffer *a = trial_find(&trial, "a");
        const volatile unsigned char *end = a->live + a->bytes;
        cr_assert(!a->at_edge || (const char *)end == (char *)a->tensor.data + 3 * 21 * 4);
        if (a->at_edge && end[-1] != *end)
            return;
        trial_destroy(&trial);
    }
}

static bool zero_build(struct trial *trial)
{
    if (!case_spec_find("add")->build(trial))
        return false;
    struct assay_add_args *args = trial->args;
    for (int64_t i = 0; i < assay_tensor_count(&args->a); i++) {
        trial_put(trial, &args->a, i, 0);
        trial_put(trial, &args->b, i, 0);
    }
    return true;
}

static bool claim_holds;
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    (void)outputs;
    trial_claim(trial, "something always true", true);
    trial_claim(trial, "the tail lane was reached", claim_holds);
    trial_claim(trial, "another thing", claim_holds);
}

/* A case that could not have shown a fault is no pass. */
Test(trial, vacuous_cases_are_mistrusted)
{
    assay_context *context = new_context();
    struct case_spec spec = *case_spec_find("add");
    struct verify_outcome outcome;
    struct assay_case c = case_base(&spec);
    verify_case(context, &c, &outcome);
    cr_assert_eq(outcome.verdict.finding, VERDICT_PASS, "%s", outcome.verdict.message);

    spec.build = zero_build;
    verify_case(context, &c, &outcome);
    cr_assert_eq(outcome.verdict.finding, VERDICT_MISTRUSTED);
    cr_assert_not_null(strstr(outcome.verdict.message, "zero"), "%s", outcome.verdict.message);

    spec = *case_spec_find("add");
    spec.claims = claims;
    for (int holds = 0; holds < 2; holds++) {
        claim_holds = holds != 0;
        verify_case(context, &c, &outcome);
        cr_assert_eq(outcome.verdict.finding, holds ? VERDICT_PASS : VERDICT_MISTRUSTED);
        if (!holds)
            cr_assert_not_null(strstr(outcome.verdict.message, "the tail lane was reached"));
    }

    spec.oracle_name = "nonsense";
    verify_case(context, &c, &outcome);
    cr_assert_eq(outcome.verdict.finding, VERDICT_MISTRUSTED);
    cr_assert_not_null(strstr(outcome.verdict.message, "nonsense"));
    char message[256];
    cr_assert(!verify_oracle(&c, 128, message, sizeof message));
    assay_context_destroy(context);
}

/* A forced route that does not exist, or that refuses, is not a pass either. */
static bool accepts_nothing(const void *args)
{
    (void)args;
    return false;
}

Test(trial, routes_that_do_not_run)
{
    assay_context *context = new_context();
    struct assay_case c = case_base(case_spec_find("add"));
    struct verify_outcome outcome;
    snprintf(c.route, sizeof c.route, "add.nonsense.cpu");
    verify_case(context, &c, &outcome);
    cr_assert_eq(outcome.verdict.finding, VERDICT_STATUS);
    struct assay_route picky = faulty_add;
    picky.accepts = accepts_nothing;
    cr_assert_eq(assay_route_add(&picky, NULL), ASSAY_OK);
    snprintf(c.route, sizeof c.route, "%s", picky.name);
    verify_case(context, &c, &outcome);
    cr_assert(outcome.refused);
    assay_route_remove(&picky);
    assay_context_destroy(context);
}
