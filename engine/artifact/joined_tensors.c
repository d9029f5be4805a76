/* SPDX-License-Identifier: MIT
 *
 * The list of joined tensors and their copies: see joined.h.
 */
#include "artifact/joined.h"

#include <inttypes.h>
#include <string.h>

void weight_store_free_joined(struct weight_store *store)
{
    for (struct joined_tensor *joined = store->joined, *next; joined != NULL; joined = next) {
        next = joined->next;
        assay_free(joined->memory);
        assay_free(joined->parts);
        assay_free(joined->name);
        assay_free(joined);
    }
    store->joined = NULL;
}

static assay_status no_memory(const struct join *join, const char *name, size_t bytes)
{
    return assay_fail(join->error, ASSAY_E_MEMORY, join->store->path, name,
                      "no memory for %zu bytes of a tensor that the model stores in parts", bytes);
}

const char *join_file(const struct join *join, const struct stored_tensor *tensor)
{
    return join->store->files[tensor->file].name;
}

assay_status join_check(const struct join *join, const struct stored_tensor *tensor, int64_t rows,
                        int64_t columns, enum assay_dtype first)
{
    const enum assay_dtype dtype = tensor->dtype;
    const bool is_float = dtype == ASSAY_BF16 || dtype == ASSAY_F16 || dtype == ASSAY_F32;
    const bool is_usable = join->rows_only ? is_float : dtype == ASSAY_BF16;
    const bool is_other = is_usable && first != ASSAY_NUM_DTYPES && dtype != first;

    if (tensor->rank != 2 || tensor->extent[0] != rows || tensor->extent[1] != columns)
        return assay_fail(join->error, ASSAY_E_SHAPE, join_file(join, tensor), tensor->name,
                          "shape is [%" PRId64 ",%" PRId64
                          "] of rank %d, config.json demands [%" PRId64 ",%" PRId64 "]",
                          tensor->rank > 0 ? tensor->extent[0] : 1,
                          tensor->rank > 1 ? tensor->extent[1] : 1, tensor->rank, rows, columns);
    if (is_usable && !is_other)
        return ASSAY_OK;
    return assay_fail(join->error, ASSAY_E_FORMAT, join_file(join, tensor), tensor->name,
                      "dtype is %s, expected %s%s; %s", tensor->format_name,
                      is_other ? assay_dtype_name(first) : "BF16",
                      is_other ? " as of those it belongs with" : "", join->store->kind->remedy);
}

assay_status join_new(const struct join *join, const char *name, const struct stored_tensor *like,
                      int64_t count, int64_t rows, struct joined_tensor **result)
{
    const size_t bytes = sizeof(struct stored_parts) + (size_t)count * sizeof(uint8_t *);
    struct joined_tensor *joined = assay_alloc_zero(1, sizeof *joined);

    if (joined == NULL)
        return no_memory(join, name, sizeof *joined);
    joined->next = join->store->joined;
    join->store->joined = joined;
    joined->name = assay_duplicate(name);
    joined->parts = assay_alloc(bytes);
    if (joined->name == NULL || joined->parts == NULL)
        return no_memory(join, name, bytes);
    joined->parts->dtype = like->dtype;
    joined->parts->rows = rows;
    joined->parts->count = count;
    joined->tensor = (struct stored_tensor){.name = joined->name,
                                            .format_name = like->format_name,
                                            .file = like->file,
                                            .dtype = ASSAY_NUM_DTYPES,
                                            .parts = joined->parts,
                                            .encoder = ASSAY_NUM_WEIGHT_ENCODERS};
    *result = joined;
    return ASSAY_OK;
}

static void copy_range(void *argument, int64_t first, int64_t last)
{
    const struct joined_tensor *joined = argument;
    const struct stored_parts *parts = joined->parts;
    const size_t bytes = (size_t)joined->tensor.bytes / (size_t)parts->count;

    for (int64_t p = first; p < last; p++)
        memcpy((uint8_t *)joined->memory + (size_t)p * bytes, parts->data[p], bytes);
}

/* The files' pages stay mapped: clean, so that the system takes them back when memory runs short.
 */
assay_status join_finish(const struct join *join, struct joined_tensor *joined)
{
    const struct stored_parts *parts = joined->parts;
    const int64_t values = parts->count * parts->rows * stored_columns(&joined->tensor);
    const size_t bytes = (size_t)values * assay_dtype_bytes(parts->dtype);

    joined->tensor.bytes = bytes;
    join->store->copied_bytes += (int64_t)bytes;
    if (join->rows_only)
        return ASSAY_OK;
    joined->memory = assay_alloc_aligned(bytes);
    if (joined->memory == NULL)
        return no_memory(join, joined->name, bytes);
    assay_parallel(join->context, parts->count, 1, copy_range, joined);
    joined->tensor.dtype = parts->dtype;
    joined->tensor.data = joined->memory;
    return ASSAY_OK;
}

/* Parts make place for what was made of them. */
static assay_status replace(const struct join *join)
{
    struct weight_store *store = join->store;
    int64_t count = 0, added = 0;

    for (int64_t i = 0; i < store->num_tensors; i++)
        if (!join->used[i])
            store->tensors[count++] = store->tensors[i];
    store->num_tensors = count;
    for (const struct joined_tensor *joined = store->joined; joined != NULL; joined = joined->next)
        added++;
    struct stored_tensor *tensors =
        assay_resize(store->tensors, (size_t)(count + added), sizeof *tensors);
    if (tensors == NULL)
        return assay_fail(join->error, ASSAY_E_MEMORY, store->path, "",
                          "no memory for the list of tensors");
    store->tensors = tensors;
    for (const struct joined_tensor *joined = store->joined; joined != NULL; joined = joined->next)
        store->tensors[store->num_tensors++] = joined->tensor;
    weight_store_sort(store);
    return ASSAY_OK;
}

static bool has_parts(const struct weight_store *store, const struct assay_model_config *config)
{
    for (int64_t i = 0; i < store->num_tensors; i++)
        if (join_heads_stem(store->tensors[i].name) > 0 ||
            (config->is_moe && join_expert_stem(store->tensors[i].name) > 0))
            return true;
    return false;
}

static assay_status join_all(struct join *join)
{
    const struct assay_context_options threads = assay_context_defaults();

    if (!join->rows_only)
        ASSAY_TRY(assay_context_create(&threads, &join->context, join->error));
    if (join->config->is_moe)
        ASSAY_TRY(join_experts(join));
    ASSAY_TRY(join_heads(join));
    return replace(join);
}

assay_status weight_store_join(struct weight_store *store, const struct assay_model_config *config,
                               bool rows_only, struct assay_error *error)
{
    struct join join = {.store = store, .config = config, .rows_only = rows_only, .error = error};

    if (!has_parts(store, config))
        return ASSAY_OK;
    join.used = assay_alloc_zero((size_t)store->num_tensors, sizeof *join.used);
    if (join.used == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, store->path, "",
                          "no memory for the list of tensors");
    const assay_status status = join_all(&join);
    assay_context_destroy(join.context);
    assay_free(join.used);
    return status;
}
