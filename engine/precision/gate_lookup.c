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

#include <assay/ledger.h>

#include "core/core.h"

/* One row of gate_run, as far as the decision needs it. */
struct record {
    int64_t id;
    char model[65], backend[16], isa[96], build[65], policy[65];
    char verdict[16], recorded[32], expires[16];
};

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
    record->id = sqlite3_column_int64(statement, 8);
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
    static const char sql[] = "SELECT model_digest, backend, isa, build_digest, policy_digest, "
                              "verdict, recorded, expires, id"
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
    const assay_status status = good ? ASSAY_OK : assay_ledger_refusal(db, path, error);
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
    int version;
    assay_status status = assay_ledger_open(file, &db, &version, error);
    if (status == ASSAY_OK)
        status = find_record(db, file, &key, &record, &num_differences, error);
    /* A flipped bit of the record that decides must not decide. */
    if (status == ASSAY_OK && num_differences == 0)
        status = assay_ledger_check_record(db, file, version, record.id, error);
    if (status == ASSAY_OK)
        decide(&record, num_differences, &key, passes, reason, size);
    assay_ledger_close(db);
    return status;
}
