/* SPDX-License-Identifier: MIT
 *
 * assay gate --all: every trade that the policy names. Each is a run of its own in the ledger, so
 * that an interrupted one goes on where it was: what the ledger holds under the same key, seed and
 * texts is not run again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "ledger_read.h"
#include "tools/gate_command.h"

enum state { LEFT, NOT_APPLICABLE, KNOWN, TAKEN };

/* One trade of the policy. */
struct entry {
    enum state state;
    struct gate_survey_row survey;
    int64_t run;
    char verdict[16], reason[1024];
    double seconds;  /* that it took */
    double expected; /* of an earlier run; 0: unknown */
};

struct all {
    struct gate_command *command;
    struct gate_result *result; /* of the newest gate; the survey's key */
    struct entry entries[ASSAY_NUM_TRADES];
    int count;
    char digest[65]; /* of the model */
};

/* ---- what there is to do -------------------------------------------------------------------- */

static assay_status survey(struct all *all, struct assay_error *error)
{
    const struct gate_arguments *a = all->command->arguments;
    enum assay_trade trades[ASSAY_NUM_TRADES];
    struct gate_survey_row rows[ASSAY_NUM_TRADES];
    const char *text, *name;
    size_t bytes;
    struct assay_map map;
    ASSAY_TRY(gate_command_policy(a, &text, &bytes, &name, &map, error));
    assay_status status = gate_policy_trades(text, bytes, name, trades, &all->count, error);
    if (status == ASSAY_OK && all->count == 0)
        status =
            assay_fail(error, ASSAY_E_PARSE, name, "trades", "names no trade: nothing to gate");
    if (status == ASSAY_OK)
        status = gate_policy_read_set(text, bytes, name, 1u << (unsigned)trades[0],
                                      &all->result->policy, error);
    assay_map_close(&map);
    ASSAY_TRY(status);
    status = gate_survey(&a->options, trades, all->count, rows, all->result, error);
    gate_command_progress_end(all->command);
    ASSAY_TRY(status);
    snprintf(all->digest, sizeof all->digest, "%s", all->result->key.model);
    for (int i = 0; i < all->count; i++)
        all->entries[i] =
            (struct entry){.survey = rows[i], .state = rows[i].applies ? LEFT : NOT_APPLICABLE};
    return ASSAY_OK;
}

static void copy_text(const json_t *run, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(run, key));
    snprintf(text, size, "%s", value == NULL ? "" : value);
}

/* What the ledger knows of a trade: the same run, or how long another one took. */
static assay_status look_up(struct all *all, const struct ledger_reader *reader,
                            struct entry *entry, struct assay_error *error)
{
    const struct gate_arguments *a = all->command->arguments;
    const struct gate_result *result = all->result;
    int64_t run = 0;
    json_t *object;
    struct ledger_query query = {.model = all->digest,
                                 .trades = assay_trade_name(entry->survey.trade),
                                 .backend = result->key.backend,
                                 .isa = result->key.isa,
                                 .build = result->key.build,
                                 .policy = result->policy.digest,
                                 .corpus = result->corpus,
                                 .seed = (int64_t)a->options.seed,
                                 .quick = a->options.quick};
    if (!a->fresh && result->corpus[0] != '\0')
        ASSAY_TRY(ledger_newest(reader, &query, &run, error));
    const bool same = run != 0;
    query.build = query.policy = query.corpus = NULL;
    query.seed = -1;
    if (run == 0)
        ASSAY_TRY(ledger_newest(reader, &query, &run, error));
    if (run == 0)
        return ASSAY_OK;
    ASSAY_TRY(ledger_load(reader, run, &object, error));
    const double seconds = json_number_value(json_object_get(object, "seconds"));
    const char *expires = json_string_value(json_object_get(object, "expires"));
    const bool valid = expires != NULL && strncmp(expires, result->recorded, 10) >= 0;
    if (same && valid) {
        entry->state = KNOWN;
        entry->run = run;
        entry->seconds = seconds;
        copy_text(object, "verdict", entry->verdict, sizeof entry->verdict);
        copy_text(object, "reason", entry->reason, sizeof entry->reason);
    } else {
        entry->expected = seconds;
    }
    json_decref(object);
    return ASSAY_OK;
}

static assay_status look_up_all(struct all *all, struct assay_error *error)
{
    struct ledger_reader reader;
    ASSAY_TRY(ledger_reader_open(gate_ledger_path(all->command->ledger), &reader, error));
    assay_status status = ASSAY_OK;
    for (int i = 0; i < all->count && status == ASSAY_OK; i++)
        if (all->entries[i].state == LEFT)
            status = look_up(all, &reader, &all->entries[i], error);
    ledger_reader_close(&reader);
    return status;
}

/* ---- remaining time ------------------------------------------------------------------------- */

/* Of a trade that has not run: what it took before, else what the others take on average; < 0 when
 * nothing is known. */
static double estimate(const struct all *all, const struct entry *entry)
{
    double sum = 0.0;
    int known = 0;
    if (entry->expected > 0.0)
        return entry->expected;
    for (int i = 0; i < all->count; i++) {
        const struct entry *other = &all->entries[i];
        const double seconds = other->state == LEFT ? other->expected : other->seconds;
        sum += seconds;
        known += seconds > 0.0;
    }
    return known > 0 ? sum / known : -1.0;
}

