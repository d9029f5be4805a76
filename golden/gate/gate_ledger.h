/* SPDX-License-Identifier: MIT
 *
 * The ledger: the SQLite file that keeps every gate run.
 */
#ifndef GATE_LEDGER_H
#define GATE_LEDGER_H

#include <stdint.h>

#include "gate.h"

typedef struct gate_ledger gate_ledger;

/* Opens the ledger for writing, creates it when it is not there (and, for path NULL, the folders of
 * the default place). Checks all that can be checked before evidence is collected: that it is a
 * sound ledger of this version and that it can be written. Errors, with path and remedy:
 * ASSAY_E_IO (folder, permissions, disk), ASSAY_E_CORRUPT (no SQLite file, damaged, of another
 * program), ASSAY_E_UNSUPPORTED (a newer version). *ledger is NULL on failure. */
ASSAY_MUST_USE assay_status gate_ledger_open(const char *path, gate_ledger **ledger,
                                             struct assay_error *error);
void gate_ledger_close(gate_ledger *ledger);
const char *gate_ledger_path(const gate_ledger *ledger);
/* Adds a run and its evidence in one transaction: after a failure, a full disk or a kill at any
 * moment the ledger holds all of it or nothing. report: the run as JSON. A planted run that passes
 * is refused (ASSAY_E_ARG): it says that the gate is blind, not that the model is good. */
ASSAY_MUST_USE assay_status gate_ledger_add(gate_ledger *ledger, const struct gate_result *result,
                                            const char *report, int64_t *id,
                                            struct assay_error *error);

#endif
