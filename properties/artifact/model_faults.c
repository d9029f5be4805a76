/* SPDX-License-Identifier: MIT
 *
 * Fail the n-th: every allocation, mapping and file operation under assay_config_read and
 * assay_model_open fails once; each time the call must fail cleanly, and leave nothing behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>
#include <assay/testing.h>

#include "small_model.h"

enum { MAX_STEPS = 20000 };

static void check_failure(int64_t n, const char *dir, assay_status status,
                          const struct assay_error *error)
{
    cr_assert(assay_fault_happened(), "%s, step %lld: fails without a fault: %s: %s", dir,
              (long long)n, error->where, error->message);
    cr_assert(status == ASSAY_E_MEMORY || status == ASSAY_E_IO, "%s, step %lld: %s", dir,
              (long long)n, assay_status_name(status));
    cr_assert(error->status == status && error->message[0] != '\0', "%s, step %lld", dir,
              (long long)n);
    cr_assert(assay_live_allocations() == 0, "%s, step %lld leaks", dir, (long long)n);
    small_unmapped(dir, "a failed call");
}

/* Number of steps that failed before the first success. */
static int64_t fail_config(const char *dir)
{
    for (int64_t n = 1; n < MAX_STEPS; n++) {
        struct assay_error error = {.status = ASSAY_OK};
        struct assay_model_config config;
        assay_fault_after(n);
        assay_status status = assay_config_read(dir, &config, &error);
        if (status == ASSAY_OK) {
            cr_assert_not(assay_fault_happened(), "step %lld was swallowed", (long long)n);
            assay_fault_after(0);
            return n - 1;
        }
        check_failure(n, dir, status, &error);
        for (size_t i = 0; i < sizeof config; i++)
            cr_assert(((const char *)&config)[i] == 0, "half a config is left");
    }
    cr_assert(false, "%s never succeeds", dir);
    return 0;
}

static int64_t fail_model(const char *dir)
{
    for (int64_t n = 1; n < MAX_STEPS; n++) {
        struct assay_error error = {.status = ASSAY_OK};
        assay_model *model = NULL;
        assay_fault_after(n);
        assay_status status = assay_model_open(dir, &model, &error);
        if (status == ASSAY_OK) {
            cr_assert_not(assay_fault_happened(), "step %lld was swallowed", (long long)n);
            assay_fault_after(0);
            assay_model_close(model);
            cr_assert(assay_live_allocations() == 0);
            return n - 1;
        }
        cr_assert_null(model);
        check_failure(n, dir, status, &error);
    }
    cr_assert(false, "%s never succeeds", dir);
    return 0;
}

static void write_shards(const char *dir, const struct small_model *small)
{
    enum { SPLIT = 10 };
    char *index = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&index, &size);

    cr_assert(stream != NULL);
    fprintf(stream, "{\"weight_map\":{");
    for (int i = 0; i < small->num_tensors; i++)
        fprintf(stream, "%s\"%s\":\"%c.safetensors\"", i > 0 ? "," : "", small->tensors[i].name,
                i < SPLIT ? 'a' : 'b');
    fprintf(stream, "}}");
    cr_assert(fclose(stream) == 0);
    small_write(dir, "model.safetensors.index.json", index, size);
    small_write_file(dir, "a.safetensors", small, 0, SPLIT);
    small_write_file(dir, "b.safetensors", small, SPLIT, small->num_tensors);
    free(index);
}

/* The counts below are of the JSON library too: they show that its allocations take part. */
Test(model, faults)
{
    char *dir = small_folder();
    struct small_model small;

    small_tensors(&small, "model.", "lm_head.weight", "mtp.");
    small_write_config(dir, NULL, 0);
    small_write_file(dir, "model.safetensors", &small, 0, small.num_tensors);
    int64_t config_steps = fail_config(dir), single_steps = fail_model(dir);
    small_delete(dir, "model.safetensors");
    write_shards(dir, &small);
    int64_t sharded_steps = fail_model(dir);
    cr_log_info("steps: config %lld, one file %lld, two shards %lld", (long long)config_steps,
                (long long)single_steps, (long long)sharded_steps);
    cr_assert(config_steps > 50 && single_steps > config_steps + 400);
    cr_assert(sharded_steps > single_steps + 50);
    small_remove(dir);
}
