/* SPDX-License-Identifier: MIT
 *
 * What law suites share. Linked into law suites only: it reports through Criterion.
 */
#include "laws.h"

#include <criterion/criterion.h>

assay_context *new_context(int num_threads)
{
    struct assay_context_options options = assay_context_defaults();
    if (num_threads > 0)
        options.num_threads = num_threads;
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    return context;
}

const struct assay_route *take_route(assay_context *context, const struct assay_op *op, int index)
{
    const struct assay_route *route = assay_op_route(op, index);
    cr_assert_not_null(route);
    if (route->backend != assay_context_backend(context) || route->isa > assay_context_isa(context))
        return NULL;
    cr_assert_eq(assay_context_force_route(context, route->name), ASSAY_OK);
    return route;
}

void each_route(const struct assay_op *op, void (*body)(assay_context *context, const char *route))
{
    assay_context *context = new_context(0);
    const struct assay_route *route;
    EACH_ROUTE(context, op, route)
    body(context, route->name);
    assay_context_destroy(context);
}

void fill_floats(float *x, int count, int seed)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)((i * 7919 + seed * 104729) % 2003 - 1001) * 0x1p-9f;
}
