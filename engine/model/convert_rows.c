/* SPDX-License-Identifier: MIT
 *
 * The rows of one object, some at a time: all threads encode, then the writer takes them. Codes
 * that the source has already in the format wanted are copied, since encoding decoded codes anew
 * could only lose.
 */
#include "model/convert_plan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "numeric/float_words.h"

/* Rows of a chunk: enough for all threads, with at most so many values. */
enum { THREAD_ROWS = 64, CHUNK_VALUES = 1 << 23, GRAIN = 8 };

/* Rows [first, first + count) of an object. */
struct chunk {
    const struct weight_store *store;
    const struct convert_object *object;
    const float *importance;
    int64_t first;
    struct assay_weights planes; /* grouped */
    uint8_t *words;              /* plain */
    atomic_bool failed, encoded;
    pthread_mutex_t mutex;
    struct assay_error error;
};

static bool copy_codes(const struct chunk *chunk, int64_t row)
{
    const struct stored_tensor *tensor = chunk->object->tensor;
    const struct assay_weights *to = &chunk->planes, *from = &tensor->planes;
    const int64_t at = chunk->first + row;

    if (to->format == ASSAY_WEIGHT_Q8G32 && chunk->store->kind->read_q8 != NULL)
        return chunk->store->kind->read_q8(chunk->store, tensor, at, to, row);
    if (!tensor->grouped || from->format != to->format)
        return false;
    memcpy(assay_tensor_row(&to->base, row), assay_tensor_row(&from->base, at),
           (size_t)to->base.extent[1]);
    if (to->high.data != NULL)
        memcpy(assay_tensor_row(&to->high, row), assay_tensor_row(&from->high, at),
               (size_t)to->high.extent[1]);
    memcpy(assay_tensor_row(&to->scales, row), assay_tensor_row(&from->scales, at),
           (size_t)to->scales.extent[1] * sizeof(uint16_t));
    return true;
}

static assay_status encode_row(struct chunk *chunk, int64_t row, float *values,
                               struct assay_error *error)
{
    const struct assay_encode_options options = {.encoder = chunk->object->encoder,
                                                 .importance = chunk->importance};

    if (copy_codes(chunk, row))
        return ASSAY_OK;
    atomic_store(&chunk->encoded, true);
    weight_store_read_row(chunk->store, chunk->object->tensor, chunk->first + row, values);
    return assay_weights_encode_row(&chunk->planes, row, values, &options, error);
}

static void convert_plain_row(const struct chunk *chunk, int64_t row, float *values)
{
    const struct stored_tensor *tensor = chunk->object->tensor;
    const struct assay_file_object *object = &chunk->object->object;
    const size_t bytes = (size_t)object->columns * assay_dtype_bytes(object->dtype);
    uint8_t *to = chunk->words + (size_t)row * bytes;

    if (!tensor->grouped && tensor->dtype == object->dtype) {
        memcpy(to, tensor->data + (size_t)(chunk->first + row) * bytes, bytes);
        return;
    }
    weight_store_read_row(chunk->store, tensor, chunk->first + row, values);
    words_from_f32(values, object->columns, to, object->dtype);
}

/* Keeps the first failure, with the tensor's name and the row. */
static void report(struct chunk *chunk, assay_status status, int64_t row,
                   const struct assay_error *detail)
{
    pthread_mutex_lock(&chunk->mutex);
    atomic_store(&chunk->failed, true);
    (void)assay_fail(&chunk->error, status, chunk->object->tensor->name, detail->what,
                     "row %lld: %s", (long long)(chunk->first + row), detail->message);
    pthread_mutex_unlock(&chunk->mutex);
}

static void convert_range(void *argument, int64_t first, int64_t last)
{
    struct chunk *chunk = argument;
    const int64_t columns = chunk->object->object.columns;
    struct assay_error detail = {.status = ASSAY_OK};
    float *values = assay_alloc((size_t)columns * sizeof *values);

    if (values == NULL) {
        (void)assay_fail(&detail, ASSAY_E_MEMORY, "", "", "no memory for a row");
        report(chunk, ASSAY_E_MEMORY, first, &detail);
        return;
    }
    for (int64_t row = first; row < last && !atomic_load(&chunk->failed); row++) {
        assay_status status = ASSAY_OK;
        if (chunk->object->object.grouped)
            status = encode_row(chunk, row, values, &detail);
        else
            convert_plain_row(chunk, row, values);
        if (status != ASSAY_OK)
            report(chunk, status, row, &detail);
    }
    assay_free(values);
}

