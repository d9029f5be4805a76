/* SPDX-License-Identifier: MIT
 *
 * Takes all evidence for one trade on one model.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sets bench->references when bundled.json lists the model's digest. */
static void find_references(struct gate_bench *bench)
{
    char path[4352];
    size_t i;
    json_t *model;
    gate_bench_data(bench, "gate/bundled.json", path, sizeof path);
    json_t *root = json_load_file(path, 0, NULL);
    bench->references_unknown = root == NULL;
    json_array_foreach(json_object_get(root, "models"), i, model)
    {
        const char *digest = json_string_value(json_object_get(model, "digest"));
        const char *name = json_string_value(json_object_get(model, "references"));
        if (digest != NULL && name != NULL && strcmp(digest, bench->result->key.model) == 0)
            snprintf(bench->references, sizeof bench->references, "%.1000s/references/%.100s",
                     bench->options->data_dir, name);
    }
    json_decref(root);
    bench->result->references = bench->references[0] != '\0';
}

static assay_status identify(struct gate_bench *bench, struct assay_error *error)
{
    const struct gate_options *options = bench->options;
    struct gate_result *result = bench->result;
    const struct assay_gate_machine machine = {options->backend, assay_context_isa(bench->with),
                                               options->device};
    char digest[65];
    const time_t time_now = time(NULL);
    struct tm utc;
    gmtime_r(&time_now, &utc);
    strftime(result->recorded, sizeof result->recorded, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(result->model_dir, sizeof result->model_dir, "%s", options->model_dir);
    result->quick = options->quick;
    result->seed = options->seed;
    result->threads = assay_context_num_threads(bench->with);
    TRY(assay_model_digest(bench->model, digest, error));
    return assay_gate_key_fill(digest, 1u << (unsigned)options->trade, &machine, &result->key,
                               error);
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
        required = required || bench->result->policy.required[taken[i]];
        item->taken = GATE_NOT_APPLICABLE;
        snprintf(item->note, sizeof item->note, "not required by the policy");
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
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        TRY(collect(bench, steps[i].collector, steps[i].taken, steps[i].num_taken, error));
    return ASSAY_OK;
}

assay_status gate_collect(const struct gate_options *options, struct gate_result *result,
                          struct assay_error *error)
{
    struct gate_bench bench;
    const double start = now();
    assay_status status = gate_bench_open(options, result, &bench, error);
    if (status == ASSAY_OK)
        status = identify(&bench, error);
    if (status == ASSAY_OK) {
        find_references(&bench);
        status = collect_all(&bench, error);
    }
    gate_bench_close(&bench);
    result->seconds = now() - start;
    return status;
}
