/* SPDX-License-Identifier: MIT
 *
 * safetensors: the bytes are model.safetensors beside the config of a model that exists: of a
 * mixture when they name its experts. When they begin with a brace they are the index of shards, up
 * to the first zero, and then the shard a.safetensors.
 */
#include "fuzz_folder.h"
#include "open_fuzz.h"
#include "small_config.h"

#include <stdbool.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_single(const uint8_t *data, size_t size)
{
    fuzz_folder_remove("model.safetensors.index.json");
    fuzz_folder_write("model.safetensors", data, size);
}

static void write_shard(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0, size);
    const size_t text = end != NULL ? (size_t)(end - data) : size;
    fuzz_folder_remove("model.safetensors");
    fuzz_folder_write("model.safetensors.index.json", data, text);
    if (end != NULL)
        fuzz_folder_write("a.safetensors", end + 1, size - text - 1);
    else
        fuzz_folder_remove("a.safetensors");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char experts[] = ".mlp.experts.";
    const bool is_mixture = size > 0 && memmem(data, size, experts, strlen(experts)) != NULL;
    const char *config = is_mixture ? fuzz_small_mixture : fuzz_small_config;
    fuzz_folder_write("config.json", config, strlen(config));
    if (size > 0 && data[0] == '{')
        write_shard(data, size);
    else
        write_single(data, size);
    open_fuzz_try(fuzz_folder(), true);
    open_fuzz_try(fuzz_folder(), false);
    return 0;
}
