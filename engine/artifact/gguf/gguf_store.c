/* SPDX-License-Identifier: MIT
 *
 * A GGUF file as a weight store. What ops can take is used in place: BF16 matrices and banks, BF16
 * and F32 vectors, in grouped order. The rest is copied when the model is opened to run:
 *   value heads in tiled order, A_log, F16 vectors    in grouped order, as binary32 or bf16
 *   Q8_0 matrices                                      q8g32, code for code
 *   BF16 banks of gate and of up                       one bank
 *   F16 and F32 matrices and banks                     bf16, if each of their values is one
 * Anything else would have to be rounded or encoded anew. That is a decision about the model, which
 * opening must not take: such tensors have rows to read and nothing that ops could take.
 */
#include "artifact/gguf/gguf.h"

#include <string.h>

#include "formats/gguf_blocks.h"
#include "numeric/float_words.h"

struct weight_container {
    struct gguf_file file;
    bool tiled;
    struct gguf_view *views;
    char *names;
    void **copies; /* [num_copies] */
    int64_t num_copies;
};

static assay_status no_memory(const struct weight_container *container, const char *tensor,
                              size_t bytes, struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, container->file.name, tensor,
                      "no memory for %zu bytes of values in grouped order", bytes);
}

/* Memory of the container. There is room in `copies` for one a tensor. */
static void *new_copy(struct weight_container *container, size_t bytes)
{
    void *memory = assay_alloc_aligned(bytes > 0 ? bytes : 1);

    if (memory == NULL)
        return NULL;
    container->copies[container->num_copies++] = memory;
    return memory;
}

/* The copy proved useless. */
static void drop_copy(struct weight_container *container)
{
    assay_free(container->copies[--container->num_copies]);
}

static assay_status copy_q8(struct weight_container *container, struct stored_tensor *tensor,
                            struct assay_error *error)
{
    const struct gguf_view *view = &container->views[tensor->view];
    struct assay_weight_layout layout;

    ASSAY_TRY(
        assay_weight_layout_of(ASSAY_WEIGHT_Q8G32, view->rows, view->columns, &layout, error));
    void *memory = new_copy(container, layout.total);
    if (memory == NULL)
        return no_memory(container, tensor->name, layout.total, error);
    memset(memory, 0, layout.total); /* what pads rows and planes */
    ASSAY_TRY(assay_weights_at(memory, ASSAY_WEIGHT_Q8G32, view->rows, view->columns,
                               &tensor->planes, error));
    tensor->grouped = true;
    for (int64_t row = 0; row < view->rows && tensor->grouped; row++)
        tensor->grouped = gguf_row_to_q8(&container->file, view, row, &tensor->planes, row);
    if (!tensor->grouped)
        drop_copy(container);
    return ASSAY_OK;
}

/* values as words of bf16. False when one is no such number; NaN is, whatever its payload. */
static bool row_to_bf16(const float *values, int64_t count, uint16_t *words)
{
    for (int64_t i = 0; i < count; i++) {
        words[i] = bf16_from_f32(values[i]);
        const float again = bf16_to_f32(words[i]);
        if (again != values[i] && values[i] == values[i])
            return false;
    }
    return true;
}

/* values: room for a row. */
static bool copy_row(const struct weight_container *container, const struct gguf_view *view,
                     int64_t row, float *values, uint16_t *words)
{
    if (gguf_row_type(&container->file, view, row) == GGUF_TYPE_BF16 && view->tile_columns == 0) {
        memcpy(words, gguf_row_data(&container->file, view, row),
               (size_t)view->columns * sizeof *words);
        return true;
    }
    gguf_read_row(&container->file, view, row, values);
    return row_to_bf16(values, view->columns, words);
}

/* A matrix or a bank. */
static assay_status copy_matrix(struct weight_container *container, struct stored_tensor *tensor,
                                struct assay_error *error)
{
    const struct gguf_view *view = &container->views[tensor->view];
    const size_t bytes = (size_t)(view->rows * view->columns) * sizeof(uint16_t);
    uint16_t *words = new_copy(container, bytes);
    float *values = assay_alloc((size_t)view->columns * sizeof *values);
    bool exact = true;

