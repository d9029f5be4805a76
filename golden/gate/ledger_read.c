/* SPDX-License-Identifier: MIT
 *
 * Reading the ledger. A run is a JSON object of its columns; columns that its version did not have
 * are absent.
 */
#include "ledger_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include <assay/gate_record.h>

#include "gate_try.h"

assay_status ledger_reader_open(const char *path, struct ledger_reader *reader,
                                struct assay_error *error)
{
    *reader = (struct ledger_reader){.db = NULL};
    if (path == NULL)
        TRY(assay_ledger_default_path(reader->path, sizeof reader->path, error));
    else
        snprintf(reader->path, sizeof reader->path, "%s", path);
    return assay_ledger_open(reader->path, &reader->db, &reader->version, error);
}

void ledger_reader_close(struct ledger_reader *reader)
{
    assay_ledger_close(reader->db);
    reader->db = NULL;
}

static assay_status refuse(const struct ledger_reader *reader, struct assay_error *error)
{
    return assay_ledger_refusal(reader->db, reader->path, error);
}

/* ---- rows as objects ------------------------------------------------------------------------ */

static json_t *column(sqlite3_stmt *row, int i)
{
    json_t *value = NULL;
    switch (sqlite3_column_type(row, i)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(row, i));
    case SQLITE_FLOAT:
        value = json_real(sqlite3_column_double(row, i));
        break; /* NULL: no JSON has infinity */
    case SQLITE_TEXT:
        value = json_string((const char *)sqlite3_column_text(row, i));
        break; /* NULL: not UTF-8, in a damaged record */
    default:
        break;
    }
    return value == NULL ? json_null() : value;
}

/* SQLite reports a column by the schema's spelling, where the case may be damage; the code's names
 * are in lower case. */
static void set_column(json_t *object, sqlite3_stmt *row, int i)
{
    char name[64];
    snprintf(name, sizeof name, "%s", sqlite3_column_name(row, i));
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    json_object_set_new(object, name, column(row, i));
}

/* The rows of a query with one parameter, the run. */
static assay_status read_rows(const struct ledger_reader *reader, const char *sql, int64_t run,
                              json_t **rows, struct assay_error *error)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL);
    *rows = json_array();
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(row) > 0)
        code = sqlite3_bind_int64(row, 1, run);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        json_t *object = json_object();
        for (int i = 0; i < sqlite3_column_count(row); i++)
            set_column(object, row, i);
        json_array_append_new(*rows, object);
        code = SQLITE_OK;
    }
    const bool good = code == SQLITE_OK || code == SQLITE_DONE;
    const assay_status status = good ? ASSAY_OK : refuse(reader, error);
    sqlite3_finalize(row);
    return status;
}

#define COLUMNS                                                                      \
    "id, recorded, verdict, reason, trades, model_dir, model_digest, backend, isa, " \
    "build_digest, policy_digest, expires, planted, quick, seed, seconds"

/* The text of a member becomes the JSON that it spells; a damaged one stays text. */
static void expand(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    json_t *value = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (value != NULL)
        json_object_set_new(object, key, value);
}

static void judge_record(const struct ledger_reader *reader, int64_t run, json_t *object)
{
    const char *digest = json_string_value(json_object_get(object, "record_digest"));
    const char *word = "whole";
    if (assay_ledger_check_record(reader->db, reader->path, reader->version, run, NULL) != ASSAY_OK)
        word = "damaged";
    else if (digest == NULL || digest[0] == '\0')
        word = "no digest";
    json_object_set_new(object, "record", json_string(word));
}

assay_status ledger_load(const struct ledger_reader *reader, int64_t run, json_t **object,
                         struct assay_error *error)
{
    json_t *rows = NULL, *checks = NULL, *evidence = NULL;
    *object = NULL;
    assay_status status =
        read_rows(reader,
                  reader->version < 2 ? "SELECT " COLUMNS ", report FROM gate_run WHERE id = ?1"
                                      : "SELECT " COLUMNS
                                        ", corpus_digest, device, driver, record_digest, settings,"
                                        " report FROM gate_run WHERE id = ?1",
                  run, &rows, error);
    if (status == ASSAY_OK && json_array_size(rows) == 0)
        status = assay_fail(error, ASSAY_E_NOT_FOUND, "ledger", reader->path,
                            "holds no run %lld: `assay ledger list` shows what there is",
                            (long long)run);
    if (status == ASSAY_OK)
        status = read_rows(reader,
                           "SELECT evidence, measure, value, bound, coverage, state FROM gate_check"
                           " WHERE run = ?1 ORDER BY rowid",
                           run, &checks, error);
    if (status == ASSAY_OK && reader->version >= 2)
        status = read_rows(reader,
                           "SELECT evidence, taken, coverage, seconds, note FROM gate_evidence"
                           " WHERE run = ?1 ORDER BY rowid",
                           run, &evidence, error);
    if (status == ASSAY_OK) {
        *object = json_incref(json_array_get(rows, 0));
        json_object_set(*object, "checks", checks);
        if (evidence != NULL)
            json_object_set(*object, "evidence", evidence);
        expand(*object, "settings");
        expand(*object, "report");
        judge_record(reader, run, *object);
    }
    json_decref(rows);
    json_decref(checks);
    json_decref(evidence);
    return status;
}

