/* SPDX-License-Identifier: MIT
 *
 * assay ledger: the history of the gate, read only.
 */
#include "tools/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "certificate_sign.h"
#include "gate.h"
#include "ledger_read.h"
#include "ledger_table.h"

enum { KEY_LEDGER = 256, KEY_JSON, KEY_KEY, KEY_CHECK, KEY_HTML, KEY_OUTPUT = 'o' };

struct ledger_arguments {
    const char *action;
    const char *run[2];
    int num_runs;
    const char *ledger, *output, *key, *check;
    bool json, html;
};

/* ---- output --------------------------------------------------------------------------------- */

/* The file of -o, complete or not at all, else standard output. */
static assay_status write_text(const struct ledger_arguments *a, const char *text,
                               struct assay_error *error)
{
    struct assay_new_file file;
    if (a->output == NULL) {
        fputs(text, stdout);
        return ASSAY_OK;
    }
    ASSAY_TRY(assay_new_file_open(a->output, &file, error));
    fputs(text, file.stream);
    return assay_new_file_commit(&file, error);
}

/* Takes the value. */
static assay_status write_json(const struct ledger_arguments *a, json_t *value,
                               struct assay_error *error)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_INDENT(1));
    json_decref(value);
    if (text == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "ledger", "output", "no memory");
    assay_status status = write_text(a, text, error);
    if (status == ASSAY_OK && a->output == NULL)
        putchar('\n');
    free(text);
    return status;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static long long integer_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* ---- list ----------------------------------------------------------------------------------- */

static void print_list(const json_t *runs)
{
    size_t i;
    json_t *run;
    printf("%5s  %-20s  %-12s  %-24s  %-8s  %-8s  %-8s  %8s  %s\n", "run", "recorded", "verdict",
           "trades", "model", "build", "policy", "seconds", "");
    json_array_foreach(runs, i, run)
    {
        const char *record = text_of(run, "record");
        printf("%5lld  %-20s  %-12s  %-24s  %-8.8s  %-8.8s  %-8.8s  %8.1f  %s%s%s%s\n",
               integer_of(run, "id"), text_of(run, "recorded"), text_of(run, "verdict"),
               text_of(run, "trades"), text_of(run, "model_digest"), text_of(run, "build_digest"),
               text_of(run, "policy_digest"), json_number_value(json_object_get(run, "seconds")),
               text_of(run, "backend"), integer_of(run, "quick") != 0 ? ", quick" : "",
               text_of(run, "planted")[0] != '\0' ? ", PLANTED" : "",
               strcmp(record, "damaged") == 0 ? ", DAMAGED" : "");
    }
}

/* What can be read is shown also of a damaged ledger, which is then an error all the same. */
static assay_status run_list(const struct ledger_arguments *a, const struct ledger_reader *reader,
                             struct assay_error *error)
{
    json_t *runs = NULL;
    const assay_status status = ledger_list(reader, &runs, error);
    struct assay_error later = {0};
    if (!a->json) {
        print_list(runs);
        json_decref(runs);
        return status;
    }
    const assay_status written = write_json(a,
                                            json_pack("{s:s, s:i, s:o}", "ledger", reader->path,
                                                      "version", reader->version, "runs", runs),
                                            &later);
    return status != ASSAY_OK ? status : written;
}

/* ---- show ----------------------------------------------------------------------------------- */

