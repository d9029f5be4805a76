/* SPDX-License-Identifier: MIT
 *
 * The report for a terminal, for JUnit readers, and what all writers share.
 */
#include "gate_report.h"

#include <math.h>
#include <string.h>

void gate_report_escape(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            /* XML has no way to write other control characters. */
            fputc((unsigned char)*text < 0x20 && strchr("\t\n", *text) == NULL ? '?' : *text, out);
        }
    }
}

void gate_report_limit(const struct gate_result *result, enum gate_limit limit, char text[32])
{
    const bool most = gate_limit_rows[limit].side == GATE_MOST;
    if (isinf(result->policy.limit[limit]))
        snprintf(text, 32, "reported");
    else if (!result->policy.required[gate_limit_rows[limit].evidence])
        snprintf(text, 32, "not required");
    else
        snprintf(text, 32, "%s %.6g", most ? "<=" : ">=", result->policy.limit[limit]);
}

void gate_report_value(const struct gate_result *result, enum gate_limit limit, char text[32])
{
    if (result->item[gate_limit_rows[limit].evidence].taken == GATE_TAKEN)
        snprintf(text, 32, gate_limit_rows[limit].side == GATE_MOST ? "%.4g" : "%.0f",
                 result->measured[limit]);
    else
        snprintf(text, 32, "-");
}

void gate_report_coverage(const struct gate_result *result, enum gate_evidence evidence,
                          char text[48])
{
    const struct gate_item *item = &result->item[evidence];
    if (item->taken != GATE_TAKEN)
        snprintf(text, 48, "-");
    else if (!gate_evidence_rows[evidence].needs_coverage)
        snprintf(text, 48, "no trade");
    else if (item->coverage == 0)
        snprintf(text, 48, "BLIND");
    else
        snprintf(text, 48, "%llu runs", (unsigned long long)item->coverage);
}

void gate_report_settings(const struct gate_result *result, char text[512])
{
    assay_trade_set set, without, with;
    char with_name[200], without_name[200];
    text[0] = '\0';
    if (assay_trade_set_parse(result->key.trades, &set, NULL) != ASSAY_OK)
        return;
    assay_trade_set_compared(set, &without, &with);
    if (without == 0)
        return;
    assay_trade_set_format(without, without_name, sizeof without_name);
    assay_trade_set_format(with, with_name, sizeof with_name);
    snprintf(text, 512,
             "the default has this loss and the option takes it back: \"without\" is %s, \"with\" "
             "is %s",
             without_name, with == 0 ? "the default" : with_name);
}

/* ---- terminal ------------------------------------------------------------------------------- */

static void print_head(const struct gate_result *result, FILE *out)
{
    const struct assay_gate_key *key = &result->key;
    fprintf(out, "gate %s on %s\n", key->trades, result->model_dir);
    fprintf(out, "  model   %.16s...  %s\n", key->model,
            result->references ? "bundled, with FP64 references" : "no references");
    fprintf(out, "  build   %.16s...  %s, %s, %d threads\n", key->build, key->backend, key->isa,
            result->threads);
    fprintf(out, "  policy  %.16s...  version %lld, owner %s, valid until %s\n",
            result->policy.digest, (long long)result->policy.version, result->policy.owner,
            result->policy.expires);
    char settings[512];
    gate_report_settings(result, settings);
    if (settings[0] != '\0')
        fprintf(out, "  %s\n", settings);
    if (result->plant[0] != '\0')
        fprintf(out, "  PLANTED %s: a fault on purpose; this run can unlock nothing\n",
                result->plant);
    fputc('\n', out);
}

static void print_limits(const struct gate_result *result, FILE *out)
{
    int last = -1;
    fprintf(out, "%-12s %-36s %11s %11s %-13s %s\n", "evidence", "measure", "value", "limit",
            "coverage", "state");
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const enum gate_limit limit = (enum gate_limit)i;
        const enum gate_evidence evidence = gate_limit_rows[i].evidence;
        const bool first = (int)evidence != last;
        char value[32], bound[32], coverage[48];
        gate_report_value(result, limit, value);
        gate_report_limit(result, limit, bound);
        gate_report_coverage(result, evidence, coverage);
        fprintf(out, "%-12s %-36s %11s %11s %-13s %s\n",
                first ? gate_evidence_rows[evidence].name : "", gate_limit_rows[i].what, value,
                bound, first ? coverage : "", gate_state_name(result->state[i]));
        last = (int)evidence;
    }
    fputc('\n', out);
}

