/* SPDX-License-Identifier: MIT
 *
 * assay mutants: plants every fault and counts how many the sweep kills. The control of each op,
 * the same code without a fault, must survive.
 */
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/progress.h"
#include "verify.h"

enum { OPTION_SEEDS = 256, OPTION_FIRST };

struct mutant_options {
    const char *op; /* NULL: all */
    int seeds;
    bool first; /* stop a mutant at its first kill */
};

struct mutant_score {
    int mutants, killed, controls, controls_killed;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct mutant_options *o = state->input;
    switch (key) {
    case 'j': /* accepted like elsewhere; mutants are few and run one by one */
        (void)tool_integer(state, "--jobs", argument, 1, 256);
        return 0;
    case OPTION_SEEDS:
        o->seeds = (int)tool_integer(state, "--seeds", argument, 1, 1000);
        return 0;
    case OPTION_FIRST:
        o->first = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one op is enough");
        if (case_spec_find(argument) == NULL)
            argp_error(state, "there is no op \"%s\"", argument);
        o->op = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct killing {
    int seed;      /* number of seeds it took; 0: survived */
    int64_t cases; /* run until then */
    int64_t kills; /* cases of the last seed that kill it */
    int64_t of;    /* out of */
    struct verify_outcome first;
};

/* The cases of one seed: how many kill. */
static bool run_seed(assay_context *context, const struct case_spec *spec,
                     const struct assay_route *route, uint64_t seed, bool first, struct killing *k)
{
    struct case_list list = {NULL, 0, 0};
    if (!case_enumerate_route(spec, route, seed, CASE_QUICK, &list)) {
        case_list_free(&list);
        return false;
    }
    k->kills = 0;
    k->of = 0;
    for (int64_t i = 0; i < list.num_cases && !(first && k->kills > 0); i++) {
        struct verify_outcome outcome;
        verify_case(context, &list.cases[i], &outcome);
        if (outcome.refused)
            continue;
        k->of++;
        k->cases += k->kills == 0;
        if (!verdict_is_failure(outcome.verdict.finding))
            continue;
        if (k->kills++ == 0)
            k->first = outcome;
    }
    case_list_free(&list);
    return true;
}

static bool run_mutant(assay_context *context, const struct case_spec *spec,
                       const struct case_mutant *mutant, const struct mutant_options *o,
                       struct mutant_score *score)
{
    struct killing k = {0};
    for (int seed = 1; seed <= o->seeds && k.kills == 0; seed++) {
        if (!run_seed(context, spec, &mutant->route, (uint64_t)seed, o->first, &k))
            return false;
        k.seed = k.kills > 0 ? seed : 0;
    }
    bool control = mutant->fault == NULL, killed = k.kills > 0;
    if (control) {
        score->controls++;
        score->controls_killed += killed;
    } else {
        score->mutants++;
        score->killed += killed;
    }
    char text[CASE_TEXT_BYTES] = "";
    if (killed)
        case_print(&k.first.c, text);
    printf("%-9s %-44s %5lld/%-5lld %-12s %s%s%s\n",
           control  ? (killed ? "ALARM" : "control")
           : killed ? "killed"
                    : "SURVIVED",
           mutant->route.name, (long long)k.kills, (long long)k.of,
           killed ? verdict_finding_name(k.first.verdict.finding) : "-",
           control ? "no fault" : mutant->fault, mutant->catalogue[0] != '\0' ? " " : "",
           mutant->catalogue);
    if (control ? killed : !killed)
        printf("          %s %s\n", text, killed ? k.first.verdict.message : "");
    return true;
}

static const char doc[] =
    "Runs every mutant (a correct kernel with one planted fault) through its op's cases. All must "
    "be "
    "killed, and the control without a fault must survive. Columns: cases that kill / cases run, "
    "the first finding, the fault and the catalogue ids it stands for."
    "\vExamples:\n  assay mutants\n  assay mutants attention --seeds 5\n";

int tool_mutants(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"seeds", OPTION_SEEDS, "N", 0, "Seeds to try before a mutant counts as survived (1)", 0},
        {"first", OPTION_FIRST, NULL, 0, "Stop each mutant at its first kill", 0},
        {"jobs", 'j', "N", 0, "Ignored: mutants run one by one", 0},
        {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[OP]", .doc = doc};
    struct mutant_options o = {.seeds = 1};
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
        return TOOL_USAGE;
    struct assay_context_options context_options = assay_context_defaults();
    assay_context *context;
    struct assay_error error = {0};
    if (assay_context_create(&context_options, &context, &error) != ASSAY_OK)
        return tool_report(&error);
    struct mutant_score score = {0, 0, 0, 0};
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    bool good = true;
    for (int i = 0; i < num_specs && good; i++) {
        if (o.op != NULL && strcmp(o.op, specs[i]->op->name) != 0)
            continue;
        for (int m = 0; m < specs[i]->num_mutants && good; m++) {
            const struct case_mutant *mutant = &specs[i]->mutants[m];
            good = assay_route_add(&mutant->route, &error) == ASSAY_OK &&
                   run_mutant(context, specs[i], mutant, &o, &score);
            assay_route_remove(&mutant->route);
        }
    }
    assay_context_destroy(context);
    if (!good) {
        assay_fail(&error, ASSAY_E_MEMORY, "mutants", "", "no memory for the cases");
        return tool_report(&error);
    }
    printf("\n%d of %d mutants killed, %d of %d controls pass\n", score.killed, score.mutants,
           score.controls - score.controls_killed, score.controls);
    int flushed = tool_flush_stdout();
    if (score.mutants == 0 || score.controls == 0)
        return TOOL_FAILED; /* a check that cannot fail is a defect */
    return score.killed < score.mutants || score.controls_killed > 0 ? TOOL_FAILED : flushed;
}
