/* SPDX-License-Identifier: MIT
 *
 * Evidence drift: the recurrent state over thousands of steps, kept as the trade keeps it, against
 * the same run with the state in fp32, at widths 1 and 4. properties/state/drift.h has the bound.
 */
#include "gate_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drift.h"

enum { STEPS = 4096 };

static const int widths[] = {1, 4};
enum { NUM_WIDTHS = sizeof widths / sizeof *widths };

static void add_run(struct gate_result *result, int width, const struct drift_result *run)
{
    struct gate_drift_run *out = &result->drift[result->num_drift_runs++];
    struct gate_item *item = &result->item[GATE_DRIFT];
    double *measured = result->measured;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the caller checked it */
    const double growth = run->quarter_mean[3] / run->quarter_mean[1];
    snprintf(out->name, sizeof out->name, "width %d", width);
    out->steps = run->steps;
    for (int k = 0; k < run->num_points && k < GATE_DRIFT_POINTS; k++) {
        out->step[k] = (double)run->step[k];
        out->error[k] = run->error[k];
        out->bound[k] = run->bound[k];
        out->num_points = k + 1;
    }
    out->worst = run->worst;
    /* A run without any error has not grown. */
    out->growth = run->worst == 0.0 ? 0.0 : growth;
    out->bound_share = run->worst_ratio;
    item->coverage += run->state16_calls;
    const bool first = result->num_drift_runs == 1;
    const double steps = (double)run->steps;
    /* A NaN stays: fmax would drop it. */
    const struct {
        enum gate_limit limit;
        double value;
    } worst[] = {{GATE_LIMIT_DRIFT_ERROR, out->worst},
                 {GATE_LIMIT_DRIFT_GROWTH, out->growth},
                 {GATE_LIMIT_DRIFT_BOUND, out->bound_share}};
    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++)
        if (first || !(worst[i].value <= measured[worst[i].limit]))
            measured[worst[i].limit] = worst[i].value;
    if (first || steps < measured[GATE_LIMIT_DRIFT_STEPS])
        measured[GATE_LIMIT_DRIFT_STEPS] = steps;
    const size_t used = strlen(item->note);
    snprintf(item->note + used, sizeof item->note - used, "%s%s: worst %.3g %%%s%s",
             first ? "" : "; ", out->name, 100.0 * run->worst, run->pass ? "" : ", ", run->reason);
}

assay_status gate_collect_drift(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_result *result = bench->result;
    struct assay_context_options options = assay_context_defaults();
    const char *route = bench->planted == NULL ? NULL : bench->planted->route.name;
    assay_context *context;
    if ((bench->options->trades & 1u << ASSAY_TRADE_GDN_STATE_FP16) == 0)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "gate", "drift",
                          "no drift run is known for this trade");
    /* A mutant of another op does not change these runs. */
    if (route != NULL && strncmp(route, "gdn_recurrent.", strlen("gdn_recurrent.")) != 0)
        route = NULL;
    options.num_threads = bench->options->threads;
    options.backend = bench->options->backend;
    options.device = bench->options->device;
    TRY(assay_context_create(&options, &context, error));
    struct drift_result *run = calloc(1, sizeof *run);
    assay_status status =
        run != NULL ? ASSAY_OK : assay_fail(error, ASSAY_E_MEMORY, "gate", "drift", "no memory");
    for (int i = 0; i < NUM_WIDTHS && status == ASSAY_OK; i++) {
        status = gate_bench_progress(bench, "drift", i, NUM_WIDTHS, error);
        if (status != ASSAY_OK)
            break;
        status = drift_run(context, bench->options->seed, STEPS, widths[i], route, run);
        if (status != ASSAY_OK)
            assay_fail(error, status, "gate", "drift", "%s", assay_context_error(context)->message);
        else
            add_run(result, widths[i], run);
    }
    if (status == ASSAY_OK)
        result->item[GATE_DRIFT].taken = GATE_TAKEN;
    free(run);
    assay_context_destroy(context);
    return status;
}
