/* SPDX-License-Identifier: MIT
 *
 * The report as one page that needs nothing else: no script, no font, no link.
 */
#include "gate_report.h"

#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;"
    "--ok:#116329;--bad:#a40e26;--open:#7d4e00;--c0:#0550ae;--c1:#b35900;--c2:#116329;"
    "--c3:#8250df}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;"
    "--line:#3d444d;--ok:#56d364;--bad:#ff7b72;--open:#e3b341;--c0:#79c0ff;--c1:#ffa657;"
    "--c2:#56d364;--c3:#d2a8ff}}\n"
    "body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;"
    "max-width:60rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem}\n"
    "th,td{text-align:left;padding:.3rem .5rem;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n"
    "td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".wide{overflow-x:auto}code,pre{font:.85rem ui-monospace,monospace;"
    "overflow-wrap:anywhere;white-space:pre-wrap}\n"
    ".PASS,.met{color:var(--ok)}.FAIL,.broken{color:var(--bad)}"
    ".INCONCLUSIVE,.open{color:var(--open)}\n"
    ".verdict{font-size:1.6rem;font-weight:700}.dim{color:var(--dim)}\n"
    "svg{width:100%;height:auto;font-size:12px;fill:var(--dim)}"
    "svg line.grid{stroke:var(--line)}svg line.limit{stroke:var(--bad);stroke-dasharray:6 4}\n"
    "polyline{fill:none;stroke-width:1.5}polyline.bound{stroke-width:.7;opacity:.6}"
    ".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}"
    ".k0{color:var(--c0)}.k1{color:var(--c1)}.k2{color:var(--c2)}.k3{color:var(--c3)}\n"
    ".legend span{margin-right:1rem}.f0{fill:var(--c0)}.f1{fill:var(--c1)}\n"
    "svg "
    "line.zero{stroke:var(--dim)}circle{fill:var(--c0)}circle.FAIL{fill:var(--bad)}circle."
    "INCONCLUSIVE{fill:var(--open)}\n"
    ".wide td,.wide th{min-width:4.5rem}.wide td.long{min-width:12rem}\n";

void gate_report_page_begin(FILE *out, const char *title, const char *heading)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    gate_report_escape(out, title);
    fprintf(out, "</title>\n<style>\n%s</style></head>\n<body>\n<h1>", style);
    gate_report_escape(out, heading);
    fputs("</h1>\n", out);
}

static void element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, "<%s class=\"%s\">", tag, class);
    gate_report_escape(out, text);
    fprintf(out, "</%s>", tag);
}

static const char *state_class(enum gate_state state)
{
    if (state == GATE_MET)
        return "met";
    return state == GATE_BROKEN ? "broken" : state == GATE_UNUSED ? "dim" : "open";
}

/* Perplexity is what is quoted elsewhere: exp of the mean loss, whose own change is `mean`. */
static void write_change(const struct gate_result *result, enum gate_evidence evidence,
                         const char *path, const struct gate_change *change, FILE *out)
{
    if (result->item[evidence].taken != GATE_TAKEN || !result->policy.required[evidence])
        return;
    fprintf(out, "%s loss %+.3f %% (95 %%: %+.3f to %+.3f %%)<br>", path, 100.0 * change->mean,
            100.0 * change->low, 100.0 * change->high);
}

static void write_quality(const struct gate_result *result, FILE *out)
{
    write_change(result, GATE_NLL_DECODE, "decode", &result->change[0], out);
    write_change(result, GATE_NLL_PREFILL, "prefill", &result->change[1], out);
    write_change(result, GATE_NLL_WIDTH, "16 columns", &result->change[2], out);
    if (result->item[GATE_NLL_WIDTH].taken == GATE_TAKEN)
        fprintf(out, "choices changed at 16 columns: %.2f %%<br>",
                100.0 * result->measured[GATE_LIMIT_WIDTH_CHOICES]);
    if (result->item[GATE_GREEDY].taken == GATE_TAKEN)
        fprintf(out, "greedy: %.0f faults in %.0f steps<br>",
                result->measured[GATE_LIMIT_GREEDY_FAULTS],
                result->measured[GATE_LIMIT_GREEDY_STEPS]);
    if (result->item[GATE_OPS].taken == GATE_TAKEN)
        fprintf(out, "kernels: %.0f of %.0f cases failed",
                result->measured[GATE_LIMIT_OPS_FAILURES], result->measured[GATE_LIMIT_OPS_CASES]);
}

void gate_report_trade_changes(FILE *out, const char *trades)
{
    assay_trade_set set;
    if (assay_trade_set_parse(trades, &set, NULL) != ASSAY_OK)
        return;
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((set >> t & 1u) != 0)
            element(out, "div", "", assay_trade_change((enum assay_trade)t));
}

