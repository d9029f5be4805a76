/* SPDX-License-Identifier: MIT
 *
 * A folder of safetensors as a weight store: config.json and the weight files that safetensors.h
 * opens. Everything is used in place, but for what
 * joined.h joins.
 */
#include "artifact/safetensors/safetensors.h"
#include "artifact/weight_store.h"

#include <string.h>

#include "artifact/input_file.h"

#define CONFIG_FILE "config.json"

struct weight_container {
    struct safetensors_set set;
};

static assay_status load(struct weight_store *store, const struct assay_model_config *config,
                         bool rows_only, struct assay_error *error)
{
    struct safetensors_set *set = &store->container->set;

    ASSAY_TRY(assay_safetensors_open(store->dir, set, error));
    store->files = assay_alloc_zero((size_t)set->num_files, sizeof *store->files);
    store->tensors = assay_alloc_zero((size_t)set->num_entries, sizeof *store->tensors);
    if (store->files == NULL || store->tensors == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, store->path, "",
                          "no memory for the list of tensors");
    for (int i = 0; i < set->num_files; i++)
        store->files[store->num_files++] =
            (struct store_file){set->files[i].name, set->files[i].map};
    for (int64_t i = 0; i < set->num_entries; i++) {
        const struct safetensors_entry *entry = &set->entries[i];
        struct stored_tensor *tensor = &store->tensors[store->num_tensors++];
        *tensor = (struct stored_tensor){.name = entry->name,
                                         .format_name = entry->dtype,
                                         .file = entry->file,
                                         .rank = entry->rank,
                                         .bytes = entry->bytes,
                                         .dtype = entry->format,
                                         .data = entry->data,
                                         .encoder = ASSAY_NUM_WEIGHT_ENCODERS};
        memcpy(tensor->extent, entry->extent, sizeof tensor->extent);
    }
    return weight_store_join(store, config, rows_only, error);
}

static void close_container(struct weight_container *container)
{
    assay_safetensors_close(&container->set);
    assay_free(container);
}

assay_status store_open_safetensors(struct weight_store *store, struct assay_error *error)
{
    static const struct store_kind kind = {.list_name = SAFETENSORS_INDEX,
                                           .remedy = "use the model's BF16 release",
                                           .load = load,
                                           .close = close_container};

    _Static_assert((int)STORE_MAX_RANK == (int)SAFETENSORS_MAX_RANK, "extents are copied");
    store->kind = &kind;
    store->config_file = CONFIG_FILE;
    ASSAY_TRY(assay_input_open(store->dir, CONFIG_FILE, &store->config_map, error));
    ASSAY_TRY(assay_input_parse(CONFIG_FILE, "JSON", store->config_map.data,
                                store->config_map.bytes, ASSAY_E_PARSE, &store->config, error));
    store->container = assay_alloc_zero(1, sizeof *store->container);
    if (store->container == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, store->path, "", "no memory to open the model");
    return ASSAY_OK;
}
