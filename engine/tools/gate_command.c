/* SPDX-License-Identifier: MIT
 *
 * One gate: policy, evidence, verdict, ledger, reports.
 */
#include "tools/gate_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "gate_report.h"
#include "ledger_read.h"

volatile sig_atomic_t gate_interrupted;

/* ---- progress ------------------------------------------------------------------------------- */

void gate_command_where(const struct gate_command *command, char *text, size_t size)
{
    const double left = command->expected - (progress_now() - command->begun);
    text[0] = '\0';
    if (command->num_gates == 0)
        return;
    const int used = snprintf(text, size, "gate %d of %d", command->gate, command->num_gates);
    if (command->expected >= 0.0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", all in about %.0f s",
                 left > 0.0 ? left : 0.0);
}

static bool on_progress(void *user, const char *what, int64_t done, int64_t total)
{
    struct gate_command *command = user;
    if (command->what == NULL || strcmp(command->what, what) != 0) {
        gate_command_progress_end(command);
        progress_begin(&command->progress, what, total);
        command->what = what;
    }
    char where[96];
    gate_command_where(command, where, sizeof where);
    progress_update(&command->progress, done, where);
    return gate_interrupted == 0;
}

void gate_command_progress_end(struct gate_command *command)
{
    if (command->what != NULL)
        progress_end(&command->progress);
    command->what = NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

assay_status gate_command_open(struct gate_arguments *arguments, struct gate_command *command,
                               struct assay_error *error)
{
    *command = (struct gate_command){.arguments = arguments};
    ASSAY_TRY(
        gate_data_dir(arguments->options.data_dir, command->data, sizeof command->data, error));
    ASSAY_TRY(gate_ledger_open(arguments->ledger, &command->ledger, error));
    arguments->options.data_dir = command->data;
    arguments->options.progress = on_progress;
    arguments->options.user = command;
    arguments->options.policy_file = arguments->policy;
    return ASSAY_OK;
}

void gate_command_close(struct gate_command *command)
{
    gate_ledger_close(command->ledger);
    command->ledger = NULL;
}

assay_status gate_command_policy(const struct gate_arguments *arguments, const char **text,
                                 size_t *bytes, const char **name, struct assay_map *map,
                                 struct assay_error *error)
{
    *map = (struct assay_map){NULL, 0};
    *name = "built-in policy";
    if (arguments->policy == NULL) {
        *text = assay_gate_policy(bytes);
        return ASSAY_OK;
    }
    *name = arguments->policy;
    ASSAY_TRY(assay_map_open(arguments->policy, map, error));
    *text = (const char *)map->data;
    *bytes = map->bytes;
    return ASSAY_OK;
}

static assay_status read_policy(const struct gate_arguments *a, struct gate_policy *policy,
                                struct assay_error *error)
{
    const char *text, *name;
    size_t bytes;
    struct assay_map map;
    ASSAY_TRY(gate_command_policy(a, &text, &bytes, &name, &map, error));
    const assay_status status =
        gate_policy_read_set(text, bytes, name, a->options.trades, policy, error);
    assay_map_close(&map);
    return status;
}

/* ---- the run -------------------------------------------------------------------------------- */

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
    char seed[32], trades[256];
    line[0] = '\0';
    append_word(line, size, "assay");
    append_word(line, size, "gate");
    append_word(line, size, a->options.model_dir);
    assay_trade_set_format(a->options.trades, trades, sizeof trades);
    append_word(line, size, strchr(trades, ',') == NULL ? "--trade" : "--set");
    append_word(line, size, trades);
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

assay_status gate_command_take(struct gate_command *command, struct gate_result *result,
                               int64_t *run, struct assay_error *error)
{
    const struct gate_arguments *a = command->arguments;
    char today[16];
    *run = 0;
    ASSAY_TRY(read_policy(a, &result->policy, error));
    const assay_status status = gate_collect(&a->options, result, error);
    gate_command_progress_end(command);
    ASSAY_TRY(status);
    format_command(a, result->command, sizeof result->command);
    snprintf(today, sizeof today, "%.10s", result->recorded);
    gate_judge(result, today);
    if (result->plant[0] != '\0' && result->verdict == GATE_PASS)
        return ASSAY_OK;
    char *json = gate_report_json(result);
    if (json == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "report", "no memory");
    const assay_status recorded = gate_ledger_add(command->ledger, result, json, run, error);
    free(json);
    return recorded;
}

/* ---- comparison ----------------------------------------------------------------------------- */

/* The run to compare with: that of the number, or the newest of the same model, trades and machine
 * before this one. 0: there is none. */
static assay_status find_base(const struct ledger_reader *reader, const char *name,
                              const struct gate_result *result, int64_t run, int64_t *base,
                              struct assay_error *error)
{
    const struct ledger_query query = {.model = result->key.model,
                                       .trades = result->key.trades,
                                       .backend = result->key.backend,
                                       .isa = result->key.isa,
                                       .seed = -1,
                                       .quick = -1,
                                       .before = run};
    if (strcmp(name, "LAST") == 0)
        return ledger_newest(reader, &query, base, error);
    return ledger_find(reader, name, base, error);
}

static assay_status print_regressions(const struct ledger_reader *reader, int64_t base, int64_t run,
                                      struct assay_error *error)
{
    json_t *before, *now = NULL;
    ASSAY_TRY(ledger_load(reader, base, &before, error));
    const assay_status status = ledger_load(reader, run, &now, error);
    if (status == ASSAY_OK) {
        printf("compared with run %lld (%s, %s):\n", (long long)base,
               json_string_value(json_object_get(before, "recorded")),
               json_string_value(json_object_get(before, "verdict")));
        if (ledger_regressions(before, now, stdout) == 0)
            printf("  no measurement is worse by more than a hundredth of its limit\n");
    }
    json_decref(before);
    json_decref(now);
    return status;
}

assay_status gate_command_compare(const struct gate_command *command,
                                  const struct gate_result *result, int64_t run,
                                  struct assay_error *error)
{
    struct ledger_reader reader;
    int64_t base = 0;
    const char *name = command->arguments->compare;
    if (name == NULL || run == 0)
        return ASSAY_OK;
    ASSAY_TRY(ledger_reader_open(gate_ledger_path(command->ledger), &reader, error));
    assay_status status = find_base(&reader, name, result, run, &base, error);
    if (status == ASSAY_OK && base != 0)
        status = print_regressions(&reader, base, run, error);
    else if (status == ASSAY_OK)
        printf("compared with nothing: the ledger holds no earlier run of these options\n");
    ledger_reader_close(&reader);
    return status;
}

/* The number of --compare must be a run of these trades before hours are spent on evidence. */
static assay_status check_base(const struct gate_command *command, struct assay_error *error)
{
    struct ledger_reader reader;
    int64_t base;
    char trades[256];
    json_t *run = NULL;
    const char *name = command->arguments->compare;
    if (name == NULL || strcmp(name, "LAST") == 0)
        return ASSAY_OK;
    assay_trade_set_format(command->arguments->options.trades, trades, sizeof trades);
    ASSAY_TRY(ledger_reader_open(gate_ledger_path(command->ledger), &reader, error));
    assay_status status = ledger_find(&reader, name, &base, error);
    if (status == ASSAY_OK)
        status = ledger_load(&reader, base, &run, error);
    const char *found = json_string_value(json_object_get(run, "trades"));
    if (status == ASSAY_OK && (found == NULL || strcmp(found, trades) != 0))
        status = assay_fail(error, ASSAY_E_USAGE, "gate", "--compare",
                            "run %lld is of %.100s, this one of %.100s", (long long)base,
                            found == NULL ? "?" : found, trades);
    json_decref(run);
    ledger_reader_close(&reader);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Where one of recording and reporting fails, the other is still done. */
assay_status gate_command_one(struct gate_command *command, struct gate_result *result,
                              struct assay_error *error)
{
    int64_t run;
    struct assay_error problem = {0};
    ASSAY_TRY(check_base(command, error));
    const assay_status taken = gate_command_take(command, result, &run, &problem);
    if (result->reason[0] == '\0') { /* no verdict */
        *error = problem;
        return taken;
    }
    gate_report_text(result, stdout);
    if (run != 0)
        printf("recorded as run %lld in %s\n", (long long)run, gate_ledger_path(command->ledger));
    else if (taken == ASSAY_OK)
        printf("the planted fault was not caught; nothing was recorded\n");
    if (taken != ASSAY_OK)
        *error = problem;
    char *json = gate_report_json(result);
    assay_status written = json == NULL
                               ? assay_fail(error, ASSAY_E_MEMORY, "gate", "report", "no memory")
                               : write_reports(command->arguments, result, json, error);
    free(json);
    if (taken == ASSAY_OK && written == ASSAY_OK)
        written = gate_command_compare(command, result, run, error);
    return taken != ASSAY_OK ? taken : written;
}
