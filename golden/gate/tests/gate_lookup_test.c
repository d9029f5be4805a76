/* SPDX-License-Identifier: MIT
 *
 * gate.lookup: only a PASS that equals the run in every part of the key and has not expired counts;
 * the reason names what differs. The key is this test program's own.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "gate_ledger.h"
#include "gate_sample.h"

static char folder[64], path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/assay-lookup-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/ledger?100%%.sqlite", folder);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(gate_lookup, .init = make_folder, .fini = remove_folder);

static void record(const struct gate_result *result)
{
    gate_ledger *ledger;
    struct assay_error error = {0};
    int64_t id;
    cr_assert(gate_ledger_open(path, &ledger, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(gate_ledger_add(ledger, result, "{}", &id, &error) == ASSAY_OK, "%s", error.message);
    gate_ledger_close(ledger);
}

static void change(const char *sql)
{
    sqlite3 *db;
    cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
    cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void expect(bool allowed, const char *words)
{
    bool passes = !allowed;
    char reason[256] = "";
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    struct assay_error error = {0};
    const assay_status status =
        assay_gate_lookup(path, SAMPLE_MODEL, 1u << ASSAY_TRADE_GDN_STATE_FP16, &machine, &passes,
                          reason, sizeof reason, &error);
    cr_assert(status == ASSAY_OK, "%s", error.message);
    cr_assert(passes == allowed && strstr(reason, words) != NULL, "%s: %s; expected %s",
              passes ? "allowed" : "refused", reason, words);
}

static void expect_error(assay_status expected, const char *words)
{
    bool passes = true;
    char reason[256];
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    struct assay_error error = {0};
    const assay_status status =
        assay_gate_lookup(path, SAMPLE_MODEL, 1u << ASSAY_TRADE_GDN_STATE_FP16, &machine, &passes,
                          reason, sizeof reason, &error);
    cr_assert(status == expected && !passes && strstr(error.message, words) != NULL, "%s: %s",
              assay_status_name(status), error.message);
}

/* One part of the key after the other, by a change of the record (and, since a changed record is
 * damaged, without its digest). */
Test(gate_lookup, every_part)
{
    static const struct {
        const char *column, *value, *words;
    } parts[] = {
        {"model_digest", "'%.63s0'", "is for another model"},
        {"build_digest", "'%.63s0'", "is for another build"},
        {"policy_digest", "'%.63s0'", "is for another policy"},
        {"backend", "'cuda'", "is for another backend"},
        {"isa", "'none'", "is for another machine"},
        {"trades", "'lm-head-q4'", "no gate record of these options"},
        {"expires", "'2026-01-01'", "expired after 2026-01-01"},
        {"verdict", "'FAIL'", "says FAIL"},
        {"verdict", "'INCONCLUSIVE'", "says INCONCLUSIVE"},
    };
    struct gate_result *result = sample_result();
    expect(false, "there is no ledger");
    record(result);
    change("UPDATE gate_run SET record_digest = ''");
    expect(true, "passed on 20");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char sql[512], value[128];
        change("CREATE TABLE kept AS SELECT * FROM gate_run");
        snprintf(value, sizeof value, parts[i].value, SAMPLE_MODEL);
        snprintf(sql, sizeof sql, "UPDATE gate_run SET %s = %s", parts[i].column, value);
        change(sql);
        expect(false, parts[i].words);
        snprintf(sql, sizeof sql, "UPDATE gate_run SET %s = (SELECT %s FROM kept); DROP TABLE kept",
                 parts[i].column, parts[i].column);
        change(sql);
        expect(true, "passed on 20");
    }
    free(result);
}

/* A record that is not what was recorded decides nothing, in whatever part it differs. */
Test(gate_lookup, changed_record)
{
    static const char *const changes[] = {
        "UPDATE gate_run SET expires = '2037-11-30'",
        "UPDATE gate_run SET reason = reason || ' '",
        ("UPDATE gate_run SET id = 2; UPDATE gate_check SET run = 2;"
         "UPDATE gate_evidence SET run = 2"),
        "UPDATE gate_check SET value = 0.5 WHERE evidence = 'drift'",
        "DELETE FROM gate_check WHERE evidence = 'drift'",
        "UPDATE gate_evidence SET coverage = 8 WHERE evidence = 'greedy'",
    };
    struct gate_result *result = sample_result();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        record(result);
        expect(true, "passed on 20");
        change(changes[i]);
        expect_error(ASSAY_E_CORRUPT, "is not what was recorded");
        cr_assert(unlink(path) == 0);
    }
    free(result);
}

/* The newest run of the key decides; planted runs and other keys do not. */
Test(gate_lookup, newest)
{
    struct gate_result *pass = sample_result(), *fail = sample_result();
    fail->measured[GATE_LIMIT_DRIFT_ERROR] = 1.0;
    gate_judge(fail, "2026-11-30");
    record(pass);
    record(fail);
    expect(false, "says FAIL");
    record(pass);
    expect(true, "passed");
    snprintf(fail->plant, sizeof fail->plant, "some.mutant.cpu");
    record(fail);
    expect(true, "passed");
    fail->plant[0] = '\0';
    memset(fail->key.build, '1', 64);
    record(fail);
    expect(true, "passed");
    memset(fail->policy.digest, '2', 64);
    memset(fail->key.model, '3', 64);
    record(fail);
    expect(true, "passed");
    change("DELETE FROM gate_check WHERE run IN (SELECT id FROM gate_run WHERE verdict = 'PASS');"
           "DELETE FROM gate_evidence WHERE run IN"
           " (SELECT id FROM gate_run WHERE verdict = 'PASS');"
           "DELETE FROM gate_run WHERE verdict = 'PASS'");
    /* What is left: a FAIL of this key, which explains more than the newer ones. */
    expect(false, "says FAIL");
    free(pass);
    free(fail);
}

Test(gate_lookup, no_ledger)
{
    struct gate_result *result = sample_result();
    record(result);
    change("PRAGMA user_version = 3");
    expect_error(ASSAY_E_UNSUPPORTED, "has version 3");
    change("PRAGMA user_version = 2; PRAGMA application_id = 5");
    expect_error(ASSAY_E_CORRUPT, "of another program");
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL &&
              fprintf(file, "no ledger, but a text of more than 100 bytes, which "
                            "is what the head of an SQLite file has: so it is "
                            "read as a whole\n") > 0 &&
              fclose(file) == 0);
    expect_error(ASSAY_E_CORRUPT, "not a sound SQLite file");
    free(result);
}

/* The default place follows the environment. */
Test(gate_lookup, default_place)
{
    char found[256];
    struct assay_error error = {0};
    setenv("XDG_DATA_HOME", "/data", 1);
    cr_assert(assay_ledger_default_path(found, sizeof found, &error) == ASSAY_OK);
    cr_assert(strcmp(found, "/data/assay/ledger.sqlite") == 0);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "/h/someone", 1);
    cr_assert(assay_ledger_default_path(found, sizeof found, &error) == ASSAY_OK);
    cr_assert(strcmp(found, "/h/someone/.local/share/assay/ledger.sqlite") == 0);
    unsetenv("HOME");
    cr_assert(assay_ledger_default_path(found, sizeof found, &error) == ASSAY_E_NOT_FOUND);
    cr_assert(strstr(error.message, "--ledger") != NULL);
}
