/* SPDX-License-Identifier: MIT
 *
 * Ledgers on disk for the tests of history and damage.
 */
#ifndef LEDGER_FILES_H
#define LEDGER_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "gate.h"

extern char ledger_path[128]; /* in a fresh folder of this test */

void ledger_files_make(void);
void ledger_files_remove(void);
/* Runs SQL on the file; fails the test when SQLite does. */
void ledger_sql(const char *sql);
/* First column of the first row as a number; -1 on an error. */
int64_t ledger_ask(const char *sql);
/* Adds the run `times` times; the status of what failed first. */
assay_status ledger_record(const struct gate_result *result, int times, struct assay_error *error);
/* A file of version 1 with `runs` runs, as that version wrote it: passes of the sample's key. */
void ledger_make_version_1(int runs);
/* The bytes of the file, allocated. */
uint8_t *ledger_bytes(size_t *size);
void ledger_write_bytes(const uint8_t *bytes, size_t size);

#endif
