/* SPDX-License-Identifier: MIT
 *
 * gate.history: ledgers of version 1 are read as they are and made version 2 whole or not at all;
 * what a run recorded comes back; what differs between two runs is found.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate_ledger.h"
#include "gate_sample.h"
#include "ledger_files.h"
#include "ledger_read.h"

TestSuite(ledger_history, .init = ledger_files_make, .fini = ledger_files_remove);

static json_t *load(int64_t run)
{
    struct ledger_reader reader;
    struct assay_error error = {0};
    json_t *object;
    cr_assert(ledger_reader_open(ledger_path, &reader, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(ledger_load(&reader, run, &object, &error) == ASSAY_OK, "%s", error.message);
    ledger_reader_close(&reader);
    return object;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value == NULL ? "(absent)" : value;
}

static void expect_text(const json_t *object, const char *key, const char *expected)
{
    cr_assert(strcmp(text(object, key), expected) == 0, "%s is \"%s\", expected \"%s\"", key,
              text(object, key), expected);
}

static void expect_allowed(const char *when)
{
    char reason[256];
    bool passes;
    struct assay_error error = {0};
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    const assay_status status =
        assay_gate_lookup(ledger_path, SAMPLE_MODEL, 1u << ASSAY_TRADE_GDN_STATE_FP16, &machine,
                          &passes, reason, sizeof reason, &error);
    cr_assert(status == ASSAY_OK && passes, "%s: %s%s", when, error.message, reason);
}

/* Read as version 1 where nothing writes, then raised by the first writer; old runs stay. */
Test(ledger_history, version_1)
{
    struct gate_result *sample = sample_result();
    struct assay_error error = {0};
    ledger_make_version_1(3);
    expect_allowed("version 1");
    json_t *old = load(2);
    expect_text(old, "reason", "old run 2");
    expect_text(old, "record", "no digest");
    cr_assert(json_object_get(old, "device") == NULL);
    cr_assert(ledger_ask("PRAGMA user_version") == 1, "reading has changed the file");
    json_decref(old);

    cr_assert(ledger_record(sample, 1, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(ledger_ask("PRAGMA user_version") == 2);
    cr_assert(ledger_ask("SELECT count(*) FROM gate_run") == 4);
    expect_allowed("version 2");
    old = load(2);
    expect_text(old, "reason", "old run 2");
    expect_text(old, "record", "no digest");
    expect_text(old, "device", "");
    json_decref(old);
    json_t *run = load(4);
    expect_text(run, "device", "a made-up processor");
    expect_text(run, "driver", "Kernel 1.0");
    expect_text(run, "corpus_digest", SAMPLE_MODEL);
    expect_text(run, "record", "whole");
    expect_text(json_object_get(run, "settings"), "policy", "built-in");
    cr_assert(json_array_size(json_object_get(run, "checks")) == GATE_NUM_LIMITS);
    cr_assert(json_array_size(json_object_get(run, "evidence")) == GATE_NUM_EVIDENCE);
    json_decref(run);
    free(sample);
}

/* Several processes that meet an older ledger: one raises it, all record. */
Test(ledger_history, migration_concurrent)
{
    enum { WRITERS = 4, TIMES = 3 };
    struct gate_result *sample = sample_result();
    pid_t writers[WRITERS];
    ledger_make_version_1(3);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            struct assay_error error = {0};
            const assay_status status = ledger_record(sample, TIMES, &error);
            if (status != ASSAY_OK)
                fprintf(stderr, "%s\n", error.message);
            _exit(status != ASSAY_OK);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        cr_assert(waitpid(writers[i], &status, 0) == writers[i] && status == 0,
                  "writer %d: status %d", i, status);
    }
    cr_assert(ledger_ask("PRAGMA user_version") == 2);
    cr_assert(ledger_ask("SELECT count(*) FROM gate_run") == 3 + WRITERS * TIMES);
    free(sample);
}

/* A step that fails in its last statement has done nothing. */
Test(ledger_history, migration_fails)
{
    gate_ledger *ledger;
    struct assay_error error = {0};
    ledger_make_version_1(3);
    ledger_sql("CREATE TABLE gate_evidence (x)");
    cr_assert(gate_ledger_open(ledger_path, &ledger, &error) != ASSAY_OK && ledger == NULL);
    cr_assert(strcmp(error.what, ledger_path) == 0);
    cr_assert(ledger_ask("PRAGMA user_version") == 1);
    cr_assert(ledger_ask(
                  "SELECT count(*) FROM pragma_table_info('gate_run') WHERE name = 'device'") == 0);
    expect_allowed("version 1 still");
}

/* Killed or short of disk while the version is raised: version 1 or 2, never between. */
static void check_migrated(void)
{
    const int64_t version = ledger_ask("PRAGMA user_version");
    const int64_t columns =
        ledger_ask("SELECT count(*) FROM pragma_table_info('gate_run') WHERE name IN ('settings', "
                   "'corpus_digest', 'device', 'driver', 'record_digest')");
    const int64_t tables =
        ledger_ask("SELECT count(*) FROM sqlite_schema WHERE name = 'gate_evidence'");
    cr_assert((version == 1 && columns == 0 && tables == 0) ||
                  (version == 2 && columns == 5 && tables == 1),
              "version %lld with %lld columns and %lld tables", (long long)version,
              (long long)columns, (long long)tables);
    cr_assert(ledger_ask("SELECT count(*) FROM gate_run WHERE reason GLOB 'old run *'") == 3,
              "old runs were lost");
}

Test(ledger_history, migration_killed)
{
    size_t size;
    ledger_make_version_1(3);
    uint8_t *bytes = ledger_bytes(&size);
    int raised = 0, kept = 0;
    for (int kill_after_us = 200; kill_after_us < 12000; kill_after_us += 400) {
        ledger_write_bytes(bytes, size);
        const pid_t writer = fork();
        if (writer == 0) {
            gate_ledger *ledger;
            struct assay_error error = {0};
            if (gate_ledger_open(ledger_path, &ledger, &error) == ASSAY_OK)
                pause();
            _exit(1);
        }
        usleep((useconds_t)kill_after_us);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        check_migrated();
        raised += ledger_ask("PRAGMA user_version") == 2;
        kept += ledger_ask("PRAGMA user_version") == 1;
    }
    cr_assert(raised + kept > 0);
    free(bytes);
}

Test(ledger_history, migration_full_disk)
{
    int refused = 0, raised = 0;
    size_t size;
    ledger_make_version_1(3);
    uint8_t *bytes = ledger_bytes(&size);
    for (rlim_t room = 4096; room <= 131072; room += 2048) {
        int status;
        ledger_write_bytes(bytes, size);
        const pid_t writer = fork();
        if (writer == 0) {
            const struct rlimit limit = {room, room};
            gate_ledger *ledger;
            struct assay_error error = {0};
            signal(SIGXFSZ, SIG_IGN);
            const bool limited = setrlimit(RLIMIT_FSIZE, &limit) == 0;
            const assay_status opened = gate_ledger_open(ledger_path, &ledger, &error);
            gate_ledger_close(ledger);
            const bool said = opened == ASSAY_OK || strcmp(error.what, ledger_path) == 0;
            _exit(!limited || !said ? 2 : opened == ASSAY_OK ? 0 : 1);
        }
        cr_assert(waitpid(writer, &status, 0) == writer && WIFEXITED(status));
        cr_assert(WEXITSTATUS(status) < 2, "the file is not named");
        refused += WEXITSTATUS(status) == 1;
        raised += WEXITSTATUS(status) == 0;
        check_migrated();
    }
    cr_assert(refused > 0 && raised > 0, "%d refused, %d raised", refused, raised);
    free(bytes);
}

static const json_t *find_change(const json_t *diff, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(diff, "changed"), i,
                       row) if (strcmp(text(row, "name"), name) == 0) return row;
    return NULL;
}

