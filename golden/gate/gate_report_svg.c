/* SPDX-License-Identifier: MIT
 *
 * The drift plot: relative state error over steps, logarithmic upwards, with the policy's limit and
 * the step-by-step bound. Colours come from the page, so that it reads in light and dark.
 */
#include "gate_report.h"

#include <math.h>

enum { WIDTH = 720, HEIGHT = 320, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 40 };

struct axes {
    double last_step, low, high; /* low, high: log10 of the error */
};

static double x_of(const struct axes *axes, double step)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * step / axes->last_step;
}

static double y_of(const struct axes *axes, double error)
{
    const double at = error > 0.0 ? log10(error) : axes->low;
    const double share = (at - axes->low) / (axes->high - axes->low);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * fmin(fmax(share, 0.0), 1.0);
}

static struct axes find_axes(const struct gate_result *result)
{
    double least = result->policy.limit[GATE_LIMIT_DRIFT_ERROR], most = least, last = 1.0;
    for (int i = 0; i < result->num_drift_runs; i++) {
        const struct gate_drift_run *run = &result->drift[i];
        for (int k = 0; k < run->num_points; k++) {
            last = fmax(last, run->step[k]);
            if (run->error[k] > 0.0 && isfinite(run->error[k])) {
                least = fmin(least, run->error[k]);
                most = fmax(most, run->error[k]);
            }
            if (run->bound[k] > 0.0 && isfinite(run->bound[k]))
                most = fmax(most, run->bound[k]);
        }
    }
    return (struct axes){last, floor(log10(fmax(least, 1e-12))), ceil(log10(fmax(most, 1e-11)))};
}

static void draw_grid(const struct axes *axes, FILE *out)
{
    for (int decade = (int)axes->low; decade <= (int)axes->high; decade++) {
        const double y = y_of(axes, pow(10.0, decade));
        fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT, y,
                WIDTH - RIGHT, y);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1e%d</text>\n", LEFT - 6,
                y + 4.0, decade);
    }
    for (int i = 0; i <= 4; i++) {
        const double step = axes->last_step * i / 4.0;
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.0f</text>\n", x_of(axes, step),
                HEIGHT - BOTTOM + 16, i == 4 ? "end" : "middle", step);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
}

static void draw_line(const struct axes *axes, const struct gate_drift_run *run,
                      const double *values, const char *kind, int index, FILE *out)
{
    bool any = false;
    for (int k = 0; k < run->num_points; k++)
        any = any || (isfinite(values[k]) && values[k] > 0.0);
    if (!any)
        return;
    fprintf(out, "<polyline class=\"%s c%d\" points=\"", kind, index);
    for (int k = 0; k < run->num_points; k++)
        if (isfinite(values[k]))
            fprintf(out, "%.1f,%.1f ", x_of(axes, run->step[k]), y_of(axes, values[k]));
    fputs("\"/>\n", out);
}

void gate_report_svg(const struct gate_result *result, FILE *out)
{
    if (result->num_drift_runs == 0)
        return;
    const struct axes axes = find_axes(result);
    const double limit = y_of(&axes, result->policy.limit[GATE_LIMIT_DRIFT_ERROR]);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Relative state error over "
            "steps\">\n",
            WIDTH, HEIGHT);
    draw_grid(&axes, out);
    fprintf(out, "<line class=\"limit\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT,
            limit, WIDTH - RIGHT, limit);
    for (int i = 0; i < result->num_drift_runs; i++) {
        draw_line(&axes, &result->drift[i], result->drift[i].bound, "bound", i, out);
        draw_line(&axes, &result->drift[i], result->drift[i].error, "error", i, out);
    }
    fputs("</svg>\n<p class=\"legend\">", out);
    for (int i = 0; i < result->num_drift_runs; i++) {
        fprintf(out, "<span class=\"k%d\">", i);
        gate_report_escape(out, result->drift[i].name);
        fprintf(out, ": worst %.3g %%, growth %.3g</span> ", 100.0 * result->drift[i].worst,
                result->drift[i].growth);
    }
    fputs("<span>thin: step-by-step bound; dashed: limit</span></p>\n", out);
}
