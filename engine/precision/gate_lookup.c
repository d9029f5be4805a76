/* SPDX-License-Identifier: MIT
 *
 * Gate lookup without a ledger: this build reads none, so no trade has a record.
 */
#include "precision/gate_record.h"

#include <stdio.h>

assay_status assay_gate_lookup(const char *ledger_path, const char *model_digest,
                               assay_trade_set set, const char *backend, bool *passes, char *reason,
                               size_t size, struct assay_error *error)
{
    (void)ledger_path, (void)model_digest, (void)set, (void)backend, (void)error;
    *passes = false;
    snprintf(reason, size, "no gate record (this build reads no ledger)");
    return ASSAY_OK;
}
