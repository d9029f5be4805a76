/* SPDX-License-Identifier: MIT
 *
 * Whether a set of trades may be used with a model, for subcommands that run models.
 */
#ifndef ASSAY_TOOLS_TRADE_GATE_H
#define ASSAY_TOOLS_TRADE_GATE_H

#include <assay/context.h>
#include <assay/gate_record.h>
#include <assay/model.h>
#include <assay/precision.h>
#include <assay/status.h>

/* ASSAY_E_GATE names the command that decides, when the set holds trades that need a record and
 * `ledger` (NULL: the default one) has no passing one of them. certificate: what is believed in the
 * ledger's place, or NULL. where: the subcommand, for the message. */
ASSAY_MUST_USE assay_status trade_gate_ask(const char *where, assay_model *model,
                                           assay_trade_set trades, const char *certificate,
                                           const char *ledger,
                                           const struct assay_gate_machine *machine,
                                           struct assay_error *error);

#endif
