/* SPDX-License-Identifier: MIT
 *
 * The ledger's tables and the one transaction that adds to them. engine/precision/gate_lookup.c
 * reads gate_run; a change of the tables raises ASSAY_LEDGER_VERSION and adds a step that makes it
 * from the version before.
 */
#include "gate_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>
#include <sqlite3.h>

#include <assay/ledger.h>

#include "gate_try.h"

enum { BUSY_MS = 20000, PATH_BYTES = 4096 };

struct gate_ledger {
    sqlite3 *db;
    char path[PATH_BYTES];
};

/* The checks repeat what the code promises, for writers that are not this code. */
static const char version_1[] =
    "CREATE TABLE gate_run ("
    "  id INTEGER PRIMARY KEY,"
    "  recorded TEXT NOT NULL,"
    "  model_digest TEXT NOT NULL CHECK (length(model_digest) = 64),"
    "  trades TEXT NOT NULL,"
    "  backend TEXT NOT NULL,"
    "  isa TEXT NOT NULL,"
    "  build_digest TEXT NOT NULL CHECK (length(build_digest) = 64),"
    "  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),"
    "  expires TEXT NOT NULL CHECK (length(expires) = 10),"
    "  verdict TEXT NOT NULL CHECK (verdict IN ('PASS', 'FAIL', 'INCONCLUSIVE')),"
    "  reason TEXT NOT NULL,"
    "  planted TEXT NOT NULL,"
    "  quick INTEGER NOT NULL CHECK (quick IN (0, 1)),"
    "  seed INTEGER NOT NULL,"
    "  seconds REAL NOT NULL,"
    "  model_dir TEXT NOT NULL,"
    "  report TEXT NOT NULL CHECK (json_valid(report)),"
    "  CHECK (planted = '' OR verdict <> 'PASS')"
    ") STRICT;"
    "CREATE INDEX gate_run_model ON gate_run (trades, model_digest);"
    "CREATE TABLE gate_check ("
    "  run INTEGER NOT NULL REFERENCES gate_run (id),"
    "  evidence TEXT NOT NULL,"
    "  measure TEXT NOT NULL,"
    "  value REAL," /* NULL: not taken, or not a number */
    "  bound REAL NOT NULL,"
    "  coverage INTEGER NOT NULL,"
    "  state TEXT NOT NULL,"
    "  PRIMARY KEY (run, evidence, measure)"
    ") STRICT;";

/* Runs recorded before have none of it: empty says unknown. */
static const char version_2[] =
    "ALTER TABLE gate_run ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'"
    "  CHECK (json_valid(settings));"
    "ALTER TABLE gate_run ADD COLUMN corpus_digest TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE gate_run ADD COLUMN device TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE gate_run ADD COLUMN driver TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE gate_run ADD COLUMN record_digest TEXT NOT NULL DEFAULT ''"
    "  CHECK (length(record_digest) IN (0, 64));"
    "CREATE TABLE gate_evidence ("
    "  run INTEGER NOT NULL REFERENCES gate_run (id),"
    "  evidence TEXT NOT NULL,"
    "  taken TEXT NOT NULL CHECK (taken IN ('taken', 'not taken', 'not applicable')),"
    "  coverage INTEGER NOT NULL,"
    "  seconds REAL NOT NULL,"
    "  note TEXT NOT NULL,"
    "  PRIMARY KEY (run, evidence)"
    ") STRICT;";

/* steps[n] makes version n + 1 of version n. */
static const char *const steps[ASSAY_LEDGER_VERSION] = {version_1, version_2};

static assay_status refuse(const gate_ledger *ledger, const char *doing, struct assay_error *error)
{
    const char *text = sqlite3_errmsg(ledger->db);
    switch (sqlite3_errcode(ledger->db) & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return assay_ledger_refusal(ledger->db, ledger->path, error);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return assay_fail(error, ASSAY_E_IO, "ledger", ledger->path,
                          "%s: %s: the file and its folder must exist and be writable; "
                          "--ledger names another place",
                          doing, text);
    case SQLITE_BUSY:
        return assay_fail(error, ASSAY_E_IO, "ledger", ledger->path,
                          "%s: another process has held it for %d s", doing, BUSY_MS / 1000);
    default:
        return assay_fail(error, ASSAY_E_IO, "ledger", ledger->path, "%s: %s: nothing was recorded",
                          doing, text);
    }
}

