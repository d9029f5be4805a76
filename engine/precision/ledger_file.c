/* SPDX-License-Identifier: MIT
 *
 * The ledger's file: read-only opening, digests of records, damage in words. The tables are
 * described in golden/gate/gate_ledger.c.
 */
#include <assay/ledger.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "core/core.h"

#define WHERE "ledger"

enum { BUSY_MS = 10000, LONGEST_VALUE = 64 << 20 };

/* Ends every message about a damaged file. */
#define WAY_OUT                                                                                  \
    "nothing was written to it. `assay ledger export` saves the runs that are whole; then move " \
    "it away, or name another file with --ledger"

assay_status assay_ledger_refusal(sqlite3 *db, const char *path, struct assay_error *error)
{
    const int code = sqlite3_errcode(db) & 0xff;
    /* SQLITE_ERROR: of a statement that every sound ledger takes. */
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR)
        return assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                          "is not a sound SQLite file (%.160s): " WAY_OUT, sqlite3_errmsg(db));
    return assay_fail(error, ASSAY_E_IO, WHERE, path, "cannot be read: %s", sqlite3_errmsg(db));
}

/* ---- opening -------------------------------------------------------------------------------- */

static assay_status read_pragma(sqlite3 *db, const char *path, const char *sql, int *value,
                                struct assay_error *error)
{
    sqlite3_stmt *statement = NULL;
    *value = 0;
    bool good = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    if (good)
        *value = sqlite3_column_int(statement, 0);
    const assay_status status = good ? ASSAY_OK : assay_ledger_refusal(db, path, error);
    sqlite3_finalize(statement);
    return status;
}

/* A file from elsewhere may hold a schema that computes for ever, or reaches code that no ledger
 * needs: views, triggers and virtual tables are the entries without a page of their own. */
static assay_status check_schema(sqlite3 *db, const char *path, struct assay_error *error)
{
    int strange;
    ASSAY_TRY(read_pragma(
        db, path, "SELECT count(*) FROM sqlite_schema WHERE rootpage IS NULL OR rootpage < 1",
        &strange, error));
    if (strange != 0)
        return assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                          "holds views, triggers or virtual tables, which no ledger has: " WAY_OUT);
    return ASSAY_OK;
}

/* All in one statement, and so of one moment: another process may be making the file. */
static assay_status read_identity(sqlite3 *db, const char *path, int *application, int *version,
                                  bool *is_fresh, struct assay_error *error)
{
    static const char sql[] =
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema), page_count "
        "FROM pragma_application_id, pragma_user_version, pragma_page_count";
    sqlite3_stmt *statement = NULL;
    const bool good = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                      sqlite3_step(statement) == SQLITE_ROW;
    if (good) {
        *application = sqlite3_column_int(statement, 0);
        *version = sqlite3_column_int(statement, 1);
        *is_fresh = *application == 0 && *version == 0 && sqlite3_column_int(statement, 2) == 0 &&
                    sqlite3_column_int(statement, 3) == 1;
    }
    const assay_status status = good ? ASSAY_OK : assay_ledger_refusal(db, path, error);
    sqlite3_finalize(statement);
    return status;
}

static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    const bool sound =
        sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    sqlite3_finalize(statement);
    return sound;
}

static assay_status check_version(sqlite3 *db, const char *path, int *version,
                                  struct assay_error *error)
{
    int application = 0;
    bool is_fresh = false;
    ASSAY_TRY(read_identity(db, path, &application, version, &is_fresh, error));
    if (is_fresh && is_sound(db))
        return assay_fail(error, ASSAY_E_NOT_FOUND, WHERE, path,
                          "is empty: no gate has been recorded in it");
    if (application != ASSAY_LEDGER_APPLICATION)
        return assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                          "is an SQLite file of another program: name another file");
    if (*version < 1 || *version > ASSAY_LEDGER_VERSION)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, WHERE, path,
                          "has version %d, this build knows versions 1 to %d: use the newer "
                          "program or name another file",
                          *version, ASSAY_LEDGER_VERSION);
    return check_schema(db, path, error);
}

