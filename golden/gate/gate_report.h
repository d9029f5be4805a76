/* SPDX-License-Identifier: MIT
 *
 * A gate run as text for a terminal, as JSON and as one self-contained HTML page. All three only
 * write to the stream; the caller checks it.
 */
#ifndef GATE_REPORT_H
#define GATE_REPORT_H

#include <stdio.h>

#include "gate.h"

void gate_report_text(const struct gate_result *result, FILE *out);
void gate_report_html(const struct gate_result *result, FILE *out);
void gate_report_junit(const struct gate_result *result, FILE *out);
/* The JSON text, allocated (free()); NULL when out of memory. */
char *gate_report_json(const struct gate_result *result);

/* ---- shared by the writers ------------------------------------------------------------------ */

/* Text with & < > " as entities. */
void gate_report_escape(FILE *out, const char *text);
/* "<= 0.005", ">= 100" */
void gate_report_limit(const struct gate_result *result, enum gate_limit limit, char text[32]);
/* The measured value, "-" when it was not taken. */
void gate_report_value(const struct gate_result *result, enum gate_limit limit, char text[32]);
/* Coverage in words: "1234 runs", "blind", "without the trade". */
void gate_report_coverage(const struct gate_result *result, enum gate_evidence evidence,
                          char text[48]);
/* Which settings "without" and "with" are where the default has the loss; "" elsewhere. */
void gate_report_settings(const struct gate_result *result, char text[512]);
/* What the trade gains, a quantity a row; returns how many there are: none where it was not
 * measured. */
enum { GATE_GAIN_ROWS = 7 };
struct gate_gain_row {
    const char *what, *unit;
    char without[32], with[32], change[48];
};
int gate_report_gain(const struct gate_result *result, struct gate_gain_row rows[GATE_GAIN_ROWS]);
/* The drift runs as an inline SVG (gate_report_svg.c); nothing when there are none. */
void gate_report_svg(const struct gate_result *result, FILE *out);
/* With their headings (gate_report_plots.c): shares of the bounds by route, and the histogram of
 * the divergence; nothing where it was not measured. */
void gate_report_routes_svg(const struct gate_result *result, FILE *out);
void gate_report_kl_svg(const struct gate_result *result, FILE *out);
/* What each trade of a set changes, an element each. */
void gate_report_trade_changes(FILE *out, const char *trades);
/* The page up to its h1, which holds the title, too. */
void gate_report_page_begin(FILE *out, const char *title, const char *heading);

#endif
