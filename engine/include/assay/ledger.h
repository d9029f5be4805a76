/* SPDX-License-Identifier: MIT
 *
 * The ledger as a file: opening it to read, what makes a record whole, what is said of a damaged
 * one. Who writes records (golden/gate) and who asks for one (gate_record.h) share it.
 *
 * Versions: 1 has the tables gate_run and gate_check. 2 adds to gate_run settings, corpus_digest,
 * device, driver and record_digest, and the table gate_evidence. A program reads all versions up to
 * its own; opening for writing raises the version.
 */
#ifndef ASSAY_LEDGER_H
#define ASSAY_LEDGER_H

#include <stdint.h>

#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the ledger's tables, in its user_version; and the mark in its application_id ("ASAY"). */
#define ASSAY_LEDGER_VERSION     2
#define ASSAY_LEDGER_APPLICATION 0x41534159

struct sqlite3;

/* Opens the file to read, also where its folder cannot be written. *db is NULL on failure.
 * ASSAY_E_NOT_FOUND, ASSAY_E_IO, ASSAY_E_CORRUPT (no SQLite file, another program's),
 * ASSAY_E_UNSUPPORTED (a version above this program's). */
ASSAY_MUST_USE assay_status assay_ledger_open(const char *path, struct sqlite3 **db, int *version,
                                              struct assay_error *error);
void assay_ledger_close(struct sqlite3 *db);
/* What the last failed call of SQLite means for the user. */
assay_status assay_ledger_refusal(struct sqlite3 *db, const char *path, struct assay_error *error);

/* BLAKE2b-256 over all that was recorded of a run (not the digest itself), with types and lengths:
 * SQLite has no checksums, and a flipped bit of a number is as sound a file as before. */
ASSAY_MUST_USE assay_status assay_ledger_record_digest(struct sqlite3 *db, int64_t run,
                                                       char digest[65], struct assay_error *error);
/* ASSAY_E_CORRUPT when the run is not what was recorded. Runs recorded by version 1 have no digest
 * and are taken as they are. */
ASSAY_MUST_USE assay_status assay_ledger_check_record(struct sqlite3 *db, const char *path,
                                                      int version, int64_t run,
                                                      struct assay_error *error);
/* The whole file: PRAGMA integrity_check and every record. ASSAY_E_CORRUPT names the file, the
 * first damage and the way out. */
ASSAY_MUST_USE assay_status assay_ledger_check(struct sqlite3 *db, const char *path, int version,
                                               struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
