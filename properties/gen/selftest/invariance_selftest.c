/* SPDX-License-Identifier: MIT
 *
 * A route whose rows depend on each other, or on how many there are, must not measure as invariant.
 */
#include <criterion/criterion.h>

#include <assay/ops/add.h>
#include <assay/route.h>

#include "verify.h"
#include "words.h"

static enum { NONE, OTHER_ROWS, WIDTH, PLACE } fault;

static assay_status run(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_args *a = args;
    (void)context;
    (void)workspace;
    int64_t rows = a->y.extent[0], width = a->y.extent[1];
    double first = oracle_get(&a->a, 0);
    for (int64_t i = 0; i < rows * width; i++) {
        double sum = oracle_get(&a->a, i) + oracle_get(&a->b, i);
        if (i / width == rows / 2) /* the row that is looked at */
            sum += fault == OTHER_ROWS ? 1e-3 * first : fault == WIDTH ? 1e-3 * (double)rows : 0;
        if (fault == PLACE)
            sum += 1e-3 * (double)(i / width % 2);
        oracle_put(&a->y, i, sum);
    }
    return ASSAY_OK;
}

static const struct assay_route route = {
    .name = "add.test.rows.cpu", .backend = ASSAY_CPU, .profile = ASSAY_PROFILE_F64, .run = run};

static unsigned measured(assay_context *context)
{
    struct assay_case c;
    char message[256];
    unsigned tried, holds;
    cr_assert(case_parse("add T=5 I=7 route=add.test.rows.cpu", &c, message, sizeof message), "%s",
              message);
    cr_assert(verify_invariance(context, &c, &tried, &holds, message, sizeof message), "%s",
              message);
    cr_assert_eq(tried, ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT);
    return holds;
}

Test(invariance, faults)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    cr_assert_eq(assay_route_add(&route, NULL), ASSAY_OK);
    fault = NONE;
    cr_assert_eq(measured(context), ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT);
    fault = OTHER_ROWS;
    cr_assert_eq(measured(context) & ASSAY_BATCH_INVARIANT, 0);
    fault = WIDTH;
    cr_assert_eq(measured(context) & ASSAY_WIDTH_INVARIANT, 0);
    fault = PLACE; /* the suffix of the call begins with an odd row */
    cr_assert_eq(measured(context) & ASSAY_WIDTH_INVARIANT, 0);
    cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
    assay_route_remove(&route);
    assay_context_destroy(context);
}
