/* SPDX-License-Identifier: MIT
 *
 * Weights on a device: one buffer, every tensor in it at a multiple of 256 bytes.
 */
#include "runtime/device_weights.h"

#include <pthread.h>

#include <assay/device.h>

#include "core/core.h"

enum { ALIGNMENT = 256, MAX_LAYER_TENSORS = 40 };

struct device_weights {
    struct model_weights weights; /* first: what users hold points here */
    const assay_model *model;
    assay_context *context;
    void *memory;
    int64_t num_users;
    struct device_weights *next;
};

/* All copies of the process: few, one for each pair of context and model. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct device_weights *copies;

/* Tensors to copy. */
struct tensor_list {
    struct assay_tensor *tensors[MAX_LAYER_TENSORS];
    int count;
};

static void add(struct tensor_list *list, struct assay_tensor *tensor)
{
    list->tensors[list->count++] = tensor;
}

/* The planes that the format has. */
static void add_matrix(struct tensor_list *list, struct assay_weights *matrix)
{
    add(list, &matrix->base);
    if (matrix->high.data != NULL)
        add(list, &matrix->high);
    if (matrix->scales.data != NULL)
        add(list, &matrix->scales);
}

static void list_tensors(struct layer_weights *layer, struct tensor_list *list)
{
    struct attention_weights *const attention = &layer->mixer.attention;
    struct gdn_weights *const gdn = &layer->mixer.gdn;
    struct mlp_weights *const mlp = &layer->mlp;
    list->count = 0;
    add(list, &layer->input_norm);
    add(list, &layer->post_attention_norm);
    add_matrix(list, &mlp->gate_proj);
    add_matrix(list, &mlp->up_proj);
    add_matrix(list, &mlp->down_proj);
    if (layer->kind == ASSAY_LAYER_FULL) {
        add_matrix(list, &attention->q_proj);
        add_matrix(list, &attention->k_proj);
        add_matrix(list, &attention->v_proj);
        add_matrix(list, &attention->o_proj);
        add(list, &attention->q_norm);
        add(list, &attention->k_norm);
    } else {
        add_matrix(list, &gdn->in_proj_qkv);
        add_matrix(list, &gdn->in_proj_z);
        add_matrix(list, &gdn->in_proj_b);
        add_matrix(list, &gdn->in_proj_a);
        add(list, &gdn->conv);
        add(list, &gdn->a_log);
        add(list, &gdn->dt_bias);
        add(list, &gdn->norm);
        add_matrix(list, &gdn->out_proj);
    }
}

/* Places a tensor at *at, which advances; copies it there once there is memory. The view is
 * repointed then. */
static assay_status place(struct device_weights *copy, struct assay_tensor *tensor, size_t *at)
{
    const size_t bytes = assay_tensor_span(tensor);
    uint8_t *const to = copy->memory == NULL ? NULL : (uint8_t *)copy->memory + *at;
    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (to == NULL)
        return ASSAY_OK;
    ASSAY_TRY(assay_buffer_write(copy->context, to, tensor->data, bytes));
    tensor->data = to;
    return ASSAY_OK;
}

static assay_status place_list(struct device_weights *copy, const struct tensor_list *list,
                               size_t *at)
{
    for (int i = 0; i < list->count; i++)
        ASSAY_TRY(place(copy, list->tensors[i], at));
    return ASSAY_OK;
}

/* Places all tensors; *bytes is what they need. */
static assay_status place_all(struct device_weights *copy, int64_t num_layers, size_t *bytes)
{
    struct model_weights *const weights = &copy->weights;
    const bool tied = weights->lm_head.base.data == weights->embed.base.data;
    struct tensor_list list = {.count = 0};
    *bytes = 0;
    add_matrix(&list, &weights->embed);
    ASSAY_TRY(place_list(copy, &list, bytes));
    for (int64_t i = 0; i < num_layers; i++) {
        list_tensors(&weights->layers[i], &list);
        ASSAY_TRY(place_list(copy, &list, bytes));
    }
    list.count = 0;
    add(&list, &weights->final_norm);
    if (!tied)
        add_matrix(&list, &weights->lm_head);
    ASSAY_TRY(place_list(copy, &list, bytes));
    if (tied)
        weights->lm_head = weights->embed;
    return ASSAY_OK;
}

static void destroy(struct device_weights *copy)
{
    assay_buffer_destroy(copy->context, copy->memory);
    assay_free(copy->weights.layers);
    assay_free(copy);
}

/* Errors of the context's calls are in its record. */
static assay_status upload(struct device_weights *copy, struct assay_error *error)
{
    const struct model_weights *const host = model_bound_weights(copy->model);
    const int64_t num_layers = assay_model_config(copy->model)->num_layers;
    size_t bytes;
    copy->weights = *host;
    copy->weights.layers = assay_alloc_zero((size_t)num_layers, sizeof *copy->weights.layers);
    if (copy->weights.layers == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "weights", "layers", "no memory for %lld layers",
                          (long long)num_layers);
    for (int64_t i = 0; i < num_layers; i++)
        copy->weights.layers[i] = host->layers[i];
    assay_status status = place_all(copy, num_layers, &bytes);
    if (status == ASSAY_OK)
        status = assay_buffer_create(copy->context, bytes, &copy->memory);
    if (status == ASSAY_OK)
        status = place_all(copy, num_layers, &bytes);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(error, status, "weights", assay_model_dir(copy->model),
                      "%zu bytes cannot be copied to the device: %s", bytes,
                      assay_context_error(copy->context)->message);
}

static assay_status create(assay_context *context, const assay_model *model,
                           struct device_weights **created, struct assay_error *error)
{
    struct device_weights *copy = assay_alloc_zero(1, sizeof *copy);
    if (copy == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "weights", "", "no memory");
    copy->context = context;
    copy->model = model;
    const assay_status status = upload(copy, error);
    if (status != ASSAY_OK) {
        destroy(copy);
        return status;
    }
    copy->next = copies;
    copies = copy;
    *created = copy;
    return ASSAY_OK;
}

assay_status device_weights_acquire(assay_context *context, const assay_model *model,
                                    const struct model_weights **weights, struct assay_error *error)
{
    assay_status status = ASSAY_OK;
    *weights = NULL;
    pthread_mutex_lock(&mutex);
    struct device_weights *copy = copies;
    while (copy != NULL && (copy->context != context || copy->model != model))
        copy = copy->next;
    if (copy == NULL)
        status = create(context, model, &copy, error);
    if (status == ASSAY_OK) {
        copy->num_users++;
        *weights = &copy->weights;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

void device_weights_release(const struct model_weights *weights)
{
    pthread_mutex_lock(&mutex);
    for (struct device_weights **link = &copies; *link != NULL; link = &(*link)->next) {
        struct device_weights *const copy = *link;
        if (&copy->weights != weights)
            continue;
        if (--copy->num_users == 0) {
            *link = copy->next;
            destroy(copy);
        }
        break;
    }
    pthread_mutex_unlock(&mutex);
}