/* The chunk's planes as the writer wants them. */
static assay_status write_chunk(struct converter *converter, const struct chunk *chunk,
                                int64_t count)
{
    const void *planes[ASSAY_FILE_PLANES] = {chunk->words, NULL, NULL};

    if (chunk->object->object.grouped) {
        planes[0] = chunk->planes.base.data;
        planes[1] = chunk->planes.high.data;
        planes[2] = chunk->planes.scales.data;
    }
    return assay_writer_rows(&converter->writer, count, planes, converter->error);
}

static assay_status keep_on(struct converter *converter, const struct convert_object *object)
{
    const struct assay_convert_progress progress = {
        converter->elements_done, converter->plan.num_elements, object->tensor->name};

    if (converter->options->progress == NULL ||
        converter->options->progress(converter->options->argument, &progress))
        return ASSAY_OK;
    return assay_fail(converter->error, ASSAY_E_CANCELLED, "convert", object->tensor->name,
                      "interrupted; nothing was written");
}

static assay_status convert_chunks(struct converter *converter, struct chunk *chunk, void *memory,
                                   int64_t most)
{
    const struct assay_file_object *object = &chunk->object->object;

    for (chunk->first = 0; chunk->first < object->rows; chunk->first += most) {
        const int64_t left = object->rows - chunk->first, count = left < most ? left : most;
        ASSAY_TRY(keep_on(converter, chunk->object));
        chunk->words = memory;
        if (object->grouped)
            ASSAY_TRY(assay_weights_at(memory, object->format, count, object->columns,
                                       &chunk->planes, converter->error));
        assay_parallel(converter->context, count, GRAIN, convert_range, chunk);
        if (atomic_load(&chunk->failed))
            return assay_fail(converter->error, chunk->error.status, chunk->error.where,
                              chunk->error.what, "%s", chunk->error.message);
        ASSAY_TRY(write_chunk(converter, chunk, count));
        converter->elements_done += count * object->columns;
    }
    return ASSAY_OK;
}

static int64_t chunk_rows(const struct converter *converter, const struct assay_file_object *object)
{
    const int64_t fitting = CHUNK_VALUES / object->columns;
    int64_t rows = (int64_t)THREAD_ROWS * assay_context_num_threads(converter->context);

    rows = rows < fitting ? rows : fitting;
    rows = rows < object->rows ? rows : object->rows;
    return rows > 1 ? rows : 1;
}

/* Memory for the planes of `rows` rows. */
static assay_status chunk_bytes(const struct assay_file_object *object, int64_t rows, size_t *bytes,
                                struct assay_error *error)
{
    struct assay_weight_layout layout;

    *bytes = (size_t)(rows * object->columns) * assay_dtype_bytes(object->dtype);
    if (!object->grouped)
        return ASSAY_OK;
    ASSAY_TRY(assay_weight_layout_of(object->format, rows, object->columns, &layout, error));
    *bytes = layout.total;
    return ASSAY_OK;
}

assay_status convert_rows(struct converter *converter, const struct convert_object *object,
                          bool *encoded)
{
    struct chunk chunk = {.store = &converter->model->store, .object = object};
    const int64_t most = chunk_rows(converter, &object->object);
    float *importance = NULL;
    size_t bytes;

    ASSAY_TRY(gguf_importance_of(&converter->importance, &converter->model->config,
                                 object->tensor->name, object->object.columns, &importance,
                                 converter->error));
    chunk.importance = importance;
    assay_status status = chunk_bytes(&object->object, most, &bytes, converter->error);
    void *memory = status == ASSAY_OK ? assay_alloc_aligned(bytes) : NULL;
    if (status == ASSAY_OK && memory == NULL)
        status = assay_fail(converter->error, ASSAY_E_MEMORY, "convert", object->tensor->name,
                            "no memory for %zu bytes of rows", bytes);
    if (status == ASSAY_OK) {
        memset(memory, 0,
               bytes); /* gaps between planes are not written, but the digest's rows are */
        pthread_mutex_init(&chunk.mutex, NULL);
        assay_writer_begin(&converter->writer, &object->object);
        status = convert_chunks(converter, &chunk, memory, most);
        pthread_mutex_destroy(&chunk.mutex);
    }
    *encoded = atomic_load(&chunk.encoded);
    assay_free(memory);
    assay_free(importance);
    return status;
}
