/* SPDX-License-Identifier: MIT
 *
 * Opening and closing a model, and what can be asked of an open one.
 */
#include "model/model_state.h"

#include <string.h>

#include "artifact/assay/assay_file.h"
#include "model/config_parts.h"

static assay_status open_parts(const char *path, assay_model *model, struct assay_error *error)
{
    struct weight_store *store = &model->store;

    ASSAY_TRY(weight_store_open(path, store, error));
    ASSAY_TRY(config_of_store(store, &model->config, error));
    ASSAY_TRY(weight_store_load(store, &model->config, model->rows_only, error));
    return model_bind(model, error);
}

static assay_status open_model(const char *path, bool rows_only, assay_model **model,
                               struct assay_error *error)
{
    assay_model *opened = assay_alloc_zero(1, sizeof *opened);
    if (opened == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory to open the model");
    opened->rows_only = rows_only;
    const assay_status status = open_parts(path, opened, error);
    if (status == ASSAY_OK)
        *model = opened;
    else
        assay_model_close(opened);
    return status;
}

assay_status assay_model_open(const char *model_dir, assay_model **model, struct assay_error *error)
{
    if (model == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open", "model", "must not be NULL");
    *model = NULL;
    if (model_dir == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open", "model_dir", "must not be NULL");
    return open_model(model_dir, false, model, error);
}

assay_status assay_model_open_rows(const char *path, assay_model **model, struct assay_error *error)
{
    if (model == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open_rows", "model", "must not be NULL");
    *model = NULL;
    if (path == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open_rows", "path", "must not be NULL");
    return open_model(path, true, model, error);
}

void assay_model_close(assay_model *model)
{
    if (model == NULL)
        return;
    assay_free(model->weights.layers);
    assay_free(model->tensors);
    weight_store_close(&model->store);
    assay_free(model);
}

const struct assay_model_config *assay_model_config(const assay_model *model)
{
    return &model->config;
}

const char *assay_model_dir(const assay_model *model)
{
    return model->store.path;
}

bool assay_model_can_run(const assay_model *model)
{
    return !model->rows_only;
}

int64_t assay_model_copied_bytes(const assay_model *model)
{
    return model->store.copied_bytes;
}

bool assay_model_final_norms(const assay_model *model)
{
    return model->store.final_norms;
}

const struct model_weights *model_bound_weights(const assay_model *model)
{
    return &model->weights;
}

int64_t assay_model_num_tensors(const assay_model *model)
{
    return model->num_tensors;
}

/* NULL outside the list. */
static const struct stored_tensor *tensor_at(const assay_model *model, int64_t index)
{
    if (index < 0 || index >= model->num_tensors)
        return NULL;
    return &model->store.tensors[model->tensors[index]];
}

/* The index among the model's tensors, -1 when there is none of this name. */
static int64_t find(const assay_model *model, const char *name)
{
    int64_t low = 0, high = model->num_tensors;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(tensor_at(model, middle)->name, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

struct assay_tensor assay_model_tensor_at(const assay_model *model, int64_t index,
                                          const char **name)
{
    const struct stored_tensor *entry = tensor_at(model, index);

    if (name != NULL)
        *name = entry == NULL ? NULL : entry->name;
    if (entry == NULL)
        return (struct assay_tensor){.data = NULL};
    return model_plain_view(entry);
}

bool assay_model_tensor(const assay_model *model, const char *name, struct assay_tensor *tensor)
{
    const struct stored_tensor *entry = tensor_at(model, find(model, name));

    if (entry == NULL || entry->grouped)
        return false;
    *tensor = model_plain_view(entry);
    return true;
}

bool assay_model_weights(const assay_model *model, const char *name, struct assay_weights *weights)
{
    const struct stored_tensor *entry = tensor_at(model, find(model, name));

    if (entry == NULL || (entry->rank != 2 && !entry->grouped) ||
        (!entry->grouped && entry->dtype != ASSAY_BF16))
        return false;
    *weights = model_weights_view(entry);
    return true;
}

bool assay_model_stored_at(const assay_model *model, int64_t index, struct assay_stored *stored)
{
    const struct stored_tensor *entry = tensor_at(model, index);

    *stored = (struct assay_stored){.name = NULL};
    if (entry == NULL)
        return false;
    stored->name = entry->name;
    stored->format = entry->format_name;
    if (entry->encoder != ASSAY_NUM_WEIGHT_ENCODERS)
        stored->encoder = assay_weight_encoder_name(entry->encoder);
    stored->rank = entry->rank;
    memcpy(stored->extent, entry->extent, sizeof stored->extent);
    stored->rows = stored_rows(entry);
    stored->columns = stored_columns(entry);
    stored->bytes = (int64_t)entry->bytes;
    return true;
}

int64_t assay_model_find(const assay_model *model, const char *name)
{
    return find(model, name);
}

assay_status assay_model_read_row(const assay_model *model, int64_t index, int64_t row,
                                  float *values, struct assay_error *error)
{
    const struct stored_tensor *entry = tensor_at(model, index);

    if (entry == NULL || row < 0 || row >= stored_rows(entry))
        return assay_fail(error, ASSAY_E_RANGE, "assay_model_read_row",
                          entry == NULL ? "index" : entry->name, "there is no such row");
    weight_store_read_row(&model->store, entry, row, values);
    return ASSAY_OK;
}

assay_status assay_model_verify(const assay_model *model, struct assay_error *error)
{
    return assay_file_verify(&model->store, error);
}