/* Everything that was changed is in the difference, and nothing else. */
Test(ledger_history, difference)
{
    struct gate_result *sample = sample_result();
    struct assay_error error = {0};
    cr_assert(ledger_record(sample, 2, &error) == ASSAY_OK, "%s", error.message);
    memset(sample->key.build, '1', 64);
    sample->seed = 9;
    sample->measured[GATE_LIMIT_DRIFT_ERROR] = 2.0 * sample->policy.limit[GATE_LIMIT_DRIFT_ERROR];
    sample->item[GATE_GREEDY].coverage = 8;
    gate_judge(sample, "2026-11-30");
    cr_assert(ledger_record(sample, 1, &error) == ASSAY_OK, "%s", error.message);
    json_t *first = load(1), *second = load(2), *third = load(3);

    json_t *diff = ledger_diff(first, second);
    cr_assert(json_array_size(json_object_get(diff, "changed")) == 0);
    cr_assert(json_integer_value(json_object_get(diff, "same")) > 60);
    json_decref(diff);

    static const char *const names[] = {"verdict",
                                        "reason",
                                        "build_digest",
                                        "seed",
                                        "drift.relative_error_most",
                                        "drift.relative_error_most.state",
                                        "greedy.coverage"};
    diff = ledger_diff(first, third);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert(find_change(diff, names[i]) != NULL, "%s is missing", names[i]);
    cr_assert(json_array_size(json_object_get(diff, "changed")) == sizeof names / sizeof *names);
    cr_assert(json_real_value(json_object_get(find_change(diff, "drift.relative_error_most"),
                                              "relative_change")) == 1.0);
    json_decref(diff);

    FILE *out = tmpfile();
    cr_assert(ledger_regressions(first, second, out) == 0);
    cr_assert(ledger_regressions(third, first, out) == 0, "better is not worse");
    cr_assert(ftell(out) == 0);
    cr_assert(ledger_regressions(first, third, out) == 1);
    fclose(out);
    json_decref(first);
    json_decref(second);
    json_decref(third);
    free(sample);
}

