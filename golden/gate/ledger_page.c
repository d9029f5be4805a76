/* SPDX-License-Identifier: MIT
 *
 * The table of trades as one page that needs nothing else: for each model and machine a plot of
 * quality against bytes, and the table.
 */
#include "ledger_table.h"

#include <math.h>
#include <string.h>

#include "gate_report.h"

enum { WIDTH = 720, HEIGHT = 320, LEFT = 72, RIGHT = 24, TOP = 16, BOTTOM = 44, MAX_POINTS = 64 };

/* What the plot knows of a run. */
struct point {
    const char *trades, *verdict;
    double saved;           /* share of the bytes that trades store otherwise */
    double mean, low, high; /* relative change of the mean loss */
};

struct axes {
    double least_x, most_x, least_y, most_y;
};

/* ---- figures -------------------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The path on which the loss moved more; false where none was measured. */
static bool find_point(const json_t *run, const char *trades, struct point *p)
{
    static const char *const paths[] = {"decode", "prefill", "width"};
    const json_t *report = json_object_get(run, "report");
    const json_t *storage = json_object_get(report, "storage");
    const double before = number_of(storage, "bytes_without");
    bool found = false;
    *p = (struct point){.trades = trades, .verdict = ledger_run_text(run, "verdict")};
    p->saved = (before - number_of(storage, "bytes_with")) / before;
    for (int i = 0; i < 3; i++) {
        const json_t *change = json_object_get(json_object_get(report, "loss_changes"), paths[i]);
        const double mean = number_of(change, "relative_change");
        if (!isfinite(mean) || json_integer_value(json_object_get(change, "segments")) == 0 ||
            (found && fabs(mean) <= fabs(p->mean)))
            continue;
        found = true;
        p->mean = mean;
        p->low = number_of(change, "low_95");
        p->high = number_of(change, "high_95");
    }
    return found && isfinite(p->saved) && isfinite(p->low) && isfinite(p->high);
}

/* ---- plot ----------------------------------------------------------------------------------- */

static double x_of(const struct axes *a, double saved)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (saved - a->least_x) / (a->most_x - a->least_x);
}

static double y_of(const struct axes *a, double change)
{
    return HEIGHT - BOTTOM -
           (HEIGHT - TOP - BOTTOM) * (change - a->least_y) / (a->most_y - a->least_y);
}

/* Both axes hold zero, with room around the outermost points. */
static struct axes find_axes(const struct point *points, int count)
{
    struct axes a = {0, 0.01, 0, 0.0001};
    for (int i = 0; i < count; i++) {
        a.least_x = fmin(a.least_x, points[i].saved);
        a.most_x = fmax(a.most_x, points[i].saved);
        a.least_y = fmin(a.least_y, points[i].low);
        a.most_y = fmax(a.most_y, points[i].high);
    }
    const double x = 0.05 * (a.most_x - a.least_x), y = 0.05 * (a.most_y - a.least_y);
    return (struct axes){a.least_x - x, a.most_x + x, a.least_y - y, a.most_y + y};
}

static void draw_axes(const struct axes *a, FILE *out)
{
    for (int i = 0; i <= 4; i++) {
        const double x = a->least_x + (a->most_x - a->least_x) * i / 4.0;
        const double y = a->least_y + (a->most_y - a->least_y) * i / 4.0;
        fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT,
                y_of(a, y), WIDTH - RIGHT, y_of(a, y));
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%+.3f %%</text>", LEFT - 6,
                y_of(a, y) + 4.0, 100.0 * y);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f %%</text>\n",
                x_of(a, x), HEIGHT - BOTTOM + 16, 100.0 * x);
    }
    fprintf(out, "<line class=\"zero\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT,
            y_of(a, 0.0), WIDTH - RIGHT, y_of(a, 0.0));
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes saved</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
}

static void draw_points(const struct axes *a, const struct point *points, int count, FILE *out)
{
    for (int i = 0; i < count; i++) {
        const struct point *p = &points[i];
        const double x = x_of(a, p->saved);
        const bool is_right = x > 0.7 * WIDTH;
        fprintf(out, "<line class=\"zero\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x,
                y_of(a, p->low), x, y_of(a, p->high));
        fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", p->verdict, x,
                y_of(a, p->mean));
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x + (is_right ? -7 : 7),
                y_of(a, p->mean) - 5, is_right ? "end" : "start");
        gate_report_escape(out, p->trades);
        fputs("</text>\n", out);
    }
}

