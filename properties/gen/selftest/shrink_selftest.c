/* SPDX-License-Identifier: MIT
 *
 * Shrinking: from a big failing case to the smallest that fails alike, and no further.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "verify.h"
#include "words.h"
#include <assay/ops/rmsnorm.h>

static bool needs_bf16; /* the fault needs x=bf16, too */

/* The plain route; from width 17 on, element 16 of the last row is off by a hundredth. At widths 5
 * to 12 it fails in another way: shrinking must not slip into that. */
static assay_status run(assay_context *context, const void *arguments, void *workspace)
{
    const struct assay_rmsnorm_args *args = arguments;
    const struct assay_route *plain = &assay_op_rmsnorm.routes[assay_op_rmsnorm.num_routes - 1];
    assay_status status = plain->run(context, args, workspace);
    int64_t width = args->y.extent[args->y.rank - 1], count = assay_tensor_count(&args->y);
    if (width >= 5 && width <= 12)
        return ASSAY_E_UNSUPPORTED;
    bool reached = width >= 17 && count > 0 && (!needs_bf16 || args->x.dtype == ASSAY_BF16);
    if (status == ASSAY_OK && reached) {
        int64_t at = count - width + 16;
        oracle_put(&args->y, at, 1.01 * oracle_get(&args->y, at));
    }
    return status;
}

static const struct assay_route wide = {.name = "rmsnorm.test.wide.cpu",
                                        .backend = ASSAY_CPU,
                                        .profile = ASSAY_PROFILE_F64,
                                        .run = run};

static struct assay_case failing_case(void)
{
    struct assay_case c;
    char message[256];
    cr_assert(case_parse("rmsnorm rows=17 heads=3 H=1000 x=bf16 w=f32 y=f32 unit_offset=0 eps=1 "
                         "layout=strided dist=outliers route=rmsnorm.test.wide.cpu seed=11",
                         &c, message, sizeof message),
              "%s", message);
    return c;
}

Test(shrink, to_the_edge_of_the_fault)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    cr_assert_eq(assay_route_add(&wide, NULL), ASSAY_OK);
    for (int bf16 = 0; bf16 < 2; bf16++) {
        needs_bf16 = bf16 != 0;
        struct assay_case c = failing_case(), smallest;
        struct verify_outcome before, after;
        verify_case(context, &c, &before);
        cr_assert_eq(before.verdict.finding, VERDICT_ELEMENT);
        verify_shrink(context, &c, &smallest);
        verify_case(context, &smallest, &after);
        cr_assert_eq(after.verdict.finding, before.verdict.finding, "another finding");
        cr_assert_eq(case_get(&smallest, "H"), 17, "H=%lld", (long long)case_get(&smallest, "H"));
        cr_assert_eq(case_get(&smallest, "rows"), 1);
        cr_assert_eq(case_get(&smallest, "heads"), 1);
        cr_assert_eq(smallest.layout, CASE_PACKED);
        cr_assert_eq(smallest.dist, CASE_DIST_NORMAL);
        cr_assert_eq(smallest.seed, c.seed);
        cr_assert_str_eq(smallest.route, c.route);
        cr_assert_eq(case_get(&smallest, "x"), bf16 ? ASSAY_BF16 : ASSAY_F32);
        /* What is smallest stays as it is. */
        struct assay_case again;
        verify_shrink(context, &smallest, &again);
        cr_assert_eq(case_get(&again, "H"), 17);
        cr_assert_eq(case_get(&again, "rows"), 1);
    }
    /* A case that passes is returned unchanged. */
    struct assay_case good = failing_case(), same;
    case_set(&good, "H", 16);
    verify_shrink(context, &good, &same);
    cr_assert_eq(case_get(&same, "H"), 16);
    cr_assert_eq(case_get(&same, "rows"), 17);
    assay_context_destroy(context);
    assay_route_remove(&wide);
}
