/* SPDX-License-Identifier: MIT
 *
 * Weights where ops read them: matrices that a trade stores in another format, in host memory of
 * their own; on a device all of it, one buffer, every tensor in it at a multiple of 256 bytes.
 */
#include "runtime/session_weights.h"

#include <pthread.h>

#include <assay/device.h>

#include "core/core.h"
#include "formats/transcode.h"

enum { ALIGNMENT = 256 };

struct session_weights {
    struct model_weights weights; /* first: what users hold points here */
    const assay_model *model;
    assay_context *context;
    /* What the trades ask for, less what the model stores already. */
    enum assay_weight_format embedding, lm_head;
    void *encoded[2]; /* host memory of embedding and lm_head in those formats; NULL: as stored */
    void *memory;     /* on a device */
    size_t bytes;     /* of both */
    int64_t num_users;
    struct session_weights *next;
};

/* All copies of the process: few, one for each context, model and pair of formats. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct session_weights *copies;

/* Tensors to copy. */
struct tensor_list {
    struct assay_tensor *tensors[SESSION_LAYER_TENSORS];
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
    if (layer->moe.gate_up.base.data != NULL) {
        add_matrix(list, &layer->moe.router);
        add_matrix(list, &layer->moe.gate_up);
        add_matrix(list, &layer->moe.down);
        add_matrix(list, &layer->moe.shared_gate);
    }
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
static assay_status place(struct session_weights *copy, struct assay_tensor *tensor, size_t *at)
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

static assay_status place_list(struct session_weights *copy, const struct tensor_list *list,
                               size_t *at)
{
    for (int i = 0; i < list->count; i++)
        ASSAY_TRY(place(copy, list->tensors[i], at));
    return ASSAY_OK;
}

/* Places all tensors; *bytes is what they need. */
static assay_status place_all(struct session_weights *copy, int64_t num_layers, size_t *bytes)
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

static void free_encoded(struct session_weights *copy)
{
    for (int i = 0; i < 2; i++) {
        assay_free(copy->encoded[i]);
        copy->encoded[i] = NULL;
    }
}

static void destroy(struct session_weights *copy)
{
    free_encoded(copy);
    assay_buffer_destroy(copy->context, copy->memory);
    assay_free(copy->weights.layers);
    assay_free(copy);
}

/* ---- formats ------------------------------------------------------------------------------- */

/* The format that the trade means for a matrix as it is stored: ASSAY_NUM_WEIGHT_FORMATS where
 * nothing is to be done. Codes are made from bf16 or 8-bit codes only: encoding few bits again
 * would add a second error to the first. */
static assay_status effective_format(const struct assay_weights *stored, const char *name,
                                     enum assay_weight_format wanted,
                                     enum assay_weight_format *format, struct assay_error *error)
{
    *format = ASSAY_NUM_WEIGHT_FORMATS;
    if (wanted == ASSAY_NUM_WEIGHT_FORMATS)
        return ASSAY_OK;
    if (stored->format == wanted) {
        assay_log(1, "%s: the model stores it as %s already; the option changes nothing", name,
                  assay_weight_format_name(wanted));
        return ASSAY_OK;
    }
    if (stored->format != ASSAY_WEIGHT_BF16 && stored->format != ASSAY_WEIGHT_Q8G32)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "weights", name,
                          "is stored as %s and cannot become %s without a second loss: drop the "
                          "option, or convert the source model with a recipe that says %s",
                          assay_weight_format_name(stored->format),
                          assay_weight_format_name(wanted), assay_weight_format_name(wanted));
    *format = wanted;
    return ASSAY_OK;
}