static void print_run(const json_t *run)
{
    static const char *const rows[] = {
        "recorded",      "verdict", "reason",  "trades", "model_dir",    "model_digest",
        "backend",       "isa",     "device",  "driver", "build_digest", "policy_digest",
        "corpus_digest", "expires", "planted", "record"};
    size_t i;
    json_t *row;
    const json_t *settings = json_object_get(run, "settings");
    printf("run %lld\n", integer_of(run, "id"));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (text_of(run, rows[k])[0] != '\0')
            printf("  %-14s %s\n", rows[k], text_of(run, rows[k]));
    printf("  %-14s %lld%s\n", "seed", integer_of(run, "seed"),
           integer_of(run, "quick") != 0 ? ", quick" : "");
    if (text_of(settings, "command")[0] != '\0')
        printf("  %-14s %s\n", "command", text_of(settings, "command"));
    printf("  %-14s %.1f\n\n", "seconds", json_number_value(json_object_get(run, "seconds")));
    printf("%-12s %-28s %12s %12s %10s %s\n", "evidence", "measure", "value", "limit", "coverage",
           "state");
    json_array_foreach(json_object_get(run, "checks"), i, row)
    {
        const json_t *value = json_object_get(row, "value"), *bound = json_object_get(row, "bound");
        char v[32] = "-", b[32] = "reported";
        if (json_is_number(value))
            snprintf(v, sizeof v, "%.6g", json_number_value(value));
        if (json_is_number(bound))
            snprintf(b, sizeof b, "%.6g", json_number_value(bound));
        printf("%-12s %-28s %12s %12s %10lld %s\n", text_of(row, "evidence"),
               text_of(row, "measure"), v, b, integer_of(row, "coverage"), text_of(row, "state"));
    }
    putchar('\n');
    json_array_foreach(json_object_get(run, "evidence"), i, row)
        printf("%-12s %s, %.1f s: %s\n", text_of(row, "evidence"), text_of(row, "taken"),
               json_number_value(json_object_get(row, "seconds")), text_of(row, "note"));
}

static assay_status load(const struct ledger_reader *reader, const char *name, json_t **run,
                         struct assay_error *error)
{
    int64_t id;
    ASSAY_TRY(ledger_find(reader, name, &id, error));
    return ledger_load(reader, id, run, error);
}

static assay_status complain(const struct ledger_reader *reader, const json_t *run,
                             struct assay_error *error)
{
    return assay_ledger_check_record(reader->db, reader->path, reader->version,
                                     json_integer_value(json_object_get(run, "id")), error);
}

static assay_status run_show(const struct ledger_arguments *a, const struct ledger_reader *reader,
                             struct assay_error *error)
{
    json_t *run;
    ASSAY_TRY(load(reader, a->num_runs == 0 ? "LAST" : a->run[0], &run, error));
    const assay_status whole = complain(reader, run, error);
    if (a->json)
        return write_json(a, run, error) != ASSAY_OK ? error->status : whole;
    print_run(run);
    json_decref(run);
    return whole;
}

/* ---- diff, export --------------------------------------------------------------------------- */

static assay_status run_diff(const struct ledger_arguments *a, const struct ledger_reader *reader,
                             struct assay_error *error)
{
    json_t *left, *right = NULL, *diff = NULL;
    ASSAY_TRY(load(reader, a->run[0], &left, error));
    assay_status status = load(reader, a->run[1], &right, error);
    if (status == ASSAY_OK)
        status = complain(reader, left, error);
    if (status == ASSAY_OK)
        status = complain(reader, right, error);
    if (status == ASSAY_OK) {
        diff = ledger_diff(left, right);
        if (diff == NULL)
            status = assay_fail(error, ASSAY_E_MEMORY, "ledger", "diff", "no memory");
    }
    json_decref(left);
    json_decref(right);
    if (status != ASSAY_OK)
        return status;
    if (a->json)
        return write_json(a, diff, error);
    ledger_diff_print(diff, stdout);
    json_decref(diff);
    return ASSAY_OK;
}

/* A damaged ledger gives the runs that are whole, then the error. */
static assay_status export_all(const struct ledger_reader *reader, json_t *out,
                               struct assay_error *error)
{
    json_t *runs = NULL, *run;
    size_t i;
    assay_status status = ledger_list(reader, &runs, error);
    json_array_foreach(runs, i, run)
    {
        json_t *whole = NULL;
        if (strcmp(text_of(run, "record"), "damaged") == 0)
            continue;
        const assay_status loaded =
            ledger_load(reader, json_integer_value(json_object_get(run, "id")), &whole, error);
        if (loaded == ASSAY_OK)
            json_array_append_new(out, whole);
        else if (status == ASSAY_OK)
            status = loaded;
    }
    json_decref(runs);
    return status;
}

