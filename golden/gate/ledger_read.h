/* SPDX-License-Identifier: MIT
 *
 * Reading the ledger: runs as JSON objects, the same for every command that shows them.
 */
#ifndef LEDGER_READ_H
#define LEDGER_READ_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <assay/ledger.h>
#include <assay/status.h>

struct ledger_reader {
    struct sqlite3 *db;
    int version;
    char path[4096];
};

/* path NULL: the default place. Errors as assay_ledger_open. Never writes. */
ASSAY_MUST_USE assay_status ledger_reader_open(const char *path, struct ledger_reader *reader,
                                               struct assay_error *error);
void ledger_reader_close(struct ledger_reader *reader);
/* The number of a run: "7", or "LAST" for the newest. ASSAY_E_USAGE, ASSAY_E_NOT_FOUND. */
ASSAY_MUST_USE assay_status ledger_find(const struct ledger_reader *reader, const char *name,
                                        int64_t *run, struct assay_error *error);
/* One run with evidence, limits and report. "record" says whether it is what was recorded:
 * "whole", "damaged", or "no digest" (of version 1). */
ASSAY_MUST_USE assay_status ledger_load(const struct ledger_reader *reader, int64_t run,
                                        json_t **object, struct assay_error *error);
/* All runs, oldest first, without evidence and report. A file that is damaged gives what can be
 * read of it and the error that says so. */
ASSAY_MUST_USE assay_status ledger_list(const struct ledger_reader *reader, json_t **runs,
                                        struct assay_error *error);

/* What a caller wants to know of runs already done. */
struct ledger_query {
    const char *model, *trades, *backend, *isa;
    const char *build, *policy, *corpus; /* NULL: any */
    int64_t seed;                        /* < 0: any */
    int quick;                           /* 0, 1; < 0: any */
    int64_t before;                      /* only runs with smaller numbers; 0: any */
};
/* The newest such run that was not planted; 0 when there is none. */
ASSAY_MUST_USE assay_status ledger_newest(const struct ledger_reader *reader,
                                          const struct ledger_query *query, int64_t *run,
                                          struct assay_error *error);

/* ---- ledger_diff.c -------------------------------------------------------------------------- */

/* {"a", "b", "changed": [{"group", "name", "a", "b", "relative_change"}], "same"}; NULL when out of
 * memory. Groups: run, settings, digests, machine, verdict, measurements, durations. */
json_t *ledger_diff(const json_t *a, const json_t *b);
void ledger_diff_print(const json_t *diff, FILE *out);
/* Of a newer run b against a: 1 where a limit was met and is not now, or where a measurement came
 * nearer to its limit by more than a hundredth of it. Prints each. */
int ledger_regressions(const json_t *a, const json_t *b, FILE *out);

#endif
