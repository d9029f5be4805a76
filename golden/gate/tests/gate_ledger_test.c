/* SPDX-License-Identifier: MIT
 *
 * gate.ledger: a run is recorded whole or not at all, whatever happens meanwhile; what is no ledger
 * is refused in words.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include <assay/ledger.h>

#include "gate_ledger.h"
#include "gate_sample.h"

static char folder[64], path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/assay-ledger-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/ledger.sqlite", folder);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(gate_ledger, .init = make_folder, .fini = remove_folder);

/* First column of the first row as a number; -1 on an error. */
static int64_t ask(const char *file, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    cr_assert(sqlite3_open(file, &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static bool change(const char *file, const char *sql)
{
    sqlite3 *db;
    cr_assert(sqlite3_open(file, &db) == SQLITE_OK);
    const bool good = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return good;
}

/* Opens, adds `times` runs with this report, closes. */
static assay_status record(const struct gate_result *result, const char *report, int times,
                           struct assay_error *error)
{
    gate_ledger *ledger;
    int64_t id;
    assay_status status = gate_ledger_open(path, &ledger, error);
    for (int i = 0; i < times && status == ASSAY_OK; i++)
        status = gate_ledger_add(ledger, result, report, &id, error);
    gate_ledger_close(ledger);
    return status;
}

#define RUNS "SELECT count(*) FROM gate_run"
/* Runs whose evidence is not all there. */
#define TORN \
    "SELECT count(*) FROM gate_run WHERE (SELECT count(*) FROM gate_check WHERE run = id) <> %d"

static void check_whole(int64_t runs)
{
    char torn[256];
    snprintf(torn, sizeof torn, TORN, GATE_NUM_LIMITS);
    cr_assert(ask(path, torn) == 0, "a run lacks evidence");
    cr_assert(
        ask(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1);
    const int64_t found = ask(path, RUNS);
    cr_assert(runs < 0 || found == runs, "%lld runs, expected %lld", (long long)found,
              (long long)runs);
}

/* Several processes that meet a new file: one makes the tables, all record. */
Test(gate_ledger, concurrent_writers)
{
    enum { WRITERS = 4, TIMES = 12 };
    struct gate_result *result = sample_result();
    pid_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            struct assay_error error = {0};
            const assay_status status = record(result, "{}", TIMES, &error);
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
    check_whole(WRITERS * TIMES);
    free(result);
}

/* What a second process sees while the first one makes the file: a log already, and no tables. */
Test(gate_ledger, half_made)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    sqlite3 *db;
    int version;
    cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
    cr_assert(sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3 *reader;
    cr_assert(assay_ledger_open(path, &reader, &version, &error) == ASSAY_E_NOT_FOUND, "%s",
              error.message);
    assay_error_clear(&error);
    cr_assert(record(result, "{}", 1, &error) == ASSAY_OK, "%s", error.message);
    sqlite3_close(db);
    check_whole(1);
    free(result);
}

/* kill -9 at many moments of an endless recording. */
Test(gate_ledger, killed_writer)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    int64_t before = 0;
    cr_assert(record(result, "{}", 1, &error) == ASSAY_OK, "%s", error.message);
    for (int kill_after_us = 500; kill_after_us < 40000; kill_after_us += 1900) {
        const pid_t writer = fork();
        if (writer == 0) {
            struct assay_error ignored = {0};
            (void)record(result, "{}", 1000000, &ignored);
            _exit(1);
        }
        usleep((useconds_t)kill_after_us);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        check_whole(-1);
        const int64_t runs = ask(path, RUNS);
        cr_assert(runs >= before, "runs were lost");
        before = runs;
    }
    cr_assert(before > 1, "no writer was killed while it wrote");
    free(result);
}

static void expect_refusal(const char *what, assay_status expected, const char *words)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    const assay_status status = record(result, "{}", 1, &error);
    cr_assert(status == expected && strstr(error.message, words) != NULL, "%s: %s: %s", what,
              assay_status_name(status), error.message);
    cr_assert(strcmp(error.what, path) == 0, "%s: the path is not named", what);
    free(result);
}

static void write_bytes(const char *bytes, size_t size, long at)
{
    FILE *file = fopen(path, at < 0 ? "wb" : "r+b");
    cr_assert(file != NULL && (at < 0 || fseek(file, at, SEEK_SET) == 0));
    cr_assert(fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

Test(gate_ledger, no_ledger)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    write_bytes(garbage, sizeof garbage, -1);
    expect_refusal("a text", ASSAY_E_CORRUPT, "not a sound SQLite file");
    cr_assert(unlink(path) == 0);

    cr_assert(change(path, "CREATE TABLE t (x)"));
    expect_refusal("another program's", ASSAY_E_CORRUPT, "of another program");
    cr_assert(unlink(path) == 0);

    cr_assert(record(result, "{}", 20, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(change(path, "PRAGMA user_version = 3"));
    expect_refusal("a newer version", ASSAY_E_UNSUPPORTED, "has version 3, this build knows");
    cr_assert(change(path, "PRAGMA user_version = 2"));
    cr_assert(change(path, "PRAGMA wal_checkpoint(TRUNCATE)"));
    write_bytes(garbage, sizeof garbage, 4096);
    expect_refusal("damaged pages", ASSAY_E_CORRUPT, "");
    cr_assert(truncate(path, 6000) == 0);
    expect_refusal("a cut file", ASSAY_E_CORRUPT, "");
    free(result);
}

/* As an ordinary user, whom permissions bind. */
static void in_child(void body(void), bool drop)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        if (drop && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        body();
        _exit(0);
    }
    cr_assert(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
}

static int refused_with(const char *words)
{
    struct gate_ledger *ledger;
    struct assay_error error = {0};
    const assay_status status = gate_ledger_open(path, &ledger, &error);
    if (status == ASSAY_E_IO && strstr(error.message, words) != NULL)
        return 0;
    fprintf(stderr, "%s: %s\n", assay_status_name(status), error.message);
    return 1;
}

static void expect_unwritable(void)
{
    if (refused_with("must exist and be writable") != 0)
        _exit(1);
}

Test(gate_ledger, not_writable)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    cr_assert(chmod(folder, 0555) == 0);
    in_child(expect_unwritable, true);
    cr_assert(chmod(folder, 0755) == 0);
    cr_assert(record(result, "{}", 1, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(chmod(path, 0444) == 0 && chmod(folder, 0555) == 0);
    in_child(expect_unwritable, true);
    cr_assert(chmod(folder, 0755) == 0);
    check_whole(1);
    snprintf(path, sizeof path, "%s/none/ledger.sqlite", folder);
    expect_unwritable();
    snprintf(path, sizeof path, "%s", folder);
    expect_unwritable();
    free(result);
}

/* Files that may grow to 48 KiB: the ledger opens, a long report does not fit. */
static void expect_full(void)
{
    enum { REPORT = 300000 };
    const struct rlimit limit = {48 << 10, 48 << 10};
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    char *report = malloc(REPORT);
    memset(report, ' ', REPORT);
    memcpy(report, "{}", 2);
    report[REPORT - 1] = '\0';
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(2);
    const assay_status status = record(result, report, 1, &error);
    if (status != ASSAY_E_IO || strstr(error.message, "nothing was recorded") == NULL) {
        fprintf(stderr, "%s: %s\n", assay_status_name(status), error.message);
        _exit(1);
    }
}

Test(gate_ledger, full_disk)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    cr_assert(record(result, "{}", 2, &error) == ASSAY_OK, "%s", error.message);
    in_child(expect_full, false);
    check_whole(2);
    cr_assert(record(result, "{}", 1, &error) == ASSAY_OK, "%s", error.message);
    check_whole(3);
    free(result);
}

/* Neither this code nor another writer can record a planted PASS. */
Test(gate_ledger, planted)
{
    struct gate_result *result = sample_result();
    struct assay_error error = {0};
    snprintf(result->plant, sizeof result->plant, "some.mutant.cpu");
    cr_assert(record(result, "{}", 1, &error) == ASSAY_E_ARG, "a planted PASS was recorded");
    assay_error_clear(&error);
    result->measured[GATE_LIMIT_DRIFT_ERROR] = 1.0;
    gate_judge(result, "2026-11-30");
    cr_assert(record(result, "{}", 1, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(!change(path, "UPDATE gate_run SET verdict = 'PASS'"));
    check_whole(1);
    free(result);
}