static void say_where(struct all *all)
{
    int done = 0, applicable = 0;
    double seconds = 0.0;
    for (int i = 0; i < all->count; i++) {
        const struct entry *entry = &all->entries[i];
        applicable += entry->state != NOT_APPLICABLE;
        done += entry->state == KNOWN || entry->state == TAKEN;
        if (entry->state != LEFT)
            continue;
        const double expected = estimate(all, entry);
        seconds = expected < 0.0 || seconds < 0.0 ? -1.0 : seconds + expected;
    }
    struct gate_command *command = all->command;
    char text[96];
    command->gate = done + 1;
    command->num_gates = applicable;
    command->begun = progress_now();
    command->expected = seconds;
    gate_command_where(command, text, sizeof text);
    fprintf(stderr, "assay: %s\n", text);
}

/* ---- the gates ------------------------------------------------------------------------------ */

static void print_entry(const struct entry *entry)
{
    const char *name = assay_trade_name(entry->survey.trade);
    if (entry->state == NOT_APPLICABLE)
        printf("%-18s does not apply to this model: %s\n", name, entry->survey.note);
    else if (entry->state == LEFT)
        printf("%-18s not run\n", name);
    else
        printf("%-18s %-12s run %lld, %.1f s%s: %s\n", name, entry->verdict, (long long)entry->run,
               entry->seconds, entry->state == KNOWN ? ", already in the ledger" : "",
               entry->reason);
}

static assay_status take(struct all *all, struct entry *entry, struct assay_error *error)
{
    struct gate_options *options = &all->command->arguments->options;
    const double start = progress_now();
    *all->result = (struct gate_result){.quick = false};
    options->trades = 1u << (unsigned)entry->survey.trade;
    say_where(all);
    ASSAY_TRY(gate_command_take(all->command, all->result, &entry->run, error));
    entry->state = TAKEN;
    entry->seconds = progress_now() - start;
    snprintf(entry->verdict, sizeof entry->verdict, "%s", gate_verdict_name(all->result->verdict));
    snprintf(entry->reason, sizeof entry->reason, "%s", all->result->reason);
    print_entry(entry);
    fflush(stdout);
    return gate_command_compare(all->command, all->result, entry->run, error);
}

/* FAIL is worse than INCONCLUSIVE: it says that something is wrong, the other that something is not
 * known. Nothing that applies decides nothing. */
static enum gate_verdict worst(const struct all *all)
{
    bool any = false, open = false;
    for (int i = 0; i < all->count; i++) {
        const struct entry *entry = &all->entries[i];
        if (entry->state == NOT_APPLICABLE)
            continue;
        any = true;
        if (strcmp(entry->verdict, gate_verdict_name(GATE_FAIL)) == 0)
            return GATE_FAIL;
        open = open || strcmp(entry->verdict, gate_verdict_name(GATE_PASS)) != 0;
    }
    return any && !open ? GATE_PASS : GATE_INCONCLUSIVE;
}

static void summarise(const struct all *all, enum gate_verdict verdict)
{
    int passed = 0, failed = 0, open = 0, unused = 0;
    for (int i = 0; i < all->count; i++) {
        const struct entry *entry = &all->entries[i];
        unused += entry->state == NOT_APPLICABLE;
        passed += strcmp(entry->verdict, gate_verdict_name(GATE_PASS)) == 0;
        failed += strcmp(entry->verdict, gate_verdict_name(GATE_FAIL)) == 0;
        open += strcmp(entry->verdict, gate_verdict_name(GATE_INCONCLUSIVE)) == 0;
    }
    printf("\n%s: %d passed, %d failed, %d inconclusive, %d do not apply; recorded in %s\n",
           gate_verdict_name(verdict), passed, failed, open, unused,
           gate_ledger_path(all->command->ledger));
}

static assay_status run_all(struct all *all, struct assay_error *error)
{
    ASSAY_TRY(survey(all, error));
    ASSAY_TRY(look_up_all(all, error));
    for (int i = 0; i < all->count; i++)
        if (all->entries[i].state != LEFT)
            print_entry(&all->entries[i]);
    fflush(stdout);
    for (int i = 0; i < all->count; i++)
        if (all->entries[i].state == LEFT)
            ASSAY_TRY(take(all, &all->entries[i], error));
    return ASSAY_OK;
}

assay_status gate_command_all(struct gate_command *command, enum gate_verdict *verdict,
                              struct assay_error *error)
{
    struct all *all = calloc(1, sizeof *all);
    struct gate_result *result = calloc(1, sizeof *result);
    assay_status status = ASSAY_OK;
    if (all == NULL || result == NULL) {
        status = assay_fail(error, ASSAY_E_MEMORY, "gate", "all", "no memory");
    } else {
        all->command = command;
        all->result = result;
        status = run_all(all, error);
        *verdict = worst(all);
    }
    if (status == ASSAY_OK)
        summarise(all, *verdict);
    else if (status == ASSAY_E_CANCELLED)
        fprintf(stderr, "assay: the gates that ended are recorded: the same command goes on\n");
    free(result);
    free(all);
    return status;
}
