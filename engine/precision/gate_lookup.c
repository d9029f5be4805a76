/* SPDX-License-Identifier: MIT
 *
 * Gate lookup: reads the ledger, never writes it. The tables are described in
 * golden/gate/gate_ledger.c.
 */
#include <assay/gate_record.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/core.h"

enum { BUSY_MS = 10000 };

/* One row of gate_run, as far as the decision needs it. */
struct record {
    char model[65], backend[16], isa[96], build[65], policy[65];
    char verdict[16], recorded[32], expires[16];
};

static assay_status refuse(sqlite3 *db, const char *path, struct assay_error *error)
{
    const int code = sqlite3_errcode(db) & 0xff;
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return assay_fail(error, ASSAY_E_CORRUPT, "ledger", path,
                          "is not a sound SQLite file (%s): move it away, then run the gate again",
                          sqlite3_errmsg(db));
    return assay_fail(error, ASSAY_E_IO, "ledger", path, "cannot be read: %s", sqlite3_errmsg(db));
}

static assay_status read_pragma(sqlite3 *db, const char *path, const char *sql, int *value,
                                struct assay_error *error)
{
    sqlite3_stmt *statement = NULL;
    *value = 0;
    bool good = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    if (good)
        *value = sqlite3_column_int(statement, 0);
    const assay_status status = good ? ASSAY_OK : refuse(db, path, error);
    sqlite3_finalize(statement);
    return status;
}

static assay_status check_version(sqlite3 *db, const char *path, struct assay_error *error)
{
    int application, version;
    ASSAY_TRY(read_pragma(db, path, "PRAGMA application_id", &application, error));
    ASSAY_TRY(read_pragma(db, path, "PRAGMA user_version", &version, error));
    if (application != ASSAY_LEDGER_APPLICATION)
        return assay_fail(error, ASSAY_E_CORRUPT, "ledger", path,
                          "is an SQLite file of another program: name another file");
    if (version != ASSAY_LEDGER_VERSION)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "ledger", path,
                          "has version %d, this build reads version %d", version,
                          ASSAY_LEDGER_VERSION);
    return ASSAY_OK;
}

/* A ledger in a folder that cannot be written lacks the shared memory file that its write-ahead log
 * needs. Without a log file nobody is writing, and it can be read as it lies there. */
static bool open_immutable(const char *path, sqlite3 **db)
{
    char *log = sqlite3_mprintf("%s-wal", path);
    char *uri = assay_alloc(3 * strlen(path) + 32), *at = uri;
    const bool quiet = log != NULL && access(log, F_OK) != 0;
    bool good = false;
    if (uri != NULL && quiet) {
        at += sprintf(at, "file:");
        for (const char *c = path; *c != '\0'; c++)
            at += strchr("?#%", *c) != NULL ? sprintf(at, "%%%02x", (unsigned)*c)
                                            : sprintf(at, "%c", *c);
        sprintf(at, "?immutable=1");
        sqlite3_close(*db);
        good = sqlite3_open_v2(uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK;
    }
    assay_free(uri);
    sqlite3_free(log);
    return good;
}

/* Read-only. */
static assay_status open_ledger(const char *path, sqlite3 **db, struct assay_error *error)
{
    int version;
    struct assay_error first = {0};
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return refuse(*db, path, error);
    sqlite3_busy_timeout(*db, BUSY_MS);
    if (read_pragma(*db, path, "PRAGMA user_version", &version, &first) == ASSAY_OK)
        return check_version(*db, path, error);
    if ((sqlite3_errcode(*db) & 0xff) != SQLITE_CANTOPEN || !open_immutable(path, db))
        return refuse(*db, path, error);
    return check_version(*db, path, error);
}

static void copy_column(sqlite3_stmt *statement, int column, char *text, size_t size)
{
    const unsigned char *value = sqlite3_column_text(statement, column);
    snprintf(text, size, "%s", value == NULL ? "" : (const char *)value);
}

static void read_record(sqlite3_stmt *statement, struct record *record)
{
    copy_column(statement, 0, record->model, sizeof record->model);
    copy_column(statement, 1, record->backend, sizeof record->backend);
    copy_column(statement, 2, record->isa, sizeof record->isa);
    copy_column(statement, 3, record->build, sizeof record->build);
    copy_column(statement, 4, record->policy, sizeof record->policy);
    copy_column(statement, 5, record->verdict, sizeof record->verdict);
    copy_column(statement, 6, record->recorded, sizeof record->recorded);
    copy_column(statement, 7, record->expires, sizeof record->expires);
}

/* How many parts of the key differ, and which, in words. */
static int differences(const struct record *record, const struct assay_gate_key *key, char *text,
                       size_t size)
{
    const struct {
        const char *name, *found, *wanted;
    } parts[] = {
        {"model", record->model, key->model},    {"backend", record->backend, key->backend},
        {"machine", record->isa, key->isa},      {"build", record->build, key->build},
        {"policy", record->policy, key->policy},
    };
    int count = 0;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].found, parts[i].wanted) == 0)
            continue;
        const char *joint = count == 0 ? "another " : " and another ";
        const int length = snprintf(text + used, size - used, "%s%s", joint, parts[i].name);
        used += length > 0 && (size_t)length < size - used ? (size_t)length : 0;
        count++;
    }
    return count;
}