static void write_plot(const struct point *points, int count, FILE *out)
{
    if (count == 0)
        return;
    const struct axes a = find_axes(points, count);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Change of the mean loss over "
            "bytes saved\">\n",
            WIDTH, HEIGHT);
    draw_axes(&a, out);
    draw_points(&a, points, count, out);
    fputs("</svg>\n<p class=\"dim\">Change of the mean loss on held-out text, with its 95 % "
          "interval, over the bytes that the option saves of what options store otherwise, for one "
          "sequence; of the paths the one that moved more.</p>\n",
          out);
}

/* ---- table ---------------------------------------------------------------------------------- */

static void write_cell(FILE *out, const char *class, const char *text)
{
    fprintf(out, "<td class=\"%s\">", class);
    gate_report_escape(out, text);
    fputs("</td>", out);
}

static void write_row(const json_t *run, const char *trades, FILE *out)
{
    struct point p;
    char text[96];
    fputs("<tr>", out);
    write_cell(out, "", trades);
    fputs("<td class=\"long\">", out);
    gate_report_trade_changes(out, trades);
    fputs("</td>", out);
    if (run == NULL) {
        fputs("<td>-</td><td>-</td><td class=\"open\">not gated</td><td>no run in the ledger: not "
              "asked for, or the option does not apply to this model"
              "</td></tr>\n",
              out);
        return;
    }
    const bool measured = find_point(run, trades, &p);
    snprintf(text, sizeof text, "%+.3f %% (%+.3f to %+.3f)", 100.0 * p.mean, 100.0 * p.low,
             100.0 * p.high);
    write_cell(out, "n", measured ? text : "-");
    snprintf(text, sizeof text, "%.1f %%", 100.0 * p.saved);
    write_cell(out, "n", isfinite(p.saved) ? text : "-");
    snprintf(text, sizeof text, "%s%s", p.verdict, ledger_run_is_quick(run) ? " (quick)" : "");
    write_cell(out, p.verdict, text);
    write_cell(out, "long", ledger_run_text(run, "reason"));
    fputs("</tr>\n", out);
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct page {
    FILE *out;
    const json_t *runs;
    struct point points[MAX_POINTS];
    int num_points;
};

static void add_point(void *user, const json_t *run, const char *trades)
{
    struct page *page = user;
    if (run != NULL && page->num_points < MAX_POINTS &&
        find_point(run, trades, &page->points[page->num_points]))
        page->num_points++;
}

static void add_row(void *user, const json_t *run, const char *trades)
{
    const struct page *page = user;
    write_row(run, trades, page->out);
}

void ledger_page_write(const json_t *runs, const enum assay_trade *trades, int num_trades,
                       FILE *out)
{
    const char *title = "What the lossy options cost and gain";
    struct page page = {.out = out, .runs = runs};
    size_t i;
    json_t *place;
    gate_report_page_begin(out, title, title);
    json_array_foreach((json_t *)runs, i, place)
    {
        if (!ledger_place_begins(runs, i))
            continue;
        fputs("<h2>", out);
        gate_report_escape(out, ledger_run_model(place));
        fprintf(out, " (%.16s...) on %s, %s</h2>\n", ledger_run_text(place, "model_digest"),
                ledger_run_text(place, "backend"), ledger_run_text(place, "isa"));
        page.num_points = 0;
        ledger_place_rows(runs, place, trades, num_trades, add_point, &page);
        write_plot(page.points, page.num_points, out);
        fputs("<div class=\"wide\"><table><thead><tr><th>option</th><th>what changes</th>"
              "<th>quality</th><th>bytes saved</th><th>verdict</th><th>why</th></tr></thead>"
              "<tbody>\n",
              out);
        ledger_place_rows(runs, place, trades, num_trades, add_row, &page);
        fputs("</tbody></table></div>\n", out);
    }
    fputs("<h2>Repeat it</h2>\n<pre>assay gate MODEL --all --ledger FILE\n"
          "assay ledger table --html --ledger FILE</pre>\n</body></html>\n",
          out);
}
