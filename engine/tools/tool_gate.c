/* SPDX-License-Identifier: MIT
 *
 * assay gate: takes the evidence that a lossy option needs, judges it by the policy, records it.
 */
#include "tools/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "gate.h"
#include "gate_ledger.h"
#include "gate_report.h"
#include "tools/progress.h"

enum {
    KEY_TRADE = 256,
    KEY_LEDGER,
    KEY_POLICY,
    KEY_DATA,
    KEY_QUICK,
    KEY_SEED,
    KEY_THREADS,
    KEY_BACKEND,
    KEY_DEVICE,
    KEY_HTML,
    KEY_JSON,
    KEY_JUNIT,
    KEY_PLANT
};

struct gate_arguments {
    struct gate_options options;
    const char *ledger, *policy, *html, *json, *junit;
    bool device;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- command line --------------------------------------------------------------------------- */

static const struct argp_option option_table[] = {
    {"trade", KEY_TRADE, "NAME", 0, "The lossy option to decide on", 1},
    {"ledger", KEY_LEDGER, "FILE", 0, "Record the run there", 1},
    {"policy", KEY_POLICY, "FILE", 0,
     "Judge by another policy; assay run accepts records under the built-in one only", 1},
    {"data", KEY_DATA, "DIR", 0, "Golden data: corpora, references", 1},
    {NULL, 0, NULL, 0, "Evidence:", 2},
    {"quick", KEY_QUICK, NULL, 0, "Fewer prompts and texts", 2},
    {"seed", KEY_SEED, "N", 0, "Seed of cases and resampling (1)", 2},
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 2},
    {"backend", KEY_BACKEND, "NAME", 0, "Decide for cpu (default), cuda or simt", 2},
    {"device", KEY_DEVICE, "N", 0, "The device of backend cuda (default 0)", 2},
    {"plant", KEY_PLANT, "MUTANT", 0,
     "Plant a mutant to see the gate fail, such as gdn_recurrent.mutant.state_bf16.cpu; can "
     "unlock nothing",
     2},
    {NULL, 0, NULL, 0, "Reports:", 3},
    {"html", KEY_HTML, "FILE", 0, "Write one self-contained page", 3},
    {"json", KEY_JSON, "FILE", 0, "Write the report as JSON", 3},
    {"junit", KEY_JUNIT, "FILE", 0, "Write the limits as JUnit XML", 3},
    {0},
};

static const char doc[] =
    "Decides whether a lossy option may be used with a model on this machine by this build: takes "
    "evidence, judges it by the policy, and records the run. Exit code 0: PASS; 1: FAIL; 2: "
    "INCONCLUSIVE."
    "\vExamples:\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --html gate.html\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --quick --ledger ./ledger.sqlite\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --backend cuda --device 1\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --plant gdn_recurrent.mutant.state_bf16.cpu\n";

