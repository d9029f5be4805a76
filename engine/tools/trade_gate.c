/* SPDX-License-Identifier: MIT
 *
 * Looks a set of trades up in the ledger, or in a certificate.
 */
#include "tools/trade_gate.h"

#include <string.h>

#include <assay/certificate.h>

#include "core/core.h"

assay_status trade_gate_ask(const char *where, assay_model *model, assay_trade_set trades,
                            const char *certificate, const char *ledger,
                            const struct assay_gate_machine *machine, struct assay_error *error)
{
    const assay_trade_set lossy = assay_trade_set_lossy(trades);
    char digest[65], reason[256] = "", names[256];
    bool passes = false;
    if (lossy == 0)
        return ASSAY_OK;
    assay_trade_set_format(lossy, names, sizeof names);
    ASSAY_TRY(assay_model_digest(model, digest, error));
    if (certificate != NULL)
        return assay_certificate_allows(certificate, digest, lossy, machine, error);
    ASSAY_TRY(
        assay_gate_lookup(ledger, digest, lossy, machine, &passes, reason, sizeof reason, error));
    if (passes)
        return ASSAY_OK;
    const bool elsewhere = machine->backend != ASSAY_CPU;
    return assay_fail(error, ASSAY_E_GATE, where, names,
                      "not allowed: %s; the command that decides: assay gate %s --%s %s%s%s%s%s",
                      reason, assay_model_dir(model), strchr(names, ',') == NULL ? "trade" : "set",
                      names, elsewhere ? " --backend " : "",
                      elsewhere ? assay_backend_name(machine->backend) : "",
                      ledger != NULL ? " --ledger " : "", ledger != NULL ? ledger : "");
}
