/* SPDX-License-Identifier: MIT
 *
 * Drift of the fp16 state [GDNREC-4]: at most 0.5 % over 4,096 tokens, no growth, and under the
 * bound of the run's own decays; and a state that loses more than fp16 must not pass.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "case.h"
#include "laws.h"
#include "drift.h"
#include <assay/ops/gdn_recurrent.h>

enum { STEPS = 4096 };

Test(drift, fp16_state_stays_close)
{
    assay_context *context = new_context(0);
    const int64_t widths[] = {1, 4};
    struct drift_result results[2];
    for (int i = 0; i < 2; i++) {
        struct drift_result *r = &results[i];
        cr_assert_eq(drift_run(context, 1, STEPS, widths[i], NULL, r), ASSAY_OK);
        cr_assert(r->pass, "width %d: %s", (int)widths[i], r->reason);
        cr_assert_eq(r->num_points, DRIFT_POINTS);
        cr_assert_eq(r->state16_calls, (uint64_t)(STEPS / widths[i]));
        cr_assert(r->worst > 1e-5, "no rounding at all: the fp16 state was not exercised");
        cr_assert(strstr(r->route16, ".state16.") != NULL);
        cr_log_info("width %d: worst %.3g, quarters %.3g %.3g %.3g %.3g, %.3g of the bound",
                    (int)widths[i], r->worst, r->quarter_mean[0], r->quarter_mean[1],
                    r->quarter_mean[2], r->quarter_mean[3], r->worst_ratio);
    }
    /* Tokens are rounded one by one whatever the width: the last states are the same. */
    cr_assert_eq(results[0].error[DRIFT_POINTS - 1], results[1].error[DRIFT_POINTS - 1]);
    assay_context_destroy(context);
}

Test(drift, bf16_state_is_caught)
{
    const char *name = "gdn_recurrent.mutant.state_bf16.cpu";
    const struct case_spec *spec = case_spec_find("gdn_recurrent");
    for (int i = 0; i < spec->num_mutants; i++)
        if (strcmp(spec->mutants[i].route.name, name) == 0)
            cr_assert_eq(assay_route_add(&spec->mutants[i].route, NULL), ASSAY_OK);
    assay_context *context = new_context(0);
    struct drift_result r;
    cr_assert_eq(drift_run(context, 1, STEPS, 4, name, &r), ASSAY_OK);
    cr_assert(!r.pass, "worst %.3g", r.worst);
    cr_assert_str_eq(r.route16, name);
    cr_log_info("bf16: %s; %.3g of the bound", r.reason, r.worst_ratio);
    assay_context_destroy(context);
}
