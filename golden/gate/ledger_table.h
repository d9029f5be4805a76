/* SPDX-License-Identifier: MIT
 *
 * The table of trades for people who decide what to ship: docs/quality-trades.md.
 */
#ifndef LEDGER_TABLE_H
#define LEDGER_TABLE_H

#include <stdio.h>

#include <jansson.h>

#include <assay/precision.h>
#include <assay/status.h>

/* Markdown: for each model and machine of the runs (as ledger_load gives them, oldest first) one
 * table with a row for each of the trades, also those without a run, then for each set that has
 * one. The newest run counts that is not planted, a full one before a quick one. */
void ledger_table_write(const json_t *runs, const enum assay_trade *trades, int num_trades,
                        FILE *out);
/* Whether text[0, bytes) has the form that ledger_table_write gives, for these trades, whatever the
 * figures; ASSAY_E_CORRUPT names the first line that differs. */
ASSAY_MUST_USE assay_status ledger_table_check(const char *file, const char *text, size_t bytes,
                                               const enum assay_trade *trades, int num_trades,
                                               struct assay_error *error);

#endif