    if (words == NULL || values == NULL) {
        assay_free(values);
        return no_memory(container, tensor->name, bytes, error);
    }
    for (int64_t row = 0; row < view->rows && exact; row++)
        exact = copy_row(container, view, row, values, words + row * view->columns);
    assay_free(values);
    if (!exact) {
        drop_copy(container);
        return ASSAY_OK;
    }
    tensor->dtype = ASSAY_BF16;
    tensor->data = (const uint8_t *)words;
    return ASSAY_OK;
}

static assay_status copy_vector(struct weight_container *container, struct stored_tensor *tensor,
                                struct assay_error *error)
{
    const struct gguf_view *view = &container->views[tensor->view];
    const size_t bytes = (size_t)(view->rows * view->columns) * sizeof(float);
    float *values = new_copy(container, bytes);

    if (values == NULL)
        return no_memory(container, tensor->name, bytes, error);
    for (int64_t row = 0; row < view->rows; row++)
        gguf_read_row(&container->file, view, row, values + row * view->columns);
    tensor->dtype = ASSAY_F32;
    tensor->data = (const uint8_t *)values;
    return ASSAY_OK;
}

/* What it takes to make a tensor usable by ops. */
enum use { USE_IN_PLACE, USE_Q8_COPY, USE_BF16_COPY, USE_F32_COPY, USE_ROWS_ONLY };

static bool is_plain(uint32_t type)
{
    return type == GGUF_TYPE_F32 || type == GGUF_TYPE_F16 || type == GGUF_TYPE_BF16;
}

static enum use use_of(const struct weight_container *container, const struct stored_tensor *tensor)
{
    const struct gguf_view *view = &container->views[tensor->view];
    const uint32_t type = container->file.tensors[view->tensor].type;
    const uint32_t second = view->half > 0 ? container->file.tensors[view->second].type : type;
    const bool is_vector = tensor->rank == 1 || (tensor->rank == 3 && !stored_is_bank(tensor));

    if (gguf_view_in_place(view) &&
        (type == GGUF_TYPE_BF16 || (type == GGUF_TYPE_F32 && is_vector)))
        return USE_IN_PLACE;
    if (tensor->rank == 2 && type == GGUF_TYPE_Q8_0)
        return USE_Q8_COPY;
    if (!is_plain(type) || !is_plain(second))
        return USE_ROWS_ONLY;
    return is_vector ? USE_F32_COPY : USE_BF16_COPY;
}

static assay_status count_copy(struct weight_store *store, const struct stored_tensor *tensor,
                               enum use use, struct assay_error *error)
{
    const struct gguf_view *view = &store->container->views[tensor->view];
    struct assay_weight_layout layout;

    if (use == USE_Q8_COPY) {
        ASSAY_TRY(
            assay_weight_layout_of(ASSAY_WEIGHT_Q8G32, view->rows, view->columns, &layout, error));
        store->copied_bytes += (int64_t)layout.total;
    }
    if (use == USE_BF16_COPY || use == USE_F32_COPY)
        store->copied_bytes += view->rows * view->columns * (use == USE_BF16_COPY ? 2 : 4);
    return ASSAY_OK;
}

static assay_status make_usable(struct weight_container *container, struct stored_tensor *tensor,
                                enum use use, struct assay_error *error)
{
    const struct gguf_view *view = &container->views[tensor->view];

    switch (use) {
    case USE_IN_PLACE:
        tensor->dtype =
            gguf_row_type(&container->file, view, 0) == GGUF_TYPE_BF16 ? ASSAY_BF16 : ASSAY_F32;
        tensor->data = gguf_row_data(&container->file, view, 0);
        return ASSAY_OK;
    case USE_Q8_COPY:
        return copy_q8(container, tensor, error);
    case USE_BF16_COPY:
        return copy_matrix(container, tensor, error);
    case USE_F32_COPY:
        return copy_vector(container, tensor, error);
    case USE_ROWS_ONLY:
        break;
    }
    return ASSAY_OK;
}

