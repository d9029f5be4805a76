/* SPDX-License-Identifier: MIT
 *
 * Looks a set of trades up in the ledger.
 */
#include "tools/trade_gate.h"

#include "core/core.h"

assay_status trade_gate_ask(const char *where, assay_model *model, assay_trade_set trades,
                            const char *ledger, const struct assay_gate_machine *machine,
                            struct assay_error *error)
{
    char digest[65], reason[256] = "", names[256];
    bool passes = false;
    if (trades == 0)
        return ASSAY_OK;
    assay_trade_set_format(trades, names, sizeof names);
    ASSAY_TRY(assay_model_digest(model, digest, error));
    ASSAY_TRY(
        assay_gate_lookup(ledger, digest, trades, machine, &passes, reason, sizeof reason, error));
    if (passes)
        return ASSAY_OK;
    const bool elsewhere = machine->backend != ASSAY_CPU;
    return assay_fail(error, ASSAY_E_GATE, where, names,
                      "not allowed: %s; the command that decides: assay gate %s --trade %s%s%s%s%s",
                      reason, assay_model_dir(model), names, elsewhere ? " --backend " : "",
                      elsewhere ? assay_backend_name(machine->backend) : "",
                      ledger != NULL ? " --ledger " : "", ledger != NULL ? ledger : "");
}
