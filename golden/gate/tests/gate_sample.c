/* SPDX-License-Identifier: MIT
 *
 * The made-up gate run.
 */
#include "gate_sample.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void fill_details(struct gate_result *result)
{
    result->num_drift_runs = 2;
    for (int i = 0; i < 2; i++) {
        struct gate_drift_run *run = &result->drift[i];
        *run = (struct gate_drift_run){.steps = 4096, .num_points = 64, .worst = 0.001};
        snprintf(run->name, sizeof run->name, "width %d <&>", i == 0 ? 1 : 4);
        for (int k = 0; k < run->num_points; k++) {
            run->step[k] = 64.0 * (k + 1);
            run->error[k] = 0.0005 + 1e-6 * k;
            run->bound[k] = 0.002;
        }
    }
    result->num_routes = 2;
    result->route[0] = (struct gate_route){"gdn.<a>.cpu", 100, 0, 0.5, 0.25};
    result->route[1] = (struct gate_route){"gdn.b.cpu", 50, 0, 1.0, 0.0};
    for (int path = 0; path < 2; path++) {
        result->kl[path] = (struct gate_kl){.count = 4, .same_top = 3, .sum = 0.25, .max = 0.2};
        result->kl[path].bin[0] = 1;
        result->kl[path].bin[GATE_KL_BINS - 1] = 3;
    }
    result->num_prompts = 1;
    snprintf(result->prompt[0].name, sizeof result->prompt[0].name, "chat \"sum\"");
    result->num_losses = 1;
    snprintf(result->loss[0].text, sizeof result->loss[0].text, "prose");
    result->num_width_losses = 1;
    result->width_loss[0] = (struct gate_width_loss){"prose", 2112, 3, {2.0, 2.001}};
    result->gain = (struct gate_gain){.taken = true,
                                      .weights = {4096, 3072},
                                      .decode_reads = {4096, 3072},
                                      .prefill = {1000, 1250},
                                      .decode = {100, 90}};
}

struct gate_result *sample_result(void)
{
    struct gate_result *result = calloc(1, sizeof *result);
    struct assay_error error = {0};
    size_t bytes;
    const char *policy = assay_gate_policy(&bytes);
    const enum assay_trade trade = ASSAY_TRADE_GDN_STATE_FP16;
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    const time_t now = time(NULL);
    struct tm utc;
    cr_assert(result != NULL);
    cr_assert(gate_policy_read(policy, bytes, "built-in", trade, &result->policy, &error) ==
                  ASSAY_OK,
              "%s: %s", error.what, error.message);
    cr_assert(assay_gate_key_fill(SAMPLE_MODEL, 1u << trade, &machine, &result->key, &error) ==
              ASSAY_OK);
    gmtime_r(&now, &utc);
    strftime(result->recorded, sizeof result->recorded, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(result->model_dir, sizeof result->model_dir, "models/made-up & <more>");
    snprintf(result->command, sizeof result->command, "assay gate 'models/made-up & <more>'");
    result->threads = 2;
    snprintf(result->device, sizeof result->device, "a made-up processor");
    snprintf(result->driver, sizeof result->driver, "Kernel 1.0");
    snprintf(result->policy_file, sizeof result->policy_file, "built-in");
    snprintf(result->corpus, sizeof result->corpus, "%s", SAMPLE_MODEL);
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++)
        result->item[e] = (struct gate_item){.taken = GATE_TAKEN, .coverage = 7, .note = "a < b"};
    for (int i = 0; i < GATE_NUM_LIMITS; i++)
        result->measured[i] = result->policy.limit[i];
    fill_details(result);
    gate_judge(result, "2026-11-30");
    return result;
}