static assay_status list(struct weight_store *store, const struct assay_model_config *config,
                         struct assay_error *error)
{
    struct weight_container *container = store->container;
    const int64_t capacity = gguf_list_capacity(config);
    struct gguf_listing listing = {.file = &container->file,
                                   .config = config,
                                   .tiled = container->tiled,
                                   .capacity = capacity,
                                   .error = error};
    assay_status status = ASSAY_OK;

    listing.used = assay_alloc_zero((size_t)container->file.num_tensors + 1, sizeof(bool));
    listing.tensors = store->tensors = assay_alloc_zero((size_t)capacity, sizeof *store->tensors);
    listing.views = container->views = assay_alloc_zero((size_t)capacity, sizeof *listing.views);
    listing.names = container->names = assay_alloc_zero((size_t)capacity, GGUF_KEY_SIZE);
    container->copies = assay_alloc_zero((size_t)capacity, sizeof *container->copies);
    if (listing.used == NULL || listing.tensors == NULL || listing.views == NULL ||
        listing.names == NULL || container->copies == NULL)
        status = assay_fail(error, ASSAY_E_MEMORY, container->file.name, "",
                            "no memory for the list of tensors");
    if (status == ASSAY_OK)
        status = gguf_list(&listing);
    assay_free(listing.used);
    store->num_tensors = listing.count;
    return status;
}

static assay_status load(struct weight_store *store, const struct assay_model_config *config,
                         bool rows_only, struct assay_error *error)
{
    ASSAY_TRY(list(store, config, error));
    for (int64_t i = 0; i < store->num_tensors; i++) {
        struct stored_tensor *tensor = &store->tensors[i];
        const enum use use = use_of(store->container, tensor);
        ASSAY_TRY(count_copy(store, tensor, use, error));
        if (!rows_only)
            ASSAY_TRY(make_usable(store->container, tensor, use, error));
    }
    weight_store_sort(store);
    return ASSAY_OK;
}

static void read_row(const struct weight_store *store, const struct stored_tensor *tensor,
                     int64_t row, float *values)
{
    const struct weight_container *container = store->container;
    gguf_read_row(&container->file, &container->views[tensor->view], row, values);
}

static bool read_q8(const struct weight_store *store, const struct stored_tensor *tensor,
                    int64_t row, const struct assay_weights *to, int64_t to_row)
{
    const struct weight_container *container = store->container;
    const struct gguf_view *view = &container->views[tensor->view];
    return gguf_row_type(&container->file, view, row) == GGUF_TYPE_Q8_0 &&
           gguf_row_to_q8(&container->file, view, row, to, to_row);
}

static void close_container(struct weight_container *container)
{
    for (int64_t i = 0; i < container->num_copies; i++)
        assay_free(container->copies[i]);
    assay_free(container->copies);
    assay_free(container->views);
    assay_free(container->names);
    gguf_close(&container->file);
    assay_free(container);
}

assay_status store_open_gguf(struct weight_store *store, struct assay_error *error)
{
    static const struct store_kind kind = {
        .list_name = "tensors",
        .remedy = "it cannot be run as it is stored; convert the file first: assay convert "
                  "MODEL.gguf --recipe q8 -o MODEL.assay",
        .load = load,
        .read_row = read_row,
        .read_q8 = read_q8,
        .close = close_container};

    store->kind = &kind;
    store->container = assay_alloc_zero(1, sizeof *store->container);
    store->files = assay_alloc_zero(1, sizeof *store->files);
    if (store->container == NULL || store->files == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, store->path, "", "no memory to open the model");
    struct gguf_file *file = &store->container->file;
    ASSAY_TRY(gguf_open(store->path, file, error));
    store->files[0] = (struct store_file){file->name, file->map};
    store->num_files = 1;
    store->config_file = file->name;
    store->final_norms = true;
    store->f32_vectors = true;
    return gguf_config(file, &store->config, &store->container->tiled, error);
}
