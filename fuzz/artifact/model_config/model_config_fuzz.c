/* SPDX-License-Identifier: MIT
 *
 * model_config: the bytes are config.json; up to a zero byte, what follows is
 * generation_config.json.
 */
#include "fuzz_folder.h"

#include <string.h>

#include <assay/model.h>
#include <assay/testing.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What every reader of a config relies on. */
static void check_sizes(const struct assay_model_config *c)
{
    if (c->vocab_size < 1 || c->hidden_size < 1 || c->num_layers < 1 ||
        c->num_layers > ASSAY_MAX_LAYERS || c->head_dim < 1 || c->num_kv_heads < 1 ||
        c->num_heads % c->num_kv_heads != 0 || c->linear_key_heads < 1 ||
        c->linear_value_heads % c->linear_key_heads != 0)
        fuzz_fail("sizes that no model has were accepted");
    if (c->num_stop_tokens < 0 || c->num_stop_tokens > ASSAY_MAX_STOP_TOKENS)
        fuzz_fail("more stop tokens than there is room for");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t first = end != NULL ? (size_t)(end - data) : size;
    struct assay_model_config config;
    struct assay_error error = {.status = ASSAY_OK};
    fuzz_folder_write("config.json", data, first);
    if (end != NULL)
        fuzz_folder_write("generation_config.json", end + 1, size - first - 1);
    else
        fuzz_folder_write("generation_config.json", "{}", 2);
    const assay_status status = assay_config_read(fuzz_folder(), &config, &error);
    fuzz_check_record(status, &error);
    if (status == ASSAY_OK)
        check_sizes(&config);
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
