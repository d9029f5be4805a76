/* SPDX-License-Identifier: MIT
 *
 * The table of trades as Markdown, and the check that a file has its form.
 */
#include "ledger_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"

static const char preamble[] =
    "# What the lossy options cost and gain\n"
    "\n"
    "Written by `assay ledger table -o docs/quality-trades.md` from the ledger; not edited by "
    "hand. "
    "Quality is the relative change of the\n"
    "mean loss on held-out text, with its 95 % interval; gain is in the bytes of what options "
    "store "
    "otherwise, for one sequence; coverage is\n"
    "how often the routes that the option changes ran while the evidence was taken. "
    "[gate.md](gate.md) says how verdicts come about.\n";

static const char section[] = "## ";

static const char header[] =
    "| option | what changes | quality, decode | quality, prefill | gain in bytes | coverage | "
    "verdict | why |\n"
    "|---|---|---|---|---|---|---|---|\n";

enum { NUM_CELLS = 8 };

const char *ledger_run_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* ---- choice of runs ------------------------------------------------------------------------- */

/* One table: where its runs were taken. */
static bool same_place(const json_t *a, const json_t *b)
{
    return strcmp(ledger_run_text(a, "model_digest"), ledger_run_text(b, "model_digest")) == 0 &&
           strcmp(ledger_run_text(a, "backend"), ledger_run_text(b, "backend")) == 0 &&
           strcmp(ledger_run_text(a, "isa"), ledger_run_text(b, "isa")) == 0;
}

static bool counts(const json_t *run)
{
    return ledger_run_text(run, "planted")[0] == '\0' &&
           strcmp(ledger_run_text(run, "record"), "damaged") != 0;
}

bool ledger_run_is_quick(const json_t *run)
{
    return json_integer_value(json_object_get(run, "quick")) != 0;
}

/* The run of these trades that counts there; NULL when there is none. */
static const json_t *choose(const json_t *runs, const json_t *place, const char *trades)
{
    const json_t *best = NULL;
    size_t i;
    json_t *run;
    json_array_foreach((json_t *)runs, i,
                       run) if (counts(run) && same_place(run, place) &&
                                strcmp(ledger_run_text(run, "trades"), trades) == 0 &&
                                (best == NULL || ledger_run_is_quick(best) ||
                                 !ledger_run_is_quick(run))) best = run;
    return best;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* A cell's text: one line, without the mark between cells. */
static void write_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(*text == '|' || *text == '\n' ? ' ' : *text, out);
}

static void write_quality(const json_t *run, const char *path, FILE *out)
{
    const json_t *changes = json_object_get(json_object_get(run, "report"), "loss_changes");
    const json_t *change = json_object_get(changes, path);
    const json_t *mean = json_object_get(change, "relative_change");
    if (!json_is_number(mean) || json_integer_value(json_object_get(change, "segments")) == 0)
        fputs(" - |", out);
    else
        fprintf(out, " %+.3f %% (%+.3f to %+.3f) |", 100.0 * json_number_value(mean),
                100.0 * json_number_value(json_object_get(change, "low_95")),
                100.0 * json_number_value(json_object_get(change, "high_95")));
}

static void write_gain(const json_t *run, FILE *out)
{
    const json_t *storage = json_object_get(json_object_get(run, "report"), "storage");
    const json_t *with = json_object_get(storage, "bytes_with");
    const json_t *without = json_object_get(storage, "bytes_without");
    const double before = json_number_value(without), after = json_number_value(with);
    if (!json_is_number(with) || !json_is_number(without) || !(before > 0.0))
        fputs(" - |", out);
    else
        fprintf(out, " %.0f of %.0f (%.1f %%) |", before - after, before,
                100.0 * (before - after) / before);
}

/* "op-verdicts 890, greedy 512": of the evidence that was taken and needs it. */
static void write_coverage(const json_t *run, FILE *out)
{
    bool first = true;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(json_object_get(run, "report"), "evidence"), i, item)
    {
        const json_t *coverage = json_object_get(item, "coverage");
        if (!json_is_true(json_object_get(item, "taken")) || !json_is_integer(coverage))
            continue;
        fprintf(out, "%s%s %lld", first ? " " : ", ", ledger_run_text(item, "name"),
                (long long)json_integer_value(coverage));
        first = false;
    }
    fputs(first ? " - |" : " |", out);
}

static void write_change(const char *trades, FILE *out)
{
    assay_trade_set set;
    bool first = true;
    if (assay_trade_set_parse(trades, &set, NULL) != ASSAY_OK)
        return;
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((set >> t & 1u) != 0) {
            fputs(first ? "" : "; ", out);
            write_text(out, assay_trade_change((enum assay_trade)t));
            first = false;
        }
}

static void write_row(const json_t *run, const char *trades, FILE *out)
{
    fprintf(out, "| %s | ", trades);
    write_change(trades, out);
    fputs(" |", out);
    if (run == NULL) {
        fputs(" - | - | - | - | not gated | no run in the ledger: not asked for, or the option "
              "does not apply to this model |\n",
              out);
        return;
    }
    write_quality(run, "decode", out);
    write_quality(run, "prefill", out);
    write_gain(run, out);
    write_coverage(run, out);
    fprintf(out, " %s%s | ", ledger_run_text(run, "verdict"),
            ledger_run_is_quick(run) ? " (quick)" : "");
    write_text(out, ledger_run_text(run, "reason"));
    fputs(" |\n", out);
}