/* What the file may make SQLite do while it is read: no function beyond arithmetic and text in its
 * schema, no value that a function blows up, sizes of cells checked. */
static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    (void)sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
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

static assay_status open_file(const char *path, sqlite3 **db, int *version,
                              struct assay_error *error)
{
    struct assay_error first = {0};
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return assay_ledger_refusal(*db, path, error);
    sqlite3_busy_timeout(*db, BUSY_MS);
    distrust(*db);
    if (read_pragma(*db, path, "PRAGMA user_version", version, &first) == ASSAY_OK)
        return check_version(*db, path, version, error);
    if ((sqlite3_errcode(*db) & 0xff) != SQLITE_CANTOPEN || !open_immutable(path, db))
        return assay_ledger_refusal(*db, path, error);
    distrust(*db);
    return check_version(*db, path, version, error);
}

assay_status assay_ledger_open(const char *path, sqlite3 **db, int *version,
                               struct assay_error *error)
{
    *db = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return assay_fail(error, ASSAY_E_NOT_FOUND, WHERE, path,
                          "there is no ledger: assay gate makes it, --ledger names another one");
    const assay_status status = open_file(path, db, version, error);
    if (status != ASSAY_OK) {
        sqlite3_close(*db);
        *db = NULL;
    }
    return status;
}

void assay_ledger_close(sqlite3 *db)
{
    sqlite3_close(db);
}

/* ---- digests -------------------------------------------------------------------------------- */

static void add_bytes(crypto_generichash_state *hash, const void *data, size_t bytes)
{
    const uint64_t length = bytes;
    crypto_generichash_update(hash, (const unsigned char *)&length, sizeof length);
    crypto_generichash_update(hash, data == NULL ? (const void *)"" : data, bytes);
}

static void add_column(crypto_generichash_state *hash, sqlite3_stmt *row, int column)
{
    const unsigned char type = (unsigned char)sqlite3_column_type(row, column);
    add_bytes(hash, &type, 1);
    if (type == SQLITE_INTEGER) {
        const int64_t value = sqlite3_column_int64(row, column);
        add_bytes(hash, &value, sizeof value);
    } else if (type == SQLITE_FLOAT) {
        const double value = sqlite3_column_double(row, column);
        add_bytes(hash, &value, sizeof value);
    } else if (type != SQLITE_NULL) {
        const void *value = sqlite3_column_blob(row, column);
        add_bytes(hash, value, (size_t)sqlite3_column_bytes(row, column));
    }
}

/* In the order of a key, so that the digest does not depend on how rows lie in the file. */
static const char *const parts[] = {
    "SELECT id, recorded, model_digest, trades, backend, isa, build_digest, policy_digest, expires,"
    " verdict, reason, planted, quick, seed, seconds, model_dir, report, settings, corpus_digest,"
    " device, driver FROM gate_run WHERE id = ?1",
    "SELECT evidence, measure, value, bound, coverage, state FROM gate_check WHERE run = ?1"
    " ORDER BY evidence, measure",
    "SELECT evidence, taken, coverage, seconds, note FROM gate_evidence WHERE run = ?1"
    " ORDER BY evidence",
};

/* The result code of SQLite; SQLITE_NOTFOUND when there is no such run. */
static int hash_part(sqlite3 *db, const char *sql, int64_t run, crypto_generichash_state *hash,
                     int *rows)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    *rows = 0;
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, run);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++)
            add_column(hash, row, i);
        ++*rows;
        code = SQLITE_OK;
    }
    sqlite3_finalize(row);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

