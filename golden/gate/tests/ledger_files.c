/* SPDX-License-Identifier: MIT
 *
 * Ledgers on disk. The tables of version 1 are written down here once more: what that version left
 * on people's disks does not change with the code.
 */
#include "ledger_files.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "gate_ledger.h"
#include "gate_sample.h"

char ledger_path[128];
static char folder[64];

static const char version_1[] =
    "CREATE TABLE gate_run ("
    "  id INTEGER PRIMARY KEY, recorded TEXT NOT NULL,"
    "  model_digest TEXT NOT NULL CHECK (length(model_digest) = 64),"
    "  trades TEXT NOT NULL, backend TEXT NOT NULL, isa TEXT NOT NULL,"
    "  build_digest TEXT NOT NULL CHECK (length(build_digest) = 64),"
    "  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),"
    "  expires TEXT NOT NULL CHECK (length(expires) = 10),"
    "  verdict TEXT NOT NULL CHECK (verdict IN ('PASS', 'FAIL', 'INCONCLUSIVE')),"
    "  reason TEXT NOT NULL, planted TEXT NOT NULL,"
    "  quick INTEGER NOT NULL CHECK (quick IN (0, 1)), seed INTEGER NOT NULL,"
    "  seconds REAL NOT NULL, model_dir TEXT NOT NULL,"
    "  report TEXT NOT NULL CHECK (json_valid(report)),"
    "  CHECK (planted = '' OR verdict <> 'PASS')) STRICT;"
    "CREATE INDEX gate_run_model ON gate_run (trades, model_digest);"
    "CREATE TABLE gate_check ("
    "  run INTEGER NOT NULL REFERENCES gate_run (id), evidence TEXT NOT NULL,"
    "  measure TEXT NOT NULL, value REAL, bound REAL NOT NULL, coverage INTEGER NOT NULL,"
    "  state TEXT NOT NULL, PRIMARY KEY (run, evidence, measure)) STRICT;"
    "PRAGMA user_version = 1; PRAGMA application_id = 1095975257; PRAGMA journal_mode = WAL;";

void ledger_files_make(void)
{
    strcpy(folder, "/tmp/assay-ledger-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(ledger_path, sizeof ledger_path, "%s/ledger.sqlite", folder);
}

void ledger_files_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
}

void ledger_sql(const char *sql)
{
    sqlite3 *db;
    cr_assert(sqlite3_open(ledger_path, &db) == SQLITE_OK);
    cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
              sqlite3_errmsg(db));
    sqlite3_close(db);
}

int64_t ledger_ask(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    cr_assert(sqlite3_open(ledger_path, &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

assay_status ledger_record(const struct gate_result *result, int times, struct assay_error *error)
{
    gate_ledger *ledger;
    int64_t id;
    assay_status status = gate_ledger_open(ledger_path, &ledger, error);
    for (int i = 0; i < times && status == ASSAY_OK; i++)
        status = gate_ledger_add(ledger, result,
                                 "{\"losses\": [{\"text\": \"prose\", \"mean\": 2}]}", &id, error);
    gate_ledger_close(ledger);
    return status;
}

void ledger_make_version_1(int runs)
{
    struct gate_result *sample = sample_result();
    const struct assay_gate_key *key = &sample->key;
    ledger_sql(version_1);
    for (int i = 0; i < runs; i++) {
        char *sql = sqlite3_mprintf(
            "INSERT INTO gate_run (recorded, model_digest, trades, backend, isa, build_digest,"
            " policy_digest, expires, verdict, reason, planted, quick, seed, seconds, model_dir,"
            " report) VALUES (%Q, %Q, %Q, %Q, %Q, %Q, %Q, %Q, 'PASS', 'old run %d', '', 0, 1, 2.5,"
            " 'models/old', '{\"format\": 1}'); INSERT INTO gate_check VALUES"
            " (%d, 'drift', 'relative_error_most', 0.001, 0.005, 7, 'met')",
            sample->recorded, key->model, key->trades, key->backend, key->isa, key->build,
            key->policy, sample->policy.expires, i + 1, i + 1);
        ledger_sql(sql);
        sqlite3_free(sql);
    }
    free(sample);
}

uint8_t *ledger_bytes(size_t *size)
{
    FILE *file = fopen(ledger_path, "rb");
    cr_assert(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    uint8_t *bytes = malloc(*size + 1);
    rewind(file);
    cr_assert(bytes != NULL && fread(bytes, 1, *size, file) == *size && fclose(file) == 0);
    return bytes;
}

void ledger_write_bytes(const uint8_t *bytes, size_t size)
{
    char other[160];
    static const char *const ends[] = {"-wal", "-shm"};
    for (int i = 0; i < 2; i++) {
        snprintf(other, sizeof other, "%s%s", ledger_path, ends[i]);
        (void)remove(other);
    }
    FILE *file = fopen(ledger_path, "wb");
    cr_assert(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}