assay_status ledger_list(const struct ledger_reader *reader, json_t **runs,
                         struct assay_error *error)
{
    size_t i;
    json_t *run;
    const char *sql = reader->version < 2 ? "SELECT " COLUMNS " FROM gate_run ORDER BY id"
                                          : "SELECT " COLUMNS
                                            ", corpus_digest, device, driver, record_digest,"
                                            " settings FROM gate_run ORDER BY id";
    assay_status status = read_rows(reader, sql, 0, runs, error);
    json_array_foreach(*runs, i, run)
    {
        expand(run, "settings");
        judge_record(reader, json_integer_value(json_object_get(run, "id")), run);
    }
    if (status == ASSAY_OK)
        status = assay_ledger_check(reader->db, reader->path, reader->version, error);
    return status;
}

/* ---- finding -------------------------------------------------------------------------------- */

assay_status ledger_find(const struct ledger_reader *reader, const char *name, int64_t *run,
                         struct assay_error *error)
{
    char *end = NULL;
    json_t *rows;
    const bool last = strcmp(name, "LAST") == 0;
    errno = 0;
    *run = last ? 0 : strtoll(name, &end, 10);
    if (!last && (end == name || *end != '\0' || errno != 0 || *run < 1))
        return assay_fail(error, ASSAY_E_USAGE, "ledger", name,
                          "must be the number of a run, or LAST");
    const assay_status status = read_rows(reader,
                                          last ? "SELECT max(id) AS id FROM gate_run"
                                               : "SELECT id FROM gate_run WHERE id = ?1",
                                          *run, &rows, error);
    *run = json_integer_value(json_object_get(json_array_get(rows, 0), "id"));
    json_decref(rows);
    TRY(status);
    if (*run == 0)
        return assay_fail(error, ASSAY_E_NOT_FOUND, "ledger", reader->path,
                          "holds no run %.32s: `assay ledger list` shows what there is", name);
    return ASSAY_OK;
}

static void bind_text(sqlite3_stmt *row, int index, const char *text)
{
    if (text != NULL)
        sqlite3_bind_text(row, index, text, -1, SQLITE_STATIC);
}

assay_status ledger_newest(const struct ledger_reader *reader, const struct ledger_query *query,
                           int64_t *run, struct assay_error *error)
{
    /* Version 1 knew no corpus: such a run answers no question about one. */
    const bool unknown = query->corpus != NULL && reader->version < 2;
    const char *sql =
        reader->version < 2
            ? "SELECT id FROM gate_run WHERE planted = '' AND model_digest = ?1 AND trades = ?2"
              " AND backend = ?3 AND isa = ?4 AND (?5 IS NULL OR build_digest = ?5)"
              " AND (?6 IS NULL OR policy_digest = ?6) AND (?8 < 0 OR seed = ?8)"
              " AND (?9 < 0 OR quick = ?9) AND (?10 = 0 OR id < ?10) ORDER BY id DESC LIMIT 1"
            : "SELECT id FROM gate_run WHERE planted = '' AND model_digest = ?1 AND trades = ?2"
              " AND backend = ?3 AND isa = ?4 AND (?5 IS NULL OR build_digest = ?5)"
              " AND (?6 IS NULL OR policy_digest = ?6) AND (?7 IS NULL OR corpus_digest = ?7)"
              " AND (?8 < 0 OR seed = ?8) AND (?9 < 0 OR quick = ?9)"
              " AND (?10 = 0 OR id < ?10) ORDER BY id DESC LIMIT 1";
    sqlite3_stmt *row = NULL;
    *run = 0;
    if (unknown)
        return ASSAY_OK;
    int code = sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL);
    if (code == SQLITE_OK) {
        bind_text(row, 1, query->model);
        bind_text(row, 2, query->trades);
        bind_text(row, 3, query->backend);
        bind_text(row, 4, query->isa);
        bind_text(row, 5, query->build);
        bind_text(row, 6, query->policy);
        bind_text(row, 7, query->corpus);
        sqlite3_bind_int64(row, 8, query->seed);
        sqlite3_bind_int(row, 9, query->quick);
        sqlite3_bind_int64(row, 10, query->before);
        code = sqlite3_step(row);
        if (code == SQLITE_ROW)
            *run = sqlite3_column_int64(row, 0);
    }
    const bool good = code == SQLITE_ROW || code == SQLITE_DONE;
    const assay_status status = good ? ASSAY_OK : refuse(reader, error);
    sqlite3_finalize(row);
    return status;
}