static assay_status encode(struct session_weights *copy, struct assay_weights *matrix,
                           enum assay_weight_format format, int slot, struct assay_error *error)
{
    struct assay_weight_layout layout;
    struct assay_weights view;
    if (format == ASSAY_NUM_WEIGHT_FORMATS)
        return ASSAY_OK;
    ASSAY_TRY(assay_weight_layout_of(format, matrix->rows, matrix->columns, &layout, error));
    copy->encoded[slot] = assay_alloc_aligned(layout.total);
    if (copy->encoded[slot] == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "weights", assay_weight_format_name(format),
                          "cannot allocate %zu bytes for %lld x %lld weights", layout.total,
                          (long long)matrix->rows, (long long)matrix->columns);
    copy->bytes += layout.total;
    ASSAY_TRY(transcode_weights(copy->context, matrix, format, copy->encoded[slot], &view, error));
    *matrix = view;
    return ASSAY_OK;
}

/* The stored matrices' pages are not needed any more; without this they would stay beside the
 * encoded ones until memory runs short. */
static void drop_stored(const struct session_weights *copy)
{
    const struct model_weights *const stored = model_bound_weights(copy->model);
    const bool tied = stored->lm_head.base.data == stored->embed.base.data;
    const bool embed = copy->encoded[0] != NULL, head = copy->encoded[1] != NULL;
    if (embed && (!tied || head))
        assay_map_drop(stored->embed.base.data, assay_tensor_span(&stored->embed.base));
    if (head && !tied)
        assay_map_drop(stored->lm_head.base.data, assay_tensor_span(&stored->lm_head.base));
}

static assay_status encode_all(struct session_weights *copy, struct assay_error *error)
{
    ASSAY_TRY(encode(copy, &copy->weights.embed, copy->embedding, 0, error));
    ASSAY_TRY(encode(copy, &copy->weights.lm_head, copy->lm_head, 1, error));
    drop_stored(copy);
    return ASSAY_OK;
}

/* ---- the copy ------------------------------------------------------------------------------ */

static assay_status copy_layers(struct session_weights *copy, const struct layer_weights *layers,
                                struct assay_error *error)
{
    const int64_t num_layers = assay_model_config(copy->model)->num_layers;
    copy->weights.layers = assay_alloc_zero((size_t)num_layers, sizeof *layers);
    if (copy->weights.layers == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "weights", "layers", "no memory for %lld layers",
                          (long long)num_layers);
    for (int64_t i = 0; i < num_layers; i++)
        copy->weights.layers[i] = layers[i];
    return ASSAY_OK;
}

/* Errors of the context's calls are in its record. */
static assay_status upload(struct session_weights *copy, struct assay_error *error)
{
    const int64_t num_layers = assay_model_config(copy->model)->num_layers;
    size_t bytes;
    ASSAY_TRY(copy_layers(copy, model_bound_weights(copy->model)->layers, error));
    assay_status status = place_all(copy, num_layers, &bytes);
    if (status == ASSAY_OK)
        status = assay_buffer_create(copy->context, bytes, &copy->memory);
    if (status == ASSAY_OK)
        status = place_all(copy, num_layers, &bytes);
    free_encoded(copy); /* on the device now */
    copy->bytes = bytes;
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(error, status, "weights", assay_model_dir(copy->model),
                      "%zu bytes cannot be copied to the device: %s", bytes,
                      assay_context_error(copy->context)->message);
}

/* How a copy differs from the model's own weights; also its place in the list of copies. */
struct request {
    assay_context *context;
    const assay_model *model;
    enum assay_weight_format embedding, lm_head;
};

static assay_status create(const struct request *request, struct session_weights **created,
                           struct assay_error *error)
{
    struct session_weights *copy = assay_alloc_zero(1, sizeof *copy);
    if (copy == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "weights", "", "no memory");
    copy->context = request->context;
    copy->model = request->model;
    copy->embedding = request->embedding;
    copy->lm_head = request->lm_head;
    copy->weights = *model_bound_weights(request->model);
    const bool on_device = assay_on_device(request->context);
    const struct layer_weights *const layers = copy->weights.layers;
    copy->weights.layers = NULL; /* the model's: not to be freed with the copy */
    assay_status status = encode_all(copy, error);
    if (status == ASSAY_OK && on_device)
        status = upload(copy, error);
    if (status == ASSAY_OK && !on_device)
        status = copy_layers(copy, layers, error);
    if (status != ASSAY_OK) {
        destroy(copy);
        return status;
    }
    copy->next = copies;
    copies = copy;
    *created = copy;
    return ASSAY_OK;
}

