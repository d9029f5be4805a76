/* SPDX-License-Identifier: MIT
 *
 * A plugin with one route: y = x * g(w) / sqrt(mean(x^2) + eps), g(w) = w or 1 + w, on the host.
 * The op's contract: engine/ops/rmsnorm/rmsnorm.h.
 *
 *   make && assay verify --plugin ./rmsnorm_example.so
 */
#include <math.h>

#include "plugin.h"

static int run(const struct assay_plugin_call *call)
{
    const struct assay_plugin_tensor *x = assay_plugin_tensor(call, "x");
    const struct assay_plugin_tensor *w = assay_plugin_tensor(call, "w");
    const struct assay_plugin_tensor *y = assay_plugin_tensor(call, "y");
    double eps = assay_plugin_real(call, "eps");
    double offset = assay_plugin_integer(call, "unit_offset") != 0 ? 1 : 0;
    int64_t rows = assay_plugin_rows(x), width = assay_plugin_width(x);
    for (int64_t r = 0; r < rows; r++) {
        const void *from = assay_plugin_row(x, r); /* rows may lie apart: never from + width */
        void *to = assay_plugin_row(y, r);
        double sum = 0; /* the contract promises no overflow: squares in binary64 */
        for (int64_t i = 0; i < width; i++) {
            double value = assay_plugin_load(from, x->format, i);
            sum += value * value;
        }
        double scale = 1 / sqrt(sum / (double)width + eps);
        for (int64_t i = 0; i < width; i++) { /* y may be x: each element is read, then written */
            double gain = offset + assay_plugin_load(w->data, w->format, i);
            double value = assay_plugin_load(from, x->format, i);
            assay_plugin_store(to, y->format, i, (float)(value * scale * gain));
        }
    }
    return 0;
}

static const struct assay_plugin_route route = {
    .size = sizeof route,
    .name = "rmsnorm.example",
    .profile = "f32", /* binary32 or better inside, one rounding into y */
    .backend = "cpu",
    .run = run,
};

static const struct assay_plugin_route *const routes[] = {&route};

static const struct assay_plugin plugin = {
    .size = sizeof plugin,
    .version = ASSAY_PLUGIN_VERSION,
    .num_routes = 1,
    .routes = routes,
};

ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void)
{
    return &plugin;
}
