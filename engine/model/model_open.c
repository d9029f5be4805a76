/* SPDX-License-Identifier: MIT
 *
 * Opening and closing a model folder, and what can be asked of an open model.
 */
#include "model/model_state.h"

#include <string.h>

#include "artifact/input_file.h"

static assay_status open_parts(const char *model_dir, assay_model *model, struct assay_error *error)
{
    model->dir = assay_duplicate(model_dir);
    if (model->dir == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, model_dir, "", "no memory for the folder's name");
    ASSAY_TRY(assay_config_read(model_dir, &model->config, error));
    if (model->config.is_moe)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "config.json", "num_experts",
                          "mixture-of-experts models (here %lld experts) are not supported by this "
                          "version; use a dense model",
                          (long long)model->config.num_experts);
    ASSAY_TRY(assay_input_open(model_dir, "config.json", &model->config_file, error));
    ASSAY_TRY(assay_safetensors_open(model_dir, &model->files, error));
    return model_bind(model, error);
}

assay_status assay_model_open(const char *model_dir, assay_model **model, struct assay_error *error)
{
    if (model == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open", "model", "must not be NULL");
    *model = NULL;
    if (model_dir == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_model_open", "model_dir", "must not be NULL");
    assay_model *opened = assay_alloc_zero(1, sizeof *opened);
    if (opened == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, model_dir, "", "no memory to open the model");
    assay_status status = open_parts(model_dir, opened, error);
    if (status == ASSAY_OK)
        *model = opened;
    else
        assay_model_close(opened);
    return status;
}

void assay_model_close(assay_model *model)
{
    if (model == NULL)
        return;
    assay_free(model->weights.layers);
    assay_free(model->tensors);
    assay_safetensors_close(&model->files);
    assay_map_close(&model->config_file);
    assay_free(model->dir);
    assay_free(model);
}

const struct assay_model_config *assay_model_config(const assay_model *model)
{
    return &model->config;
}

const char *assay_model_dir(const assay_model *model)
{
    return model->dir;
}

const struct model_weights *assay_model_weights(const assay_model *model)
{
    return &model->weights;
}

int64_t assay_model_num_tensors(const assay_model *model)
{
    return model->num_tensors;
}

struct assay_tensor assay_model_tensor_at(const assay_model *model, int64_t index,
                                          const char **name)
{
    const struct model_tensor none = {NULL, {.data = NULL}};
    const struct model_tensor *tensor =
        index >= 0 && index < model->num_tensors ? &model->tensors[index] : &none;

    if (name != NULL)
        *name = tensor->name;
    return tensor->view;
}

bool assay_model_tensor(const assay_model *model, const char *name, struct assay_tensor *tensor)
{
    int64_t low = 0, high = model->num_tensors;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(model->tensors[middle].name, name);
        if (order == 0) {
            *tensor = model->tensors[middle].view;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