/* ---- the whole ------------------------------------------------------------------------------ */

const char *ledger_run_model(const json_t *run)
{
    const char *path = ledger_run_text(run, "model_dir"), *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

bool ledger_place_begins(const json_t *runs, size_t i)
{
    const json_t *run = json_array_get(runs, i);
    if (!counts(run))
        return false;
    for (size_t k = 0; k < i; k++)
        if (counts(json_array_get(runs, k)) && same_place(json_array_get(runs, k), run))
            return false;
    return true;
}

void ledger_place_rows(const json_t *runs, const json_t *place, const enum assay_trade *trades,
                       int num_trades, void row(void *, const json_t *, const char *), void *user)
{
    json_t *sets = json_object(), *run;
    size_t i;
    for (int t = 0; t < num_trades; t++) {
        const char *name = assay_trade_name(trades[t]);
        row(user, choose(runs, place, name), name);
    }
    json_array_foreach((json_t *)runs, i, run)
    {
        const char *of_run = ledger_run_text(run, "trades");
        if (!counts(run) || !same_place(run, place) || strchr(of_run, ',') == NULL ||
            json_object_get(sets, of_run) != NULL)
            continue;
        json_object_set_new(sets, of_run, json_true());
        row(user, choose(runs, place, of_run), of_run);
    }
    json_decref(sets);
}

static void row_of_table(void *user, const json_t *run, const char *trades)
{
    write_row(run, trades, user);
}

void ledger_table_write(const json_t *runs, const enum assay_trade *trades, int num_trades,
                        FILE *out)
{
    size_t i;
    json_t *place;
    fputs(preamble, out);
    json_array_foreach((json_t *)runs, i, place)
    {
        if (!ledger_place_begins(runs, i))
            continue;
        fprintf(out, "\n%s%s (%.16s...) on %s, %s\n\n%s", section, ledger_run_model(place),
                ledger_run_text(place, "model_digest"), ledger_run_text(place, "backend"),
                ledger_run_text(place, "isa"), header);
        ledger_place_rows(runs, place, trades, num_trades, row_of_table, out);
    }
}

/* ---- form ----------------------------------------------------------------------------------- */

static bool begins(const char **at, const char *text)
{
    const size_t length = strlen(text);
    const bool same = strncmp(*at, text, length) == 0;
    *at += same ? length : 0;
    return same;
}

/* `| trades | what changes |` and then the other cells of one line. */
static bool take_row(const char **at, const char *trades)
{
    char *expected = NULL;
    size_t size;
    int cells = 2;
    FILE *out = open_memstream(&expected, &size);
    if (out == NULL)
        return false;
    fprintf(out, "| %s | ", trades);
    write_change(trades, out);
    fputs(" |", out);
    const bool closed = fclose(out) == 0;
    const bool same = closed && begins(at, expected);
    free(expected);
    for (; same && **at != '\0' && **at != '\n'; ++*at)
        cells += **at == '|';
    return same && cells == NUM_CELLS && *(*at)++ == '\n';
}

/* A row of a set, whichever. */
static bool take_set_row(const char **at)
{
    char names[256];
    const char *start = *at + 2;
    const size_t length = strcspn(start, " |\n");
    if (strncmp(*at, "| ", 2) != 0 || length >= sizeof names)
        return false;
    memcpy(names, start, length);
    names[length] = '\0';
    return strchr(names, ',') != NULL && take_row(at, names);
}

static bool take_section(const char **at, const enum assay_trade *trades, int num_trades)
{
    if (!begins(at, "\n") || !begins(at, section))
        return false;
    *at += strcspn(*at, "\n");
    if (!begins(at, "\n\n") || !begins(at, header))
        return false;
    for (int t = 0; t < num_trades; t++)
        if (!take_row(at, assay_trade_name(trades[t])))
            return false;
    while (**at == '|')
        if (!take_set_row(at))
            return false;
    return true;
}

assay_status ledger_table_check(const char *file, const char *text, size_t bytes,
                                const enum assay_trade *trades, int num_trades,
                                struct assay_error *error)
{
    char *copy = calloc(1, bytes + 1);
    if (copy == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "table", file, "no memory");
    if (bytes > 0)
        memcpy(copy, text, bytes);
    const char *at = copy;
    bool good = begins(&at, preamble) && *at != '\0';
    while (good && *at != '\0')
        good = take_section(&at, trades, num_trades);
    int line = 1;
    for (const char *c = copy; c < at; c++)
        line += *c == '\n';
    free(copy);
    if (!good)
        return assay_fail(error, ASSAY_E_CORRUPT, "table", file,
                          "line %d is not as `assay ledger table` writes it now: gate all trades "
                          "(assay gate MODEL --all) and write the file again",
                          line);
    return ASSAY_OK;
}