int gate_report_gain(const struct gate_result *result, struct gate_gain_row rows[GATE_GAIN_ROWS])
{
    const struct gate_gain *const g = &result->gain;
    const struct {
        const char *what, *unit;
        const double *value;
        bool is_bytes;
    } all[GATE_GAIN_ROWS] = {
        {"weights that passes read", "bytes", g->weights, true},
        {"weights that a decode step reads", "bytes", g->decode_reads, true},
        {"recurrent states", "bytes", g->state, true},
        {"workspace of the products", "bytes", g->workspace, true},
        {"prefill, prompt of 512", "tokens/s", g->prefill, false},
        {"decode, steps of one token", "tokens/s", g->decode, false},
        {"decode, steps of 16 columns", "tokens/s", g->width, false},
    };
    for (int i = 0; i < GATE_GAIN_ROWS && g->taken; i++) {
        struct gate_gain_row *const row = &rows[i];
        const double *const v = all[i].value;
        const int digits = all[i].is_bytes ? 0 : 1;
        row->what = all[i].what;
        row->unit = all[i].unit;
        snprintf(row->without, sizeof row->without, "%.*f", digits, v[0]);
        snprintf(row->with, sizeof row->with, "%.*f", digits, v[1]);
        if (v[0] == v[1] || v[0] == 0.0)
            snprintf(row->change, sizeof row->change, v[0] == v[1] ? "same" : "new");
        else
            snprintf(row->change, sizeof row->change, "%+.*f (%+.1f %%)", digits, v[1] - v[0],
                     100.0 * (v[1] / v[0] - 1.0));
    }
    return g->taken ? GATE_GAIN_ROWS : 0;
}

static void print_gain(const struct gate_result *result, FILE *out)
{
    struct gate_gain_row rows[GATE_GAIN_ROWS];
    const int count = gate_report_gain(result, rows);
    if (count > 0)
        fprintf(out, "\n%-34s %13s %13s  %s\n", "gain", "without", "with", "change");
    for (int i = 0; i < count; i++)
        fprintf(out, "%-34s %13s %13s  %s %s\n", rows[i].what, rows[i].without, rows[i].with,
                rows[i].unit, rows[i].change);
    if (result->gain.note[0] != '\0')
        fprintf(out, "\n%-12s %s\n", "gain", result->gain.note);
}

void gate_report_text(const struct gate_result *result, FILE *out)
{
    print_head(result, out);
    print_limits(result, out);
    for (int i = 0; i < GATE_NUM_EVIDENCE; i++)
        if (result->item[i].note[0] != '\0')
            fprintf(out, "%-12s %s (%.1f s)\n", gate_evidence_rows[i].name, result->item[i].note,
                    result->item[i].seconds);
    print_gain(result, out);
    fprintf(out, "\n%s: %s (%.1f s)\n", gate_verdict_name(result->verdict), result->reason,
            result->seconds);
}

/* ---- JUnit ---------------------------------------------------------------------------------- */

static void junit_case(const struct gate_result *result, enum gate_limit limit, FILE *out)
{
    const struct gate_limit_row *row = &gate_limit_rows[limit];
    const enum gate_state state = result->state[limit];
    char value[32], bound[32];
    gate_report_value(result, limit, value);
    gate_report_limit(result, limit, bound);
    fprintf(out, "    <testcase classname=\"gate.%s.%s\" name=\"%s\"", result->key.trades,
            gate_evidence_rows[row->evidence].name, row->key);
    if (state == GATE_MET) {
        fputs("/>\n", out);
        return;
    }
    if (state == GATE_UNUSED) {
        fputs("><skipped/></testcase>\n", out);
        return;
    }
    fprintf(out, "><failure message=\"%s: ", gate_state_name(state));
    gate_report_escape(out, row->what);
    fprintf(out, " is %s, limit ", value);
    gate_report_escape(out, bound);
    fputs("\"/></testcase>\n", out);
}

void gate_report_junit(const struct gate_result *result, FILE *out)
{
    int failures = 0, skipped = 0;
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        failures += result->state[i] != GATE_MET && result->state[i] != GATE_UNUSED;
        skipped += result->state[i] == GATE_UNUSED;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    fprintf(out,
            "  <testsuite name=\"gate.%s\" tests=\"%d\" failures=\"%d\" skipped=\"%d\" "
            "time=\"%.3f\" timestamp=\"%s\">\n",
            result->key.trades, GATE_NUM_LIMITS, failures, skipped, result->seconds,
            result->recorded);
    for (int i = 0; i < GATE_NUM_LIMITS; i++)
        junit_case(result, (enum gate_limit)i, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
