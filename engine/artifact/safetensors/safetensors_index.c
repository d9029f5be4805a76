/* SPDX-License-Identifier: MIT
 *
 * model.safetensors.index.json: which shard holds which tensor. Index and shards must agree in
 * both directions, so that neither a forgotten shard nor a stray tensor goes unseen.
 */
#include "artifact/safetensors/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/input_file.h"
#include "core/json_input.h"

/* A name in the model folder itself: an index must not reach other folders. */
static bool is_plain_name(const char *name)
{
    static const char suffix[] = ".safetensors";
    size_t length = strlen(name);

    return length > strlen(suffix) && length <= 255 && name[0] != '.' &&
           strpbrk(name, "/\\") == NULL && strstr(name, "..") == NULL &&
           strcmp(name + length - strlen(suffix), suffix) == 0;
}

static int compare_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}

/* Fills names[] with the shards' names, sorted, each once; they live in the JSON tree. names has
 * room for as many as weight_map has entries. */
static assay_status list_shards(json_t *weight_map, const char **names, size_t *num_names,
                                struct assay_error *error)
{
    const char *tensor;
    json_t *value;
    size_t count = 0, num_unique = 0;
    char found[64];

    json_object_foreach(weight_map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (name == NULL)
            return assay_fail(error, ASSAY_E_CORRUPT, SAFETENSORS_INDEX, tensor,
                              "weight_map has %s here, expected the name of a file",
                              assay_json_describe(value, found, sizeof found));
        if (!is_plain_name(name))
            return assay_fail(error, ASSAY_E_CORRUPT, SAFETENSORS_INDEX, tensor,
                              "weight_map names \"%.100s\", expected a .safetensors file of the "
                              "model folder without any path",
                              name);
        names[count++] = name;
    }
    qsort(names, count, sizeof *names, compare_text);
    for (size_t i = 0; i < count; i++)
        if (num_unique == 0 || strcmp(names[num_unique - 1], names[i]) != 0)
            names[num_unique++] = names[i];
    *num_names = num_unique;
    return ASSAY_OK;
}

/* Every stored tensor is listed for the shard that has it. */
static assay_status check_stored(const struct safetensors_set *set, json_t *weight_map,
                                 struct assay_error *error)
{
    for (int64_t i = 0; i < set->num_entries; i++) {
        const struct safetensors_entry *entry = &set->entries[i];
        const char *file = set->files[entry->file].name;
        const char *listed = json_string_value(json_object_get(weight_map, entry->name));
        if (listed == NULL)
            return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                              "the file has this tensor, but weight_map of %s does not list it",
                              SAFETENSORS_INDEX);
        if (strcmp(listed, file) != 0)
            return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                              "weight_map of %s puts this tensor into %.100s", SAFETENSORS_INDEX,
                              listed);
    }
    return ASSAY_OK;
}

/* Every listed tensor is stored. */
static assay_status check_listed(const struct safetensors_set *set, json_t *weight_map,
                                 struct assay_error *error)
{
    const char *tensor;
    json_t *value;

    json_object_foreach(weight_map, tensor, value)
    {
        if (assay_safetensors_find(set, tensor) < 0)
            return assay_fail(error, ASSAY_E_NOT_FOUND, json_string_value(value), tensor,
                              "weight_map of %s lists this tensor, but the file does not have it",
                              SAFETENSORS_INDEX);
    }
    return ASSAY_OK;
}

static assay_status open_shards(const char *dir, json_t *weight_map, const char **names,
                                struct safetensors_set *set, struct assay_error *error)
{
    size_t num_names = 0;

    ASSAY_TRY(list_shards(weight_map, names, &num_names, error));
    for (size_t i = 0; i < num_names; i++)
        ASSAY_TRY(assay_safetensors_add_file(dir, names[i], set, error));
    assay_safetensors_sort(set);
    ASSAY_TRY(check_stored(set, weight_map, error));
    return check_listed(set, weight_map, error);
}

static assay_status read_weight_map(const char *dir, json_t *root, struct safetensors_set *set,
                                    struct assay_error *error)
{
    json_t *weight_map = json_object_get(root, "weight_map");

    if (!json_is_object(weight_map) || json_object_size(weight_map) == 0)
        return assay_fail(error, ASSAY_E_CORRUPT, SAFETENSORS_INDEX, "weight_map",
                          "is missing, empty or not an object of tensor and file names");
    const char **names = assay_alloc_zero(json_object_size(weight_map), sizeof *names);
    if (names == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, SAFETENSORS_INDEX, "weight_map",
                          "no memory for %zu names", json_object_size(weight_map));
    assay_status status = open_shards(dir, weight_map, names, set, error);
    assay_free(names);
    return status;
}

assay_status assay_safetensors_add_index(const char *dir, const struct assay_map *index,
                                         struct safetensors_set *set, struct assay_error *error)
{
    json_t *root = NULL;

    ASSAY_TRY(assay_input_parse(SAFETENSORS_INDEX, "JSON", index->data, index->bytes, ASSAY_E_PARSE,
                                &root, error));
    assay_status status = read_weight_map(dir, root, set, error);
    json_decref(root);
    return status;
}