/* What is decided, on one line: what changes, what it costs, what it brings. */
static void write_trade(const struct gate_result *result, FILE *out)
{
    struct gate_gain_row rows[GATE_GAIN_ROWS];
    const int count = gate_report_gain(result, rows);
    fputs("<h2>The trade</h2>\n<div class=\"wide\"><table><thead><tr><th>option</th>"
          "<th>what changes</th><th>quality</th><th>gain</th><th>verdict</th></tr></thead><tbody>"
          "<tr>",
          out);
    fprintf(out, "<td><code>%s</code></td>", result->key.trades);
    fputs("<td class=\"long\">", out);
    gate_report_trade_changes(out, result->key.trades);
    fputs("</td><td class=\"long\">", out);
    write_quality(result, out);
    fputs("</td><td class=\"long\">", out);
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].change, "same") != 0)
            fprintf(out, "%s: %s %s<br>", rows[i].what, rows[i].change, rows[i].unit);
    gate_report_escape(out, result->gain.note);
    fputs("</td>", out);
    element(out, "td", gate_verdict_name(result->verdict), gate_verdict_name(result->verdict));
    fputs("</tr></tbody></table></div>\n", out);
}

static void write_gain(const struct gate_result *result, FILE *out)
{
    struct gate_gain_row rows[GATE_GAIN_ROWS];
    const int count = gate_report_gain(result, rows);
    if (count == 0)
        return;
    fputs(
        "<h2>Gain</h2>\n<p class=\"dim\">fastest of several rounds, the two settings in turns</p>\n"
        "<div class=\"wide\"><table><thead><tr><th>quantity</th><th>without</th><th>with</th>"
        "<th>unit</th><th>change</th></tr></thead><tbody>\n",
        out);
    for (int i = 0; i < count; i++) {
        fputs("<tr>", out);
        element(out, "td", "", rows[i].what);
        element(out, "td", "n", rows[i].without);
        element(out, "td", "n", rows[i].with);
        element(out, "td", "", rows[i].unit);
        element(out, "td", "n", rows[i].change);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_limits(const struct gate_result *result, FILE *out)
{
    fputs("<h2>Evidence</h2>\n<div class=\"wide\"><table><thead><tr><th>evidence</th>"
          "<th>measure</th><th>value</th><th>limit</th><th>coverage</th><th>state</th></tr></thead>"
          "<tbody>\n",
          out);
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const enum gate_limit limit = (enum gate_limit)i;
        const enum gate_evidence evidence = gate_limit_rows[i].evidence;
        char value[32], bound[32], coverage[48];
        gate_report_value(result, limit, value);
        gate_report_limit(result, limit, bound);
        gate_report_coverage(result, evidence, coverage);
        fputs("<tr>", out);
        element(out, "td", "", gate_evidence_rows[evidence].name);
        element(out, "td", "", gate_limit_rows[i].what);
        element(out, "td", "n", value);
        element(out, "td", "n", bound);
        element(out, "td", "n", coverage);
        element(out, "td", state_class(result->state[i]), gate_state_name(result->state[i]));
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n<dl>\n", out);
    for (int i = 0; i < GATE_NUM_EVIDENCE; i++) {
        fputs("<dt><strong>", out);
        gate_report_escape(out, gate_evidence_rows[i].name);
        fputs("</strong>: ", out);
        gate_report_escape(out, gate_evidence_rows[i].what);
        fputs("</dt><dd>", out);
        gate_report_escape(out, result->item[i].note);
        fprintf(out, " <span class=\"dim\">(%.1f s)</span></dd>\n", result->item[i].seconds);
    }
    fputs("</dl>\n", out);
}

static void write_prompts(const struct gate_result *result, FILE *out)
{
    if (result->num_prompts == 0)
        return;
    fputs("<h2>Greedy continuations</h2>\n<div class=\"wide\"><table><thead><tr><th>prompt</th>"
          "<th>tokens</th><th>steps</th><th>common prefix</th><th>changed</th>"
          "<th>changed without trade</th><th>faults</th><th>logit difference</th></tr></thead>"
          "<tbody>\n",
          out);
    for (int i = 0; i < result->num_prompts; i++) {
        const struct gate_prompt *p = &result->prompt[i];
        fputs("<tr>", out);
        element(out, "td", "", p->name);
        fprintf(out,
                "<td class=\"n\">%lld</td><td class=\"n\">%lld</td><td class=\"n\">%lld</td>"
                "<td class=\"n\">%lld</td><td class=\"n\">%lld</td><td class=\"n\">%lld</td>"
                "<td class=\"n\">%.3g</td></tr>\n",
                (long long)p->tokens, (long long)p->steps, (long long)p->prefix,
                (long long)p->changed, (long long)p->baseline_changed, (long long)p->faults,
                p->logit_difference);
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_losses(const struct gate_result *result, FILE *out)
{
    if (result->num_losses == 0)
        return;
    fputs("<h2>Loss on held-out text</h2>\n<p class=\"dim\">nats a token, without and with the "
          "trade</p>\n<div class=\"wide\"><table><thead><tr><th>text</th><th>tokens</th>"
          "<th>decode without</th><th>decode with</th><th>prefill without</th>"
          "<th>prefill with</th></tr></thead><tbody>\n",
          out);
    for (int i = 0; i < result->num_losses; i++) {
        const struct gate_loss *l = &result->loss[i];
        fputs("<tr>", out);
        element(out, "td", "", l->text);
        fprintf(out, "<td class=\"n\">%lld</td>", (long long)l->tokens);
        for (int k = 0; k < 4; k++)
            fprintf(out, "<td class=\"n\">%.6f</td>", l->mean[k]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_width_losses(const struct gate_result *result, FILE *out)
{
    if (result->num_width_losses == 0)
        return;
    fputs("<h2>Loss through decode steps of 16 columns</h2>\n<div class=\"wide\"><table><thead>"
          "<tr><th>text</th><th>tokens</th><th>without</th><th>with</th><th>choices changed</th>"
          "</tr></thead><tbody>\n",
          out);
    for (int i = 0; i < result->num_width_losses; i++) {
        const struct gate_width_loss *l = &result->width_loss[i];
        fputs("<tr>", out);
        element(out, "td", "", l->text);
        fprintf(out,
                "<td class=\"n\">%lld</td><td class=\"n\">%.6f</td><td class=\"n\">%.6f</td>"
                "<td class=\"n\">%lld</td></tr>\n",
                (long long)l->tokens, l->mean[0], l->mean[1], (long long)l->changed);
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_row(FILE *out, const char *name, const char *value)
{
    fputs("<tr>", out);
    element(out, "th", "", name);
    fputs("<td><code>", out);
    gate_report_escape(out, value);
    fputs("</code></td></tr>\n", out);
}

static void write_environment(const struct gate_result *result, FILE *out)
{
    const struct assay_gate_key *key = &result->key;
    char text[256];
    fputs("<h2>Run</h2>\n<table><tbody>\n", out);
    write_row(out, "model", result->model_dir);
    write_row(out, "model digest", key->model);
    write_row(out, "trades", key->trades);
    snprintf(text, sizeof text, "%s, %s, %d threads", key->backend, key->isa, result->threads);
    write_row(out, "backend", text);
    write_row(out, "build digest", key->build);
    write_row(out, "policy digest", result->policy.digest);
    snprintf(text, sizeof text, "version %lld, owner %s, valid until %s",
             (long long)result->policy.version, result->policy.owner, result->policy.expires);
    write_row(out, "policy", text);
    snprintf(text, sizeof text, "%s, %.1f s, seed %llu%s", result->recorded, result->seconds,
             (unsigned long long)result->seed, result->quick ? ", quick" : "");
    write_row(out, "taken", text);
    if (result->plant[0] != '\0')
        write_row(out, "planted fault", result->plant);
    fputs("</tbody></table>\n<h2>Repeat it</h2>\n<pre>", out);
    gate_report_escape(out, result->command);
    fputs("</pre>\n", out);
}

void gate_report_html(const struct gate_result *result, FILE *out)
{
    const char *verdict = gate_verdict_name(result->verdict);
    char title[320], heading[300];
    snprintf(heading, sizeof heading, "Gate %.280s", result->key.trades);
    snprintf(title, sizeof title, "%s: %s", verdict, heading);
    gate_report_page_begin(out, title, heading);
    char settings[512];
    gate_report_settings(result, settings);
    if (settings[0] != '\0')
        element(out, "p", "dim", settings);
    fprintf(out, "\n<p><span class=\"verdict %s\">%s</span><br>", verdict, verdict);
    gate_report_escape(out, result->reason);
    fputs("</p>\n", out);
    if (result->plant[0] != '\0') {
        fputs("<p class=\"FAIL\"><strong>Planted fault:</strong> ", out);
        gate_report_escape(out, result->plant);
        fputs(". This run shows what the gate catches; it can unlock nothing.</p>\n", out);
    }
    write_trade(result, out);
    write_limits(result, out);
    gate_report_routes_svg(result, out);
    gate_report_kl_svg(result, out);
    write_gain(result, out);
    if (result->num_drift_runs > 0)
        fputs("<h2>Drift of the recurrent state</h2>\n", out);
    gate_report_svg(result, out);
    write_prompts(result, out);
    write_losses(result, out);
    write_width_losses(result, out);
    write_environment(result, out);
    fputs("</body></html>\n", out);
}
