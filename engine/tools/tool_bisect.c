/* SPDX-License-Identifier: MIT
 *
 * assay bisect: the first op call at which two settings of a model part.
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/model.h>

#include "bisect.h"
#include "core/core.h"
#include "tools/trade_gate.h"

enum {
    KEY_TOKENS = 256,
    KEY_TEXT,
    KEY_THROUGH,
    KEY_ALL,
    KEY_DATA,
    KEY_UNGATED,
    KEY_LEDGER,
    KEY_BACKEND,
    KEY_THREADS
};

static const struct argp_option option_table[] = {
    {"tokens", KEY_TOKENS, "N", 0, "Run the first N tokens of the text (16)", 1},
    {"text", KEY_TEXT, "FILE", 0, "Another text than the bundled prose", 1},
    {"data", KEY_DATA, "DIR", 0, "Golden data: corpora", 1},
    {"through", KEY_THROUGH, "PATH", 0,
     "prefill (default), decode: one token a pass, or width=N: verify steps of N tokens", 1},
    {"all", KEY_ALL, NULL, 0, "Show every call and go on to the end", 1},
#ifdef ASSAY_ALLOW_UNGATED
    {"ungated", KEY_UNGATED, NULL, 0, "Run lossy options without a gate record; marks the output",
     2},
#endif
    {"ledger", KEY_LEDGER, "FILE", 0, "Gate records to look in", 2},
    {"backend", KEY_BACKEND, "NAME", 0, "cpu (default) or simt", 2},
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 2},
    {0},
};

static const char doc[] =
    "Runs two settings on the same tokens and holds every op call of both against the oracle, on "
    "what the call was given: the first whose route is beyond its allowance is at fault, the "
    "first whose formats and results differ is where the setting acts; differences elsewhere are "
    "passed on. A SETTING is none or a list of trades, after it +ROUTE forces a route or plants a "
    "mutant. Exit code 0: the runs do not part; 1: they do; 2: they made different calls."
    "\vExamples:\n"
    "  assay bisect models/tiny none lm-head-q4 --ungated\n"
    "  assay bisect models/tiny none none+linear.bf16.avx2.cpu --all\n"
    "  assay bisect models/tiny none none+gdn_recurrent.mutant.width_four.cpu --through width=4\n";

struct bisect_arguments {
    struct bisect_options options;
    int num_positional;
    bool ungated, all;
    const char *ledger;
};

static void parse_side(const struct argp_state *state, char *text, struct bisect_side *side)
{
    struct assay_error error = {.status = ASSAY_OK};
    char *plus = strchr(text, '+');
    if (plus != NULL) {
        *plus = '\0';
        side->route = plus + 1;
    }
    if (assay_trade_set_parse(text, &side->trades, &error) != ASSAY_OK)
        argp_error(state, "SETTING %s: %s", text, error.message);
}

static void parse_through(const struct argp_state *state, char *text, struct bisect_options *o)
{
    if (strcmp(text, "prefill") == 0) {
        o->path = SCORE_PREFILL;
    } else if (strcmp(text, "decode") == 0) {
        o->path = SCORE_DECODE;
    } else if (strncmp(text, "width=", 6) == 0) {
        o->path = SCORE_WIDTH;
        o->width = tool_integer(state, "--through width", text + 6, 1, SCORE_LARGEST_WIDTH);
    } else {
        argp_error(state, "--through must be prefill, decode or width=N, is \"%s\"", text);
    }
}

static void parse_positional(const struct argp_state *state, char *text, struct bisect_arguments *a)
{
    const int i = a->num_positional++;
    if (i == 0)
        a->options.model_dir = text;
    else if (i <= 2)
        parse_side(state, text, &a->options.side[i - 1]);
    else
        argp_error(state, "MODEL and two settings are enough, found \"%s\" as well", text);
}

static void check(const struct bisect_arguments *a, const struct argp_state *state)
{
    if (a->num_positional < 3)
        argp_error(state, "%s missing",
                   a->num_positional == 0 ? "MODEL and two settings are" : "a setting is");
    if (a->ungated && a->ledger != NULL)
        argp_error(state, "--ungated and --ledger exclude each other: an ungated run looks in no "
                          "ledger");
    if (a->options.backend == ASSAY_CUDA)
        argp_error(state, "--backend must be cpu or simt: the oracle reads on the host");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct bisect_arguments *a = state->input;
    switch (key) {
    case KEY_TOKENS:
        a->options.tokens = tool_integer(state, "--tokens", text, 1, 1 << 20);
        return 0;
    case KEY_TEXT:
        a->options.text = text;
        return 0;
    case KEY_DATA:
        a->options.data_dir = text;
        return 0;
    case KEY_THROUGH:
        parse_through(state, text, &a->options);
        return 0;
    case KEY_ALL:
        a->all = true;
        return 0;
    case KEY_UNGATED:
        a->ungated = true;
        return 0;
    case KEY_LEDGER:
        a->ledger = text;
        return 0;
    case KEY_BACKEND:
        a->options.backend = tool_backend(state, text);
        return 0;
    case KEY_THREADS:
        a->options.threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case ARGP_KEY_ARG:
        parse_positional(state, text, a);
        return 0;
    case ARGP_KEY_END:
        check(a, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- report --------------------------------------------------------------------------------- */

