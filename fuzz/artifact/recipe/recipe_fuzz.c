/* SPDX-License-Identifier: MIT
 *
 * recipe: the bytes up to the first zero are a recipe's JSON, or the name of a recipe, and what
 * follows is an importance matrix. They convert a small model, as far as its last tensor.
 */
#include "fuzz_folder.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/convert.h>
#include <assay/testing.h>

#include "small_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_model(void)
{
    enum { MOST = 65536 };
    static char bytes[MOST];
    FILE *file = fopen(fuzz_data("fuzz/artifact/safetensors/seeds/whole.bin"), "rb");
    if (file == NULL)
        fuzz_fail("there is no model to convert");
    const size_t size = fread(bytes, 1, MOST, file);
    fclose(file);
    fuzz_folder_write("config.json", fuzz_small_config, strlen(fuzz_small_config));
    fuzz_folder_write("model.safetensors", bytes, size);
}

/* Stops at the final norm, whose eight elements are the last. */
static bool go_on(void *argument, const struct assay_convert_progress *progress)
{
    (void)argument;
    if (progress->tensor == NULL || progress->done > progress->total)
        fuzz_fail("progress beyond the end");
    return progress->done + 8 < progress->total;
}

/* Letters, digits and dashes alone are no path. */
static bool is_name(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isalnum(data[i]) && data[i] != '-')
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[16];
    static char recipe[4200], importance[4200], output[4200];
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t text = end != NULL ? (size_t)(end - data) : size;
    struct assay_error error = {.status = ASSAY_OK};
    if (recipe[0] == '\0') {
        snprintf(recipe, sizeof recipe, "%s/recipe.json", fuzz_folder());
        snprintf(importance, sizeof importance, "%s/importance.gguf", fuzz_folder());
        snprintf(output, sizeof output, "%s/output.assay", fuzz_folder());
        write_model();
    }
    fuzz_folder_write("recipe.json", data, text);
    if (end != NULL)
        fuzz_folder_write("importance.gguf", end + 1, size - text - 1);
    struct assay_convert_options options = assay_convert_defaults();
    options.model = fuzz_folder();
    options.output = output;
    options.recipe = recipe;
    if (text < sizeof name && is_name(data, text)) {
        snprintf(name, sizeof name, "%.*s", (int)text, (const char *)data);
        options.recipe = name;
    }
    options.importance = end != NULL ? importance : NULL;
    options.num_threads = 1;
    options.progress = go_on;
    const assay_status status = assay_convert(&options, NULL, &error);
    fuzz_check_record(status, &error);
    if (status == ASSAY_OK || access(output, F_OK) == 0)
        fuzz_fail("a conversion that was stopped left its folder");
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