/* The newest record of exactly this key, else the one that differs least (newest first). */
static assay_status find_record(sqlite3 *db, const char *path, const struct assay_gate_key *key,
                                struct record *best, int *num_differences,
                                struct assay_error *error)
{
    static const char sql[] =
        "SELECT model_digest, backend, isa, build_digest, policy_digest, verdict, recorded, expires"
        " FROM gate_run WHERE trades = ?1 AND planted = '' ORDER BY id DESC";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        sqlite3_bind_text(statement, 1, key->trades, -1, SQLITE_STATIC);
    *num_differences = -1;
    while (code == SQLITE_OK && *num_differences != 0 &&
           (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct record record;
        char text[128];
        read_record(statement, &record);
        const int count = differences(&record, key, text, sizeof text);
        /* One of this model explains more than one that fits in everything else. */
        const bool nearer = *num_differences < 0 || count < *num_differences;
        const bool better_model = strcmp(record.model, key->model) == 0;
        const bool best_model = *num_differences >= 0 && strcmp(best->model, key->model) == 0;
        if ((nearer && better_model == best_model) || (better_model && !best_model)) {
            *best = record;
            *num_differences = count;
        }
        code = SQLITE_OK;
    }
    const bool good = code == SQLITE_OK || code == SQLITE_DONE;
    const assay_status status = good ? ASSAY_OK : refuse(db, path, error);
    sqlite3_finalize(statement);
    return status;
}

static void decide(const struct record *record, int num_differences,
                   const struct assay_gate_key *key, bool *passes, char *reason, size_t size)
{
    char text[128], today[16];
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(today, sizeof today, "%Y-%m-%d", &utc);
    if (num_differences < 0) {
        snprintf(reason, size, "no gate record of these options in the ledger");
    } else if (num_differences > 0) {
        differences(record, key, text, sizeof text);
        snprintf(reason, size, "no gate record for this run; the nearest one (%s, %s) is for %s",
                 record->verdict, record->recorded, text);
    } else if (strcmp(record->verdict, "PASS") != 0) {
        snprintf(reason, size, "the newest gate run (%s) says %s", record->recorded,
                 record->verdict);
    } else if (strcmp(today, record->expires) > 0) {
        /* ISO dates compare as text. */
        snprintf(reason, size, "the gate record of %s expired after %s", record->recorded,
                 record->expires);
    } else {
        *passes = true;
        snprintf(reason, size, "passed on %s", record->recorded);
    }
}

assay_status assay_gate_lookup(const char *ledger_path, const char *model_digest,
                               assay_trade_set set, const struct assay_gate_machine *machine,
                               bool *passes, char *reason, size_t size, struct assay_error *error)
{
    char path[4096];
    struct assay_gate_key key;
    struct record record = {0};
    int num_differences;
    *passes = false;
    if (ledger_path == NULL)
        ASSAY_TRY(assay_ledger_default_path(path, sizeof path, error));
    const char *file = ledger_path == NULL ? path : ledger_path;
    ASSAY_TRY(assay_gate_key_fill(model_digest, set, machine, &key, error));
    if (access(file, F_OK) != 0 && errno == ENOENT) {
        snprintf(reason, size, "no gate record (there is no ledger %s)", file);
        return ASSAY_OK;
    }
    sqlite3 *db = NULL;
    assay_status status = open_ledger(file, &db, error);
    if (status == ASSAY_OK)
        status = find_record(db, file, &key, &record, &num_differences, error);
    if (status == ASSAY_OK)
        decide(&record, num_differences, &key, passes, reason, size);
    sqlite3_close(db);
    return status;
}