static bool show(void *user, const struct bisect_output *o)
{
    const struct bisect_arguments *a = user;
    if (!a->all)
        return o->kind == BISECT_SAME;
    printf(
        "%4lld %5lld  %-46.46s %-20.20s %-8.8s %9.2e %9.2e  %9.2e of %8.2e  %9.2e of %8.2e  %s\n",
        (long long)o->pass, (long long)o->call, o->tensor, o->op[1], o->output, o->difference,
        o->passed_on, o->error[0], o->allowance[0], o->error[1], o->allowance[1],
        bisect_kind_name(o->kind));
    return true;
}

static void report(const struct bisect_result *result)
{
    const struct bisect_output *o = &result->first;
    printf("%lld calls, %lld outputs compared, %lld calls without an oracle\n",
           (long long)result->calls, (long long)result->outputs, (long long)result->without_oracle);
    if (result->other_calls)
        printf("the runs made different calls after these\n");
    if (!result->parts) {
        printf("the runs do not part: every difference is within the allowances of the calls, or "
               "passed on\n");
        return;
    }
    printf("the runs part at call %lld of pass %lld, %s %s\n", (long long)o->call,
           (long long)o->pass, o->op[1], o->output);
    printf("  at or after  %s\n", o->tensor);
    printf("  routes       %s | %s\n", o->route[0], o->route[1]);
    printf("  difference   %.3e relative L2, of which passed on or by format %.3e\n", o->difference,
           o->passed_on);
    for (int s = 0; s < 2; s++)
        printf("  %c            %.3e against the oracle, %.3e allowed\n", 'A' + s, o->error[s],
               o->allowance[s]);
    if (o->kind == BISECT_ACTS)
        printf("  cause        the settings act here: the calls' formats differ, both routes are "
               "within their allowances\n");
    else
        printf("  cause        side %c's route is beyond its allowance: %s\n",
               o->kind == BISECT_FAULT_A ? 'A' : 'B', o->message);
}

static assay_status ask_gates(const struct bisect_arguments *a, struct assay_error *error)
{
    const struct bisect_options *o = &a->options;
    const struct assay_gate_machine machine = {o->backend, assay_isa_detect(), 0};
    assay_model *model;
    if ((o->side[0].trades | o->side[1].trades) == 0 || a->ungated)
        return ASSAY_OK;
    ASSAY_TRY(assay_model_open(o->model_dir, &model, error));
    assay_status status = ASSAY_OK;
    for (int s = 0; s < 2 && status == ASSAY_OK; s++)
        status =
            trade_gate_ask("bisect", model, o->side[s].trades, NULL, a->ledger, &machine, error);
    assay_model_close(model);
    return status;
}

static void mark(const struct bisect_arguments *a)
{
    char trades[256];
    assay_trade_set_format(a->options.side[0].trades | a->options.side[1].trades, trades,
                           sizeof trades);
    if (a->ungated)
        fprintf(stderr, "UNGATED: %s\n", trades);
}

int tool_bisect(int argc, char **argv)
{
    static const struct argp argp = {.options = option_table,
                                     .parser = parse,
                                     .args_doc = "MODEL SETTING_A SETTING_B",
                                     .doc = doc};
    struct bisect_arguments a = {.options = {.tokens = 16}};
    struct bisect_result result;
    struct assay_error error = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return TOOL_USAGE;
    a.options.output = show;
    a.options.user = &a;
    mark(&a);
    if (a.all)
        printf("%4s %5s  %-46s %-20s %-8s %9s %9s  %-21s  %-21s\n", "pass", "call", "place", "op",
               "output", "A - B", "passed on", "A of its allowance", "B of its allowance");
    assay_status status = ask_gates(&a, &error);
    if (status == ASSAY_OK)
        status = bisect_run(&a.options, &result, &error);
    int code = TOOL_OK;
    if (status != ASSAY_OK) {
        code = tool_report(&error);
    } else {
        report(&result);
        code = result.parts ? TOOL_FAILED : result.other_calls ? TOOL_INCONCLUSIVE : TOOL_OK;
    }
    mark(&a);
    const int flushed = tool_flush_stdout();
    return flushed != TOOL_OK ? flushed : code;
}