assay_status assay_ledger_record_digest(sqlite3 *db, int64_t run, char digest[65],
                                        struct assay_error *error)
{
    unsigned char bytes[32];
    crypto_generichash_state hash;
    digest[0] = '\0';
    if (sodium_init() < 0 || crypto_generichash_init(&hash, NULL, 0, sizeof bytes) != 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int rows;
        if (hash_part(db, parts[i], run, &hash, &rows) != SQLITE_OK)
            return assay_ledger_refusal(db, sqlite3_db_filename(db, "main"), error);
        if (i == 0 && rows == 0)
            return assay_fail(error, ASSAY_E_NOT_FOUND, WHERE, "run", "there is no run %lld",
                              (long long)run);
        add_bytes(&hash, &rows, sizeof rows);
    }
    crypto_generichash_final(&hash, bytes, sizeof bytes);
    sodium_bin2hex(digest, 65, bytes, sizeof bytes);
    return ASSAY_OK;
}

/* ---- damage --------------------------------------------------------------------------------- */

static assay_status recorded_digest(sqlite3 *db, const char *path, int64_t run, char digest[65],
                                    struct assay_error *error)
{
    sqlite3_stmt *row = NULL;
    bool good = sqlite3_prepare_v2(db, "SELECT record_digest FROM gate_run WHERE id = ?1", -1, &row,
                                   NULL) == SQLITE_OK;
    digest[0] = '\0';
    if (good) {
        sqlite3_bind_int64(row, 1, run);
        good = sqlite3_step(row) == SQLITE_ROW;
    }
    const unsigned char *text = good ? sqlite3_column_text(row, 0) : NULL;
    /* What is too long to be a digest is none: it must not be cut into one. */
    if (text != NULL)
        snprintf(digest, 65, "%s", strlen((const char *)text) > 64 ? "?" : (const char *)text);
    const assay_status status = good ? ASSAY_OK : assay_ledger_refusal(db, path, error);
    sqlite3_finalize(row);
    return status;
}

assay_status assay_ledger_check_record(sqlite3 *db, const char *path, int version, int64_t run,
                                       struct assay_error *error)
{
    char recorded[65], found[65];
    if (version < 2)
        return ASSAY_OK;
    ASSAY_TRY(recorded_digest(db, path, run, recorded, error));
    if (recorded[0] == '\0')
        return ASSAY_OK;
    ASSAY_TRY(assay_ledger_record_digest(db, run, found, error));
    if (strcmp(recorded, found) != 0)
        return assay_fail(
            error, ASSAY_E_CORRUPT, WHERE, path,
            "is damaged (run %lld is not what was recorded: its digest differs): " WAY_OUT,
            (long long)run);
    return ASSAY_OK;
}

static assay_status check_integrity(sqlite3 *db, const char *path, struct assay_error *error)
{
    sqlite3_stmt *row = NULL;
    assay_status status = ASSAY_OK;
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &row, NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW) {
        status = assay_ledger_refusal(db, path, error);
    } else {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        if (text == NULL || strcmp(text, "ok") != 0)
            status = assay_fail(error, ASSAY_E_CORRUPT, WHERE, path,
                                "is damaged (%.160s): " WAY_OUT, text == NULL ? "?" : text);
    }
    sqlite3_finalize(row);
    return status;
}

assay_status assay_ledger_check(sqlite3 *db, const char *path, int version,
                                struct assay_error *error)
{
    sqlite3_stmt *row = NULL;
    int code;
    ASSAY_TRY(check_integrity(db, path, error));
    code = sqlite3_prepare_v2(db, "SELECT id FROM gate_run ORDER BY id", -1, &row, NULL);
    assay_status status = ASSAY_OK;
    while (code == SQLITE_OK && status == ASSAY_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        status = assay_ledger_check_record(db, path, version, sqlite3_column_int64(row, 0), error);
        code = SQLITE_OK;
    }
    if (status == ASSAY_OK && code != SQLITE_OK && code != SQLITE_DONE)
        status = assay_ledger_refusal(db, path, error);
    sqlite3_finalize(row);
    return status;
}
