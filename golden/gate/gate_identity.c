/* SPDX-License-Identifier: MIT
 *
 * What a gate run speaks for and what it ran on: key, references, device, driver.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <jansson.h>

#include <assay/device.h>

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

/* "model name" of the first processor, else its architecture. */
static void describe_processor(char *text, size_t size)
{
    char line[256];
    struct utsname host;
    if (uname(&host) == 0)
        snprintf(text, size, "%s", host.machine);
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", value + 2);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static void describe_machine(const struct gate_bench *bench)
{
    struct gate_result *result = bench->result;
    struct assay_device device;
    struct utsname host;
    if (bench->options->backend == ASSAY_CUDA &&
        assay_device_describe(bench->options->device, &device, NULL) == ASSAY_OK) {
        snprintf(result->device, sizeof result->device, "%s", device.name);
        snprintf(result->driver, sizeof result->driver, "CUDA driver %d, runtime %d", device.driver,
                 device.runtime);
        return;
    }
    describe_processor(result->device, sizeof result->device);
    if (uname(&host) == 0)
        snprintf(result->driver, sizeof result->driver, "%.20s %.60s", host.sysname, host.release);
}

assay_status gate_bench_identify(struct gate_bench *bench, struct assay_error *error)
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
    snprintf(result->policy_file, sizeof result->policy_file, "%s",
             options->policy_file == NULL ? "built-in" : options->policy_file);
    describe_machine(bench);
    TRY(assay_model_digest(bench->model, digest, error));
    TRY(assay_gate_key_fill(digest, options->trades, &machine, &result->key, error));
    find_references(bench);
    gate_bench_corpus(bench);
    gate_bench_storage(bench);
    return ASSAY_OK;
}