static assay_status run_export(const struct ledger_arguments *a, const struct ledger_reader *reader,
                               struct assay_error *error)
{
    json_t *runs = json_array(), *run = NULL;
    struct assay_error later = {0};
    assay_status status;
    if (a->num_runs == 0) {
        status = export_all(reader, runs, error);
    } else {
        status = load(reader, a->run[0], &run, error);
        if (status == ASSAY_OK)
            status = complain(reader, run, error);
        if (run != NULL)
            json_array_append_new(runs, run);
    }
    if (status != ASSAY_OK && json_array_size(runs) == 0) {
        json_decref(runs);
        return status;
    }
    const assay_status written = write_json(a,
                                            json_pack("{s:s, s:i, s:o}", "ledger", reader->path,
                                                      "version", reader->version, "runs", runs),
                                            &later);
    if (status == ASSAY_OK && written != ASSAY_OK)
        *error = later;
    return status != ASSAY_OK ? status : written;
}

/* ---- certify -------------------------------------------------------------------------------- */

static assay_status run_certify(const struct ledger_arguments *a,
                                const struct ledger_reader *reader, struct assay_error *error)
{
    json_t *run;
    char *text = NULL;
    ASSAY_TRY(load(reader, a->run[0], &run, error));
    assay_status status = complain(reader, run, error);
    if (status == ASSAY_OK)
        status = certificate_sign(run, a->key, &text, error);
    if (status == ASSAY_OK)
        status = write_text(a, text, error);
    if (status == ASSAY_OK && a->output != NULL)
        printf("run %lld (%s, %s) certified in %s\n", integer_of(run, "id"), text_of(run, "trades"),
               text_of(run, "verdict"), a->output);
    free(text);
    json_decref(run);
    return status;
}

/* ---- table ---------------------------------------------------------------------------------- */

static assay_status policy_trades(enum assay_trade *trades, int *count, struct assay_error *error)
{
    size_t bytes;
    const char *text = assay_gate_policy(&bytes);
    return gate_policy_trades(text, bytes, "built-in policy", trades, count, error);
}

static assay_status run_table(const struct ledger_arguments *a, const struct ledger_reader *reader,
                              struct assay_error *error)
{
    enum assay_trade trades[ASSAY_NUM_TRADES];
    int count;
    size_t size;
    char *text = NULL;
    json_t *runs = json_array();
    assay_status status = policy_trades(trades, &count, error);
    if (status == ASSAY_OK)
        status = export_all(reader, runs, error);
    FILE *out = status == ASSAY_OK ? open_memstream(&text, &size) : NULL;
    if (out != NULL) {
        (a->html ? ledger_page_write : ledger_table_write)(runs, trades, count, out);
        if (fclose(out) != 0) {
            free(text);
            text = NULL;
        }
    }
    json_decref(runs);
    if (status == ASSAY_OK)
        status = text == NULL ? assay_fail(error, ASSAY_E_MEMORY, "ledger", "table", "no memory")
                              : write_text(a, text, error);
    free(text);
    return status;
}

/* Needs no ledger. */
static assay_status check_table(const char *file, struct assay_error *error)
{
    enum assay_trade trades[ASSAY_NUM_TRADES];
    struct assay_map map;
    int count;
    ASSAY_TRY(policy_trades(trades, &count, error));
    ASSAY_TRY(assay_map_open(file, &map, error));
    const assay_status status =
        ledger_table_check(file, (const char *)map.data, map.bytes, trades, count, error);
    assay_map_close(&map);
    return status;
}

/* ---- command line --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int least, most; /* runs it takes */
    assay_status (*run)(const struct ledger_arguments *, const struct ledger_reader *,
                        struct assay_error *);
} actions[] = {
    {"list", 0, 0, run_list},     {"show", 0, 1, run_show},       {"diff", 2, 2, run_diff},
    {"export", 0, 1, run_export}, {"certify", 1, 1, run_certify}, {"table", 0, 0, run_table},
};

enum { NUM_ACTIONS = sizeof actions / sizeof *actions };

static const struct argp_option option_table[] = {
    {"ledger", KEY_LEDGER, "FILE", 0, "Read this ledger", 1},
    {"json", KEY_JSON, NULL, 0, "Print JSON (export always does)", 1},
    {"key", KEY_KEY, "FILE", 0, "The secret key that certify signs with", 1},
    {"check", KEY_CHECK, "FILE", 0, "With table: whether FILE has its form; reads no ledger", 1},
    {"html", KEY_HTML, NULL, 0, "With table: one self-contained page, with plots", 1},
    {"output", KEY_OUTPUT, "FILE", 0, "Write there instead of to standard output", 1},
    {0},
};

