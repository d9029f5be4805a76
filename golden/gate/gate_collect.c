/* SPDX-License-Identifier: MIT
 *
 * Takes all evidence for one trade on one model.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Without references there is nothing to compare with, unless whether there are any is unknown. */
static bool has_baseline(const struct gate_bench *bench)
{
    return bench->references_unknown || bench->references[0] != '\0';
}

/* One collector and the evidence that it takes. A failure leaves the evidence missing. */
static assay_status collect(struct gate_bench *bench, gate_collector *collector,
                            const enum gate_evidence *taken, int num_taken,
                            struct assay_error *error)
{
    struct assay_error problem = {0};
    const double start = now();
    bool required = false;
    for (int i = 0; i < num_taken; i++) {
        struct gate_item *item = &bench->result->item[taken[i]];
        const bool wanted = bench->result->policy.required[taken[i]];
        const bool possible = taken[i] != GATE_BASELINE || has_baseline(bench);
        required = required || (wanted && possible);
        item->taken = GATE_NOT_APPLICABLE;
        snprintf(item->note, sizeof item->note, "%s",
                 possible || !wanted ? "not required by the policy"
                                     : "there is no FP64 reference of this model");
    }
    if (!required)
        return ASSAY_OK;
    for (int i = 0; i < num_taken; i++)
        bench->result->item[taken[i]] = (struct gate_item){.taken = GATE_NOT_TAKEN};
    const assay_status status = collector(bench, &problem);
    for (int i = 0; i < num_taken; i++) {
        struct gate_item *item = &bench->result->item[taken[i]];
        item->seconds = (now() - start) / num_taken;
        if (status == ASSAY_OK)
            continue;
        item->taken = GATE_NOT_TAKEN;
        assay_error_format(&problem, item->note, sizeof item->note);
    }
    if (status == ASSAY_E_CANCELLED)
        *error = problem;
    return status == ASSAY_E_CANCELLED ? status : ASSAY_OK;
}

/* Nothing is judged by it: what cannot be measured is said. */
static assay_status measure_gain(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_gain *const gain = &bench->result->gain;
    struct assay_error problem = {0};
    if (bench->planted != NULL) {
        snprintf(gain->note, sizeof gain->note, "not measured: a planted route has no speed");
        return ASSAY_OK;
    }
    const assay_status status = gate_measure_gain(bench, &problem);
    if (status == ASSAY_E_CANCELLED)
        *error = problem;
    else if (status != ASSAY_OK)
        assay_error_format(&problem, gain->note, sizeof gain->note);
    return status == ASSAY_E_CANCELLED ? status : ASSAY_OK;
}

static assay_status collect_all(struct gate_bench *bench, struct assay_error *error)
{
    static const struct {
        gate_collector *collector;
        int num_taken;
        enum gate_evidence taken[3];
    } steps[] = {
        {gate_collect_ops, 1, {GATE_OPS}},
        {gate_collect_drift, 1, {GATE_DRIFT}},
        {gate_collect_greedy, 1, {GATE_GREEDY}},
        {gate_collect_nll, 3, {GATE_NLL_DECODE, GATE_NLL_PREFILL, GATE_BASELINE}},
        {gate_collect_width, 1, {GATE_NLL_WIDTH}},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        TRY(collect(bench, steps[i].collector, steps[i].taken, steps[i].num_taken, error));
    return measure_gain(bench, error);
}

assay_status gate_collect(const struct gate_options *options, struct gate_result *result,
                          struct assay_error *error)
{
    struct gate_bench bench;
    const double start = now();
    assay_status status = gate_bench_open(options, result, &bench, error);
    if (status == ASSAY_OK)
        status = gate_bench_identify(&bench, error);
    if (status == ASSAY_OK)
        status = collect_all(&bench, error);
    gate_bench_close(&bench);
    result->seconds = now() - start;
    return status;
}
