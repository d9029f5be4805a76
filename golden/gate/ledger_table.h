/* SPDX-License-Identifier: MIT
 *
 * The table of trades for people who decide what to ship: docs/quality-trades.md.
 */
#ifndef LEDGER_TABLE_H
#define LEDGER_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <assay/precision.h>
#include <assay/status.h>

/* Markdown: for each model and machine of the runs (as ledger_load gives them, oldest first) one
 * table with a row for each of the trades, also those without a run, then for each set that has
 * one. The newest run counts that is not planted, a full one before a quick one. */
void ledger_table_write(const json_t *runs, const enum assay_trade *trades, int num_trades,
                        FILE *out);
/* The same as one self-contained HTML page, with a plot of quality against bytes for each model and
 * machine (ledger_page.c). */
void ledger_page_write(const json_t *runs, const enum assay_trade *trades, int num_trades,
                       FILE *out);
/* Whether text[0, bytes) has the form that ledger_table_write gives, for these trades, whatever the
 * figures; ASSAY_E_CORRUPT names the first line that differs. */
ASSAY_MUST_USE assay_status ledger_table_check(const char *file, const char *text, size_t bytes,
                                               const enum assay_trade *trades, int num_trades,
                                               struct assay_error *error);

/* ---- shared by the writers ------------------------------------------------------------------ */

/* A text of a run, "" where it has none. */
const char *ledger_run_text(const json_t *run, const char *key);
bool ledger_run_is_quick(const json_t *run);
/* The last part of the model's path. */
const char *ledger_run_model(const json_t *run);
/* Whether runs[i] is the first of its model and machine that counts. */
bool ledger_place_begins(const json_t *runs, size_t i);
/* Calls row for each of the trades, then for each set that has a run, with the run that counts at
 * the model and machine of `place`: NULL where there is none. */
void ledger_place_rows(const json_t *runs, const json_t *place, const enum assay_trade *trades,
                       int num_trades, void row(void *, const json_t *, const char *), void *user);

#endif