/* Which run a question finds: the newest of everything that the question names. */
Test(ledger_history, newest)
{
    struct gate_result *sample = sample_result();
    struct assay_error error = {0};
    struct ledger_reader reader;
    int64_t run;
    cr_assert(ledger_record(sample, 2, &error) == ASSAY_OK, "%s", error.message);
    const struct assay_gate_key *key = &sample->key;
    const struct ledger_query all = {.model = key->model,
                                     .trades = key->trades,
                                     .backend = key->backend,
                                     .isa = key->isa,
                                     .build = key->build,
                                     .policy = sample->policy.digest,
                                     .corpus = sample->corpus,
                                     .seed = (int64_t)sample->seed,
                                     .quick = 0};
    cr_assert(ledger_reader_open(ledger_path, &reader, &error) == ASSAY_OK);
    cr_assert(ledger_newest(&reader, &all, &run, &error) == ASSAY_OK && run == 2);
    struct ledger_query others[8];
    for (int i = 0; i < 8; i++)
        others[i] = all;
    others[0].model = others[1].build = others[2].policy = others[3].corpus = "x";
    others[4].seed = 77;
    others[5].quick = 1;
    others[6].trades = "lm-head-q4";
    others[7].backend = "cuda";
    for (int i = 0; i < 8; i++) {
        cr_assert(ledger_newest(&reader, &others[i], &run, &error) == ASSAY_OK);
        cr_assert(run == 0, "question %d found run %lld", i, (long long)run);
    }
    const struct ledger_query loose = {.model = key->model,
                                       .trades = key->trades,
                                       .backend = key->backend,
                                       .isa = key->isa,
                                       .seed = -1,
                                       .quick = -1,
                                       .before = 2};
    cr_assert(ledger_newest(&reader, &loose, &run, &error) == ASSAY_OK && run == 1);
    cr_assert(ledger_find(&reader, "LAST", &run, &error) == ASSAY_OK && run == 2);
    cr_assert(ledger_find(&reader, "1", &run, &error) == ASSAY_OK && run == 1);
    cr_assert(ledger_find(&reader, "3", &run, &error) == ASSAY_E_NOT_FOUND);
    assay_error_clear(&error);
    cr_assert(ledger_find(&reader, "1x", &run, &error) == ASSAY_E_USAGE);
    ledger_reader_close(&reader);
    free(sample);
}
