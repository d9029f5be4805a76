/* SPDX-License-Identifier: MIT
 *
 * Finding a model's container, and what all containers share: see weight_store.h.
 */
#include "artifact/weight_store.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/assay/assay_file.h"
#include "artifact/input_file.h"
#include "numeric/float_words.h"

static bool ends_in(const char *text, const char *suffix)
{
    const size_t length = strlen(text), wanted = strlen(suffix);

    return length > wanted && strcmp(text + length - wanted, suffix) == 0;
}

static assay_status open_container(struct weight_store *store, struct assay_error *error)
{
    bool present = false;

    if (assay_input_is_file(store->path))
        return store_open_gguf(store, error);
    ASSAY_TRY(store_open_assay(store, &present, error));
    if (!present && ends_in(store->path, ".assay"))
        return assay_fail(error, ASSAY_E_NOT_FOUND, ASSAY_FILE_DIRECTORY, "",
                          "the folder %s does not have this file", store->path);
    return present ? ASSAY_OK : store_open_safetensors(store, error);
}

assay_status weight_store_open(const char *path, struct weight_store *store,
                               struct assay_error *error)
{
    *store = (struct weight_store){.path = assay_duplicate(path)};
    if (store->path != NULL)
        store->dir = assay_input_folder(path);
    assay_status status = ASSAY_OK;
    if (store->dir == NULL)
        status = assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for the model's name");
    if (status == ASSAY_OK)
        status = open_container(store, error);
    if (status != ASSAY_OK)
        weight_store_close(store);
    return status;
}

assay_status weight_store_load(struct weight_store *store, const struct assay_model_config *config,
                               bool rows_only, struct assay_error *error)
{
    return store->kind->load(store, config, rows_only, error);
}

void weight_store_close(struct weight_store *store)
{
    if (store->container != NULL)
        store->kind->close(store->container);
    json_decref(store->config);
    assay_map_close(&store->config_map);
    assay_free(store->files);
    assay_free(store->tensors);
    weight_store_free_joined(store);
    assay_free(store->dir);
    assay_free(store->path);
    *store = (struct weight_store){.path = NULL};
}

static int compare_name(const void *left, const void *right)
{
    const struct stored_tensor *a = left, *b = right;

    return strcmp(a->name, b->name);
}

void weight_store_sort(struct weight_store *store)
{
    if (store->num_tensors > 0)
        qsort(store->tensors, (size_t)store->num_tensors, sizeof *store->tensors, compare_name);
}

int64_t weight_store_lower_bound(const struct weight_store *store, const char *name)
{
    int64_t low = 0, high = store->num_tensors;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(store->tensors[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t weight_store_find(const struct weight_store *store, const char *name)
{
    const int64_t index = weight_store_lower_bound(store, name);

    if (index < store->num_tensors && strcmp(store->tensors[index].name, name) == 0)
        return index;
    return -1;
}

int64_t stored_columns(const struct stored_tensor *tensor)
{
    return tensor->rank > 0 ? tensor->extent[tensor->rank - 1] : 1;
}

int64_t stored_rows(const struct stored_tensor *tensor)
{
    int64_t rows = 1;

    for (int i = 0; i + 1 < tensor->rank; i++)
        rows *= tensor->extent[i];
    return rows;
}

bool stored_is_bank(const struct stored_tensor *tensor)
{
    return tensor->rank == 3 && strstr(tensor->name, ".mlp.experts.") != NULL;
}

static bool is_float(enum assay_dtype dtype)
{
    return dtype == ASSAY_F32 || dtype == ASSAY_BF16 || dtype == ASSAY_F16;
}

bool weight_store_has_rows(const struct weight_store *store, const struct stored_tensor *tensor)
{
    return tensor->grouped || is_float(tensor->dtype) || tensor->parts != NULL ||
           store->kind->read_row != NULL;
}

static void read_part_row(const struct stored_parts *parts, int64_t row, int64_t columns,
                          float *values)
{
    const size_t at = (size_t)(row % parts->rows * columns) * assay_dtype_bytes(parts->dtype);

    words_to_f32(parts->data[row / parts->rows] + at, parts->dtype, columns, values);
}

void weight_store_read_row(const struct weight_store *store, const struct stored_tensor *tensor,
                           int64_t row, float *values)
{
    const int64_t columns = stored_columns(tensor);

    if (tensor->grouped)
        assay_weights_decode_row(&tensor->planes, row, values);
    else if (is_float(tensor->dtype))
        words_to_f32(tensor->data + (size_t)(row * columns) * assay_dtype_bytes(tensor->dtype),
                     tensor->dtype, columns, values);
    else if (tensor->parts != NULL)
        read_part_row(tensor->parts, row, columns, values);
    else
        store->kind->read_row(store, tensor, row, values);
}