static enum assay_trade parse_trade(const struct argp_state *state, const char *text)
{
    char known[256];
    const enum assay_trade trade = assay_trade_find(text);
    assay_trade_set_format((1u << ASSAY_NUM_TRADES) - 1u, known, sizeof known);
    if (trade == ASSAY_NUM_TRADES)
        argp_error(state, "there is no trade \"%s\"; known: %s", text, known);
    return trade;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct gate_arguments *a = state->input;
    switch (key) {
    case KEY_TRADE:
        a->options.trade = parse_trade(state, text);
        return 0;
    case KEY_LEDGER:
        a->ledger = text;
        return 0;
    case KEY_POLICY:
        a->policy = text;
        return 0;
    case KEY_DATA:
        a->options.data_dir = text;
        return 0;
    case KEY_QUICK:
        a->options.quick = true;
        return 0;
    case KEY_SEED:
        a->options.seed = (uint64_t)tool_integer(state, "--seed", text, 0, INT64_MAX);
        return 0;
    case KEY_THREADS:
        a->options.threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case KEY_PLANT:
        a->options.plant = text;
        return 0;
    case KEY_BACKEND:
        a->options.backend = tool_backend(state, text);
        return 0;
    case KEY_DEVICE:
        a->options.device = (int)tool_integer(state, "--device", text, 0, 1023);
        a->device = true;
        return 0;
    case KEY_HTML:
        a->html = text;
        return 0;
    case KEY_JSON:
        a->json = text;
        return 0;
    case KEY_JUNIT:
        a->junit = text;
        return 0;
    case ARGP_KEY_ARG:
        if (a->options.model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", text);
        a->options.model_dir = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MODEL is missing");
        return 0;
    case ARGP_KEY_SUCCESS:
        if (a->options.trade == ASSAY_NUM_TRADES)
            argp_error(state, "--trade is missing");
        if (a->device && a->options.backend != ASSAY_CUDA)
            argp_error(state, "--device goes with --backend cuda");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- progress ------------------------------------------------------------------------------- */

struct shown {
    struct progress progress;
    const char *what; /* of the piece of evidence that is being taken; NULL: none */
};

static bool on_progress(void *user, const char *what, int64_t done, int64_t total)
{
    struct shown *shown = user;
    if (shown->what == NULL || strcmp(shown->what, what) != 0) {
        if (shown->what != NULL)
            progress_end(&shown->progress);
        progress_begin(&shown->progress, what, total);
        shown->what = what;
    }
    progress_update(&shown->progress, done, "");
    return interrupted == 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

static assay_status read_policy(const struct gate_arguments *a, struct gate_policy *policy,
                                struct assay_error *error)
{
    if (a->policy == NULL) {
        size_t bytes;
        const char *text = assay_gate_policy(&bytes);
        return gate_policy_read(text, bytes, "built-in policy", a->options.trade, policy, error);
    }
    struct assay_map map;
    ASSAY_TRY(assay_map_open(a->policy, &map, error));
    const assay_status status = gate_policy_read((const char *)map.data, map.bytes, a->policy,
                                                 a->options.trade, policy, error);
    assay_map_close(&map);
    return status;
}

/* A word for a shell, quoted where needed. */
static void append_word(char *line, size_t size, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-=,:+@%";
    const size_t used = strlen(line);
    const bool quote = word[0] == '\0' || word[strspn(word, plain)] != '\0';
    snprintf(line + used, size - used, "%s%s%s%s", used == 0 ? "" : " ", quote ? "'" : "", word,
             quote ? "'" : "");
}

static void format_command(const struct gate_arguments *a, char *line, size_t size)
{
    char seed[32];
    line[0] = '\0';
    append_word(line, size, "assay");
    append_word(line, size, "gate");
    append_word(line, size, a->options.model_dir);
    append_word(line, size, "--trade");
    append_word(line, size, assay_trade_name(a->options.trade));
    snprintf(seed, sizeof seed, "--seed=%llu", (unsigned long long)a->options.seed);
    append_word(line, size, seed);
    if (a->options.backend != ASSAY_CPU) {
        append_word(line, size, "--backend");
        append_word(line, size, assay_backend_name(a->options.backend));
    }
    if (a->options.quick)
        append_word(line, size, "--quick");
    const struct {
        const char *option, *value;
    } named[] = {{"--policy", a->policy}, {"--plant", a->options.plant}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].value != NULL) {
            append_word(line, size, named[i].option);
            append_word(line, size, named[i].value);
        }
}

static assay_status write_file(const char *path, const char *text,
                               void write(const struct gate_result *, FILE *),
                               const struct gate_result *result, struct assay_error *error)
{
    struct assay_new_file file;
    if (path == NULL)
        return ASSAY_OK;
    ASSAY_TRY(assay_new_file_open(path, &file, error));
    if (text != NULL)
        fprintf(file.stream, "%s\n", text);
    else
        write(result, file.stream);
    return assay_new_file_commit(&file, error);
}

static assay_status write_reports(const struct gate_arguments *a, const struct gate_result *result,
                                  const char *json, struct assay_error *error)
{
    ASSAY_TRY(write_file(a->json, json, NULL, result, error));
    ASSAY_TRY(write_file(a->html, NULL, gate_report_html, result, error));
    return write_file(a->junit, NULL, gate_report_junit, result, error);
}

static assay_status add_to_ledger(const struct gate_result *result, const char *json,
                                  gate_ledger *ledger, struct assay_error *error)
{
    int64_t id;
    if (result->plant[0] != '\0' && result->verdict == GATE_PASS) {
        printf("the planted fault was not caught; nothing was recorded\n");
        return ASSAY_OK;
    }
    ASSAY_TRY(gate_ledger_add(ledger, result, json, &id, error));
    printf("recorded as run %lld in %s\n", (long long)id, gate_ledger_path(ledger));
    return ASSAY_OK;
}

/* Records and reports a finished run. Where one of the two fails, the other is still done. */
static assay_status finish(const struct gate_arguments *a, const struct gate_result *result,
                           gate_ledger *ledger, struct assay_error *error)
{
    char *json = gate_report_json(result);
    gate_report_text(result, stdout);
    if (json == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "report", "no memory");
    const assay_status recorded = add_to_ledger(result, json, ledger, error);
    const assay_status written = write_reports(a, result, json, error);
    free(json);
    return recorded != ASSAY_OK ? recorded : written;
}

/* All that may fail for reasons of the environment is tried before evidence is taken. */
static assay_status run_gate(struct gate_arguments *a, struct gate_result *result,
                             struct assay_error *error)
{
    char data[4096], today[16];
    struct shown shown = {.what = NULL};
    gate_ledger *ledger;
    ASSAY_TRY(read_policy(a, &result->policy, error));
    ASSAY_TRY(gate_data_dir(a->options.data_dir, data, sizeof data, error));
    ASSAY_TRY(gate_ledger_open(a->ledger, &ledger, error));
    a->options.data_dir = data;
    a->options.progress = on_progress;
    a->options.user = &shown;
    assay_status status = gate_collect(&a->options, result, error);
    if (shown.what != NULL)
        progress_end(&shown.progress);
    if (status == ASSAY_OK) {
        format_command(a, result->command, sizeof result->command);
        snprintf(today, sizeof today, "%.10s", result->recorded);
        gate_judge(result, today);
        status = finish(a, result, ledger, error);
    }
    gate_ledger_close(ledger);
    return status;
}

int tool_gate(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "MODEL", .doc = doc};
    struct gate_arguments a = {.options = {.trade = ASSAY_NUM_TRADES, .seed = 1}};
    struct assay_error error = {0};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return TOOL_USAGE;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    /* A file that grows beyond a limit is a write error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    struct gate_result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        fprintf(stderr, "assay: no memory\n");
        return TOOL_USAGE;
    }
    const assay_status status = run_gate(&a, result, &error);
    int code = (int)result->verdict; /* PASS, FAIL, INCONCLUSIVE are 0, 1, 2 */
    if (status != ASSAY_OK)
        code = tool_report(&error);
    free(result);
    const int flushed = tool_flush_stdout();
    return flushed != TOOL_OK ? flushed : code;
}
