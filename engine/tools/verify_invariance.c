/* SPDX-License-Identifier: MIT
 *
 * assay verify --invariance: what the rows of each route depend on, against what the route table
 * says.
 */
#include "tools/verify_invariance.h"

#include <stdio.h>
#include <string.h>

#include "tools/tool.h"
#include "verify.h"

static const char *name_of(unsigned mask)
{
    static const char *const names[] = {"-", "batch", "width", "batch, width"};
    return names[mask & 3u];
}

/* What holds at every width that the route takes. */
static bool measure(assay_context *context, const struct case_spec *spec,
                    const struct assay_route *route, unsigned *tried, unsigned *holds)
{
    static const int64_t widths[] = {2, 3, 5, 8, 9, 16, 17, 31, 33, 65};
    *tried = 0;
    *holds = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct assay_case c = case_base(spec);
        char message[512];
        unsigned tried_here, holds_here;
        snprintf(c.route, sizeof c.route, "%s", route->name);
        case_set(&c, spec->row_count != NULL ? spec->row_count : "T", widths[i]);
        if (spec->adjust != NULL)
            spec->adjust(&c);
        if (!verify_invariance(context, &c, &tried_here, &holds_here, message, sizeof message)) {
            char text[CASE_TEXT_BYTES];
            case_print(&c, text);
            printf("FAILED %s: %s\n  repeat: assay verify '%s'\n", route->name, message, text);
            return false;
        }
        *tried |= tried_here;
        *holds &= holds_here;
    }
    *holds &= *tried;
    return true;
}

int verify_invariance_report(assay_context *context,
                             bool (*wanted)(const void *user, const char *op, const char *route),
                             const void *user)
{
    int num_specs, bad = 0, measured = 0;
    const struct case_spec *const *specs = case_specs(&num_specs);
    printf("%-36s %-14s %s\n", "route", "measured", "declared");
    for (int i = 0; i < num_specs; i++) {
        const struct assay_op *op = specs[i]->op;
        for (int r = 0; r < op->num_routes; r++) {
            const struct assay_route *route = &op->routes[r];
            if (route->backend != assay_context_backend(context) ||
                route->isa > assay_context_isa(context) || specs[i]->row_fields == NULL ||
                !wanted(user, op->name, route->name))
                continue;
            unsigned tried, holds;
            bool good = measure(context, specs[i], route, &tried, &holds);
            bool kept = (route->invariance & ~holds) == 0;
            printf("%-36s %-14s %s%s\n", route->name, name_of(holds), name_of(route->invariance),
                   kept ? "" : "  FAILED: declared and not kept");
            measured++;
            bad += !good || !kept;
        }
    }
    printf("\n%d routes, %d bad\n", measured, bad);
    int flushed = tool_flush_stdout();
    return measured == 0 ? TOOL_USAGE : bad > 0 ? TOOL_FAILED : flushed;
}