static const char doc[] =
    "Shows what the gate has recorded. RUN is a number, or LAST. Nothing is ever written to the "
    "ledger."
    "\vActions:\n"
    "  list           all runs, oldest first\n"
    "  show [RUN]     one run with its evidence\n"
    "  diff RUN RUN   what changed from the first to the second: settings, digests,\n"
    "                 measurements, verdict\n"
    "  export [RUN]   one run or all as JSON, with reports; of a damaged ledger the\n"
    "                 runs that are whole\n"
    "  certify RUN    one run signed with --key, for `assay run --certificate'\n"
    "  table          the options with quality, gain, coverage and verdict, as Markdown\n"
    "Examples:\n"
    "  assay ledger list --ledger ./ledger.sqlite\n"
    "  assay ledger diff 3 LAST\n"
    "  assay ledger export -o history.json\n"
    "  assay ledger table --html -o trades.html\n"
    "  assay ledger certify LAST --key release.key -o gdn-state-fp16.json\n";

static int find_action(const char *name)
{
    for (int i = 0; i < NUM_ACTIONS; i++)
        if (strcmp(actions[i].name, name) == 0)
            return i;
    return -1;
}

static void check(const struct ledger_arguments *a, const struct argp_state *state)
{
    const int i = find_action(a->action);
    if (a->num_runs < actions[i].least)
        argp_error(state, "%s needs %d runs: numbers, or LAST", a->action, actions[i].least);
    if (a->num_runs > actions[i].most)
        argp_error(state, "%s takes at most %d runs", a->action, actions[i].most);
    const bool certify = strcmp(a->action, "certify") == 0;
    if (certify != (a->key != NULL))
        argp_error(state, certify ? "certify needs --key" : "--key goes with certify");
    const bool table = strcmp(a->action, "table") == 0;
    if (a->check != NULL && !table)
        argp_error(state, "--check goes with table");
    if (a->html && (!table || a->check != NULL))
        argp_error(state, "--html goes with table, and not with --check");
    if (a->json && (table || certify))
        argp_error(state, "--json does not go with %s", a->action);
    if (a->output != NULL && !a->json && !certify && !table && strcmp(a->action, "export") != 0)
        argp_error(state, "-o goes with export, certify, table or --json");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct ledger_arguments *a = state->input;
    switch (key) {
    case KEY_LEDGER:
        a->ledger = text;
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case KEY_HTML:
        a->html = true;
        return 0;
    case KEY_KEY:
        a->key = text;
        return 0;
    case KEY_CHECK:
        a->check = text;
        return 0;
    case KEY_OUTPUT:
        a->output = text;
        return 0;
    case ARGP_KEY_ARG:
        if (a->action == NULL && find_action(text) < 0)
            argp_error(state,
                       "there is no action \"%s\": list, show, diff, export, certify or table",
                       text);
        else if (a->action == NULL)
            a->action = text;
        else if (a->num_runs == 2)
            argp_error(state, "too many runs: \"%s\"", text);
        else
            a->run[a->num_runs++] = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "an action is missing: list, show, diff, export, certify or table");
        return 0;
    case ARGP_KEY_SUCCESS:
        check(a, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tool_ledger(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "ACTION [RUN...]", .doc = doc};
    struct ledger_arguments a = {.action = NULL};
    struct ledger_reader reader;
    struct assay_error error = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return TOOL_USAGE;
    signal(SIGXFSZ, SIG_IGN);
    assay_status status = ASSAY_OK;
    if (a.check != NULL) {
        status = check_table(a.check, &error);
    } else {
        status = ledger_reader_open(a.ledger, &reader, &error);
        if (status == ASSAY_OK)
            status = actions[find_action(a.action)].run(&a, &reader, &error);
        ledger_reader_close(&reader);
    }
    const int code = status == ASSAY_OK ? TOOL_OK : tool_report(&error);
    const int flushed = tool_flush_stdout();
    return flushed != TOOL_OK ? flushed : code;
}