static bool serves(const struct session_weights *copy, const struct request *request)
{
    return copy->context == request->context && copy->model == request->model &&
           copy->embedding == request->embedding && copy->lm_head == request->lm_head;
}

assay_status session_weights_acquire(assay_context *context, const assay_model *model,
                                     const struct assay_precision *precision,
                                     const struct model_weights **weights,
                                     struct assay_error *error)
{
    const struct model_weights *const stored = model_bound_weights(model);
    struct request request = {.context = context, .model = model};
    *weights = NULL;
    ASSAY_TRY(effective_format(&stored->embed, "embedding", precision->embedding,
                               &request.embedding, error));
    ASSAY_TRY(
        effective_format(&stored->lm_head, "lm_head", precision->lm_head, &request.lm_head, error));
    if (!assay_on_device(context) && request.embedding == ASSAY_NUM_WEIGHT_FORMATS &&
        request.lm_head == ASSAY_NUM_WEIGHT_FORMATS) {
        *weights = stored; /* no copy: ops read the mapped files */
        return ASSAY_OK;
    }
    assay_status status = ASSAY_OK;
    pthread_mutex_lock(&mutex);
    struct session_weights *copy = copies;
    while (copy != NULL && !serves(copy, &request))
        copy = copy->next;
    if (copy == NULL)
        status = create(&request, &copy, error);
    if (status == ASSAY_OK) {
        copy->num_users++;
        *weights = &copy->weights;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

void session_weights_release(const struct model_weights *weights)
{
    pthread_mutex_lock(&mutex);
    for (struct session_weights **link = &copies; *link != NULL; link = &(*link)->next) {
        struct session_weights *const copy = *link;
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

/* ---- sizes --------------------------------------------------------------------------------- */

static size_t list_bytes(const struct tensor_list *list)
{
    size_t bytes = 0;
    for (int i = 0; i < list->count; i++)
        bytes += assay_tensor_span(list->tensors[i]);
    return bytes;
}

size_t session_weights_bytes(const struct model_weights *weights, int64_t num_layers)
{
    struct model_weights views = *weights;
    struct tensor_list list = {.count = 0};
    add_matrix(&list, &views.embed);
    add(&list, &views.final_norm);
    if (views.lm_head.base.data != views.embed.base.data)
        add_matrix(&list, &views.lm_head);
    size_t bytes = list_bytes(&list);
    for (int64_t i = 0; i < num_layers; i++) {
        struct layer_weights layer = weights->layers[i];
        list_tensors(&layer, &list);
        bytes += list_bytes(&list);
    }
    return bytes;
}

int session_weights_list(const struct layer_weights *layer,
                         struct assay_tensor views[SESSION_LAYER_TENSORS])
{
    struct layer_weights copy = *layer;
    struct tensor_list list;
    list_tensors(&copy, &list);
    for (int i = 0; i < list.count; i++)
        views[i] = *list.tensors[i];
    return list.count;
}

size_t session_weights_row_bytes(const struct assay_weights *matrix)
{
    struct assay_weights view = *matrix;
    struct tensor_list list = {.count = 0};
    add_matrix(&list, &view);
    return list_bytes(&list) / (size_t)matrix->rows;
}

size_t session_weights_copied(const struct model_weights *weights)
{
    size_t bytes = 0;
    pthread_mutex_lock(&mutex);
    for (const struct session_weights *copy = copies; copy != NULL; copy = copy->next)
        if (&copy->weights == weights)
            bytes = copy->bytes;
    pthread_mutex_unlock(&mutex);
    return bytes;
}
