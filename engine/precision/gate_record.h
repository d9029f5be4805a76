/* SPDX-License-Identifier: MIT
 *
 * The question that a session's front end asks before it uses a trade: is there a passing gate
 * record for exactly this model, set of trades, backend and build?
 */
#ifndef ASSAY_PRECISION_GATE_RECORD_H
#define ASSAY_PRECISION_GATE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/precision.h>
#include <assay/status.h>

/* Looks in the ledger for the newest gate run of (model digest, set, backend, this build and its
 * policy). *passes is set only when that run's verdict is PASS; in every other case (no ledger, no
 * record, FAIL, INCONCLUSIVE, another build) it is false and reason[size] says which, in words
 * that finish the sentence "not allowed: ...". ledger_path NULL: the default ledger. An error
 * means that the ledger exists and could not be read; *passes is then false as well. */
ASSAY_MUST_USE assay_status assay_gate_lookup(const char *ledger_path, const char *model_digest,
                                              assay_trade_set set, const char *backend,
                                              bool *passes, char *reason, size_t size,
                                              struct assay_error *error);

#endif
