/* SPDX-License-Identifier: MIT
 *
 * Plots of a gate run beside the drift: what the routes used of their bounds, and how far the
 * next-token distributions lie apart. Colours come from the page.
 */
#include "gate_report.h"

#include <math.h>

/* ---- routes --------------------------------------------------------------------------------- */

enum { ROUTE_WIDTH = 720, ROUTE_LEFT = 250, ROUTE_RIGHT = 16, ROUTE_STEP = 22, ROUTE_FOOT = 28 };

static double share_x(double share)
{
    const double most = 1.25; /* of the bound: what lies beyond is cut off there */
    const double at = isnan(share) ? most : fmin(fmax(share, 0.0), most);
    return ROUTE_LEFT + (ROUTE_WIDTH - ROUTE_LEFT - ROUTE_RIGHT) * at / most;
}

static void draw_share(FILE *out, double share, int y, int colour)
{
    fprintf(out, "<rect class=\"f%d\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"7\"/>", colour,
            ROUTE_LEFT, y, share_x(share) - ROUTE_LEFT);
}

void gate_report_routes_svg(const struct gate_result *result, FILE *out)
{
    if (result->num_routes == 0)
        return;
    const int foot = ROUTE_STEP * result->num_routes;
    fprintf(out,
            "<h2>Error of each route against its bounds</h2>\n<svg viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"Largest share of the bounds that each route used\">\n",
            ROUTE_WIDTH, foot + ROUTE_FOOT);
    for (int percent = 0; percent <= 100; percent += 25) {
        const double x = share_x(percent / 100.0);
        fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\"/>",
                percent == 100 ? "limit" : "grid", x, x, foot);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d %%</text>\n", x,
                foot + 16, percent);
    }
    for (int i = 0; i < result->num_routes; i++) {
        const struct gate_route *r = &result->route[i];
        const int y = ROUTE_STEP * i;
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", ROUTE_LEFT - 8, y + 14);
        gate_report_escape(out, r->name);
        fputs("</text>", out);
        draw_share(out, r->bound_share, y + 3, 0);
        draw_share(out, r->l2_share, y + 11, 1);
        fputc('\n', out);
    }
    fputs("</svg>\n<p class=\"legend\"><span class=\"k0\">largest error of an element, of its "
          "bound</span> <span class=\"k1\">largest relative L2 error of a case, of the allowance"
          "</span></p>\n",
          out);
}

/* ---- divergence ----------------------------------------------------------------------------- */

enum { KL_WIDTH = 720, KL_HEIGHT = 240, KL_LEFT = 48, KL_RIGHT = 8, KL_TOP = 8, KL_BOTTOM = 40 };

static double kl_x(double bin)
{
    return KL_LEFT + (KL_WIDTH - KL_LEFT - KL_RIGHT) * bin / GATE_KL_BINS;
}

static double kl_share(const struct gate_kl *kl, int bin)
{
    return kl->count > 0 ? (double)kl->bin[bin] / (double)kl->count : 0.0;
}

static void draw_kl_axes(FILE *out, double most)
{
    const int foot = KL_HEIGHT - KL_BOTTOM;
    for (int i = 0; i <= 4; i++) {
        const double y = foot - (foot - KL_TOP) * i / 4.0;
        fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", KL_LEFT,
                y, KL_WIDTH - KL_RIGHT, y);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f %%</text>\n", KL_LEFT - 6,
                y + 4.0, 25.0 * i * most);
    }
    for (int bin = 1; bin < GATE_KL_BINS; bin += 4)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0e</text>\n", kl_x(bin),
                foot + 16, GATE_KL_LOWEST * pow(10.0, (bin - 1) / 2.0));
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">nats</text>\n",
            (KL_LEFT + KL_WIDTH - KL_RIGHT) / 2, KL_HEIGHT - 6);
}

void gate_report_kl_svg(const struct gate_result *result, FILE *out)
{
    static const char *const names[] = {"decode", "prefill"};
    double most = 0.0;
    for (int path = 0; path < 2; path++)
        for (int bin = 0; bin < GATE_KL_BINS; bin++)
            most = fmax(most, kl_share(&result->kl[path], bin));
    if (!(most > 0.0))
        return;
    fprintf(out,
            "<h2>Divergence of the next-token distributions</h2>\n<p class=\"dim\">KL(without || "
            "with) at each scored token: share of the tokens in half decades</p>\n"
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Histogram of the divergence\">\n",
            KL_WIDTH, KL_HEIGHT);
    draw_kl_axes(out, most);
    const int foot = KL_HEIGHT - KL_BOTTOM;
    for (int path = 0; path < 2; path++)
        for (int bin = 0; bin < GATE_KL_BINS; bin++) {
            const double height = (foot - KL_TOP) * kl_share(&result->kl[path], bin) / most;
            if (height > 0.0)
                fprintf(out,
                        "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                        "height=\"%.1f\"/>\n",
                        path, kl_x(bin + 0.1 + 0.4 * path), foot - height, kl_x(0.38) - kl_x(0.0),
                        height);
        }
    fputs("</svg>\n<p class=\"legend\">", out);
    for (int path = 0; path < 2; path++) {
        const struct gate_kl *kl = &result->kl[path];
        if (kl->count > 0)
            fprintf(out,
                    "<span class=\"k%d\">%s: mean %.3g, largest %.3g, same top %.2f %%</span> ",
                    path, names[path], kl->sum / (double)kl->count, kl->max,
                    100.0 * (double)kl->same_top / (double)kl->count);
    }
    fputs("</p>\n", out);
}