static assay_status execute(gate_ledger *ledger, const char *sql, const char *doing,
                            struct assay_error *error)
{
    if (sqlite3_exec(ledger->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return refuse(ledger, doing, error);
    return ASSAY_OK;
}

/* First column of the first row. */
static assay_status query(gate_ledger *ledger, const char *sql, const char *doing, char *text,
                          size_t size, struct assay_error *error)
{
    sqlite3_stmt *statement = NULL;
    assay_status status = ASSAY_OK;
    text[0] = '\0';
    if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    else
        status = refuse(ledger, doing, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Makes the folders above path. One that exists is fine; what cannot be made shows when the file is
 * opened. */
static void make_folders(const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
}

/* A damaged file stays as it lies there: it is looked through by a connection that cannot write,
 * before one that can write is made (which might change its journal mode or empty its log). */
static assay_status look_through(const gate_ledger *ledger, struct assay_error *error)
{
    struct stat file;
    sqlite3 *db;
    int version;
    if (stat(ledger->path, &file) != 0 || file.st_size == 0)
        return ASSAY_OK; /* a new one, or a place that the next step refuses */
    struct assay_error found = {0};
    assay_status status = assay_ledger_open(ledger->path, &db, &version, &found);
    if (status == ASSAY_OK)
        status = assay_ledger_check(db, ledger->path, version, &found);
    assay_ledger_close(db);
    /* Permissions and locks: opening for writing says more about them. A file without tables is
     * new, and another process may be making them. */
    if (status == ASSAY_E_IO || status == ASSAY_E_NOT_FOUND)
        return ASSAY_OK;
    if (status != ASSAY_OK)
        *error = found;
    return status;
}

/* Inside a write transaction, so that of two processes that meet a new or an older file one makes
 * the tables and the other finds them. */
static assay_status make_tables(gate_ledger *ledger, struct assay_error *error)
{
    char version[32], application[32], tables[32], pragmas[128];
    TRY(query(ledger, "PRAGMA user_version", "reading", version, sizeof version, error));
    TRY(query(ledger, "PRAGMA application_id", "reading", application, sizeof application, error));
    TRY(query(ledger, "SELECT count(*) FROM sqlite_schema", "reading", tables, sizeof tables,
              error));
    int at = atoi(version);
    const bool fresh = atoi(application) == 0 && at == 0 && atoi(tables) == 0;
    if (!fresh && atoi(application) != ASSAY_LEDGER_APPLICATION)
        return assay_fail(error, ASSAY_E_CORRUPT, "ledger", ledger->path,
                          "is an SQLite file of another program: name another file");
    if (at > ASSAY_LEDGER_VERSION || (!fresh && at < 1))
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "ledger", ledger->path,
                          "has version %s, this build writes version %d: use the newer program or "
                          "name another file",
                          version, ASSAY_LEDGER_VERSION);
    if (at == ASSAY_LEDGER_VERSION)
        return ASSAY_OK;
    for (; at < ASSAY_LEDGER_VERSION; at++)
        TRY(execute(ledger, steps[at], "making its tables", error));
    snprintf(pragmas, sizeof pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d", at,
             ASSAY_LEDGER_APPLICATION);
    return execute(ledger, pragmas, "making its tables", error);
}

/* Changing the journal mode does not wait for other processes by itself. */
static assay_status use_log(gate_ledger *ledger, struct assay_error *error)
{
    char mode[32];
    for (int waited = 0;; waited += 20) {
        struct assay_error attempt = {0};
        const assay_status status =
            query(ledger, "PRAGMA journal_mode = WAL", "opening", mode, sizeof mode, &attempt);
        if (status == ASSAY_OK)
            break;
        if ((sqlite3_errcode(ledger->db) & 0xff) != SQLITE_BUSY || waited >= BUSY_MS)
            return refuse(ledger, "opening", error);
        sqlite3_sleep(20);
    }
    if (strcmp(mode, "wal") != 0)
        return assay_fail(error, ASSAY_E_IO, "ledger", ledger->path,
                          "this file system allows no write-ahead log: name another place");
    return ASSAY_OK;
}

static assay_status open_file(gate_ledger *ledger, struct assay_error *error)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    TRY(look_through(ledger, error));
    if (sqlite3_open_v2(ledger->path, &ledger->db, flags, NULL) != SQLITE_OK)
        return refuse(ledger, "opening", error);
    sqlite3_busy_timeout(ledger->db, BUSY_MS);
    TRY(execute(ledger, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE",
                "opening", error));
    const assay_status status = make_tables(ledger, error);
    if (status != ASSAY_OK) {
        (void)sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
        return status;
    }
    TRY(execute(ledger, "COMMIT", "opening", error));
    /* Last: it changes the file outside of any transaction, and what is refused stays as it was. */
    return use_log(ledger, error);
}

assay_status gate_ledger_open(const char *path, gate_ledger **ledger, struct assay_error *error)
{
    *ledger = NULL;
    gate_ledger *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "ledger", "ledger", "no memory");
    assay_status status = ASSAY_OK;
    if (path == NULL) {
        status = assay_ledger_default_path(opened->path, sizeof opened->path, error);
        if (status == ASSAY_OK)
            make_folders(opened->path);
    } else if (strlen(path) >= sizeof opened->path || path[0] == '\0') {
        status = assay_fail(error, ASSAY_E_ARG, "ledger", "path", "must have 1 to %d bytes",
                            PATH_BYTES - 1);
    } else {
        snprintf(opened->path, sizeof opened->path, "%s", path);
    }
    if (status == ASSAY_OK)
        status = open_file(opened, error);
    if (status != ASSAY_OK) {
        gate_ledger_close(opened);
        return status;
    }
    *ledger = opened;
    return ASSAY_OK;
}

void gate_ledger_close(gate_ledger *ledger)
{
    if (ledger == NULL)
        return;
    sqlite3_close(ledger->db);
    free(ledger);
}

const char *gate_ledger_path(const gate_ledger *ledger)
{
    return ledger->path;
}

/* ---- adding --------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

/* What a run was asked to do, as far as its result may depend on it. */
static char *format_settings(const struct gate_result *result)
{
    json_t *settings = json_pack("{s:b, s:I, s:i, s:s, s:s}", "quick", result->quick, "seed",
                                 (json_int_t)result->seed, "threads", result->threads, "policy",
                                 result->policy_file, "command", result->command);
    char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(settings);
    return text;
}

static assay_status add_run(gate_ledger *ledger, const struct gate_result *result,
                            const char *report, struct assay_error *error)
{
    static const char sql[] =
        "INSERT INTO gate_run (recorded, model_digest, trades, backend, isa, build_digest,"
        " policy_digest, expires, verdict, reason, planted, quick, seed, seconds, model_dir,"
        " report, corpus_digest, device, driver, settings)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,"
        " ?19, ?20)";
    const struct assay_gate_key *key = &result->key;
    char *settings = format_settings(result);
    sqlite3_stmt *s = NULL;
    bool good = sqlite3_prepare_v2(ledger->db, sql, -1, &s, NULL) == SQLITE_OK;
    if (settings == NULL) {
        sqlite3_finalize(s);
        return assay_fail(error, ASSAY_E_MEMORY, "ledger", "settings", "no memory");
    }
    if (good) {
        bind_text(s, 1, result->recorded);
        bind_text(s, 2, key->model);
        bind_text(s, 3, key->trades);
        bind_text(s, 4, key->backend);
        bind_text(s, 5, key->isa);
        bind_text(s, 6, key->build);
        bind_text(s, 7, result->policy.digest);
        bind_text(s, 8, result->policy.expires);
        bind_text(s, 9, gate_verdict_name(result->verdict));
        bind_text(s, 10, result->reason);
        bind_text(s, 11, result->plant);
        sqlite3_bind_int(s, 12, result->quick);
        sqlite3_bind_int64(s, 13, (sqlite3_int64)result->seed);
        sqlite3_bind_double(s, 14, result->seconds);
        bind_text(s, 15, result->model_dir);
        bind_text(s, 16, report);
        bind_text(s, 17, result->corpus);
        bind_text(s, 18, result->device);
        bind_text(s, 19, result->driver);
        bind_text(s, 20, settings);
        good = sqlite3_step(s) == SQLITE_DONE;
    }
    const assay_status status = good ? ASSAY_OK : refuse(ledger, "recording the run", error);
    sqlite3_finalize(s);
    free(settings);
    return status;
}

static assay_status add_check(gate_ledger *ledger, sqlite3_stmt *s,
                              const struct gate_result *result, int limit, int64_t run,
                              struct assay_error *error)
{
    const struct gate_limit_row *row = &gate_limit_rows[limit];
    const struct gate_item *item = &result->item[row->evidence];
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    sqlite3_bind_int64(s, 1, run);
    bind_text(s, 2, gate_evidence_rows[row->evidence].name);
    bind_text(s, 3, row->key);
    if (item->taken == GATE_TAKEN)
        sqlite3_bind_double(s, 4, result->measured[limit]);
    sqlite3_bind_double(s, 5, result->policy.limit[limit]);
    sqlite3_bind_int64(s, 6, (sqlite3_int64)item->coverage);
    bind_text(s, 7, gate_state_name(result->state[limit]));
    return sqlite3_step(s) == SQLITE_DONE ? ASSAY_OK
                                          : refuse(ledger, "recording the evidence", error);
}

static assay_status add_checks(gate_ledger *ledger, const struct gate_result *result, int64_t run,
                               struct assay_error *error)
{
    static const char sql[] = "INSERT INTO gate_check (run, evidence, measure, value, bound,"
                              " coverage, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    sqlite3_stmt *s = NULL;
    assay_status status = ASSAY_OK;
    if (sqlite3_prepare_v2(ledger->db, sql, -1, &s, NULL) != SQLITE_OK)
        status = refuse(ledger, "recording the evidence", error);
    for (int i = 0; i < GATE_NUM_LIMITS && status == ASSAY_OK; i++)
        status = add_check(ledger, s, result, i, run, error);
    sqlite3_finalize(s);
    return status;
}

static assay_status add_evidence(gate_ledger *ledger, const struct gate_result *result, int64_t run,
                                 struct assay_error *error)
{
    static const char *const taken[] = {[GATE_NOT_TAKEN] = "not taken",
                                        [GATE_TAKEN] = "taken",
                                        [GATE_NOT_APPLICABLE] = "not applicable"};
    static const char sql[] = "INSERT INTO gate_evidence (run, evidence, taken, coverage, seconds,"
                              " note) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    sqlite3_stmt *s = NULL;
    bool good = sqlite3_prepare_v2(ledger->db, sql, -1, &s, NULL) == SQLITE_OK;
    for (int e = 0; e < GATE_NUM_EVIDENCE && good; e++) {
        const struct gate_item *item = &result->item[e];
        sqlite3_reset(s);
        sqlite3_bind_int64(s, 1, run);
        bind_text(s, 2, gate_evidence_rows[e].name);
        bind_text(s, 3, taken[item->taken]);
        sqlite3_bind_int64(s, 4, (sqlite3_int64)item->coverage);
        sqlite3_bind_double(s, 5, item->seconds);
        bind_text(s, 6, item->note);
        good = sqlite3_step(s) == SQLITE_DONE;
    }
    const assay_status status = good ? ASSAY_OK : refuse(ledger, "recording the evidence", error);
    sqlite3_finalize(s);
    return status;
}

/* Over all that the transaction has written of the run. */
static assay_status add_digest(gate_ledger *ledger, int64_t run, struct assay_error *error)
{
    char digest[65];
    sqlite3_stmt *s = NULL;
    TRY(assay_ledger_record_digest(ledger->db, run, digest, error));
    bool good =
        sqlite3_prepare_v2(ledger->db, "UPDATE gate_run SET record_digest = ?1 WHERE id = ?2", -1,
                           &s, NULL) == SQLITE_OK;
    if (good) {
        bind_text(s, 1, digest);
        sqlite3_bind_int64(s, 2, run);
        good = sqlite3_step(s) == SQLITE_DONE;
    }
    const assay_status status = good ? ASSAY_OK : refuse(ledger, "recording the digest", error);
    sqlite3_finalize(s);
    return status;
}

assay_status gate_ledger_add(gate_ledger *ledger, const struct gate_result *result,
                             const char *report, int64_t *id, struct assay_error *error)
{
    *id = 0;
    if (result->plant[0] != '\0' && result->verdict == GATE_PASS)
        return assay_fail(error, ASSAY_E_ARG, "ledger", "verdict",
                          "a run with a planted fault (%s) must not be recorded as PASS",
                          result->plant);
    TRY(execute(ledger, "BEGIN IMMEDIATE", "recording the run", error));
    assay_status status = add_run(ledger, result, report, error);
    if (status == ASSAY_OK) {
        *id = sqlite3_last_insert_rowid(ledger->db);
        status = add_checks(ledger, result, *id, error);
    }
    if (status == ASSAY_OK)
        status = add_evidence(ledger, result, *id, error);
    if (status == ASSAY_OK)
        status = add_digest(ledger, *id, error);
    if (status == ASSAY_OK)
        status = execute(ledger, "COMMIT", "recording the run", error);
    if (status != ASSAY_OK && !sqlite3_get_autocommit(ledger->db))
        (void)sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
