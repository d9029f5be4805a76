/* SPDX-License-Identifier: MIT
 *
 * The container (qwen3_5.md section 8.1): header, metadata, tensor list, data.
 *
 * A cursor walks the file; every length is compared with what is left of it before anything is
 * read or allocated, so that no table is larger than a small multiple of the file. Tensors must
 * cover the data in order, each at the first aligned byte after the one before: two roles on the
 * same bytes, or bytes nobody names, are signs of a damaged file.
 */
#include "artifact/gguf/gguf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_blocks.h"

enum {
    VERSION_LEAST = 2, /* version 1 had 32-bit counts */
    VERSION = 3,
    DEFAULT_ALIGNMENT = 32,
    LARGEST_ALIGNMENT = 1 << 16,
    LARGEST_KEY = 65535, /* as the format says */
    LARGEST_NAME = 127,  /* the format says 64 */
    ENTRY_LEAST = 8 + 4 + 1,
    TENSOR_LEAST = 8 + 4 + 8 + 4 + 8
};

size_t gguf_value_bytes(enum gguf_value_type type)
{
    static const uint8_t bytes[GGUF_NUM_VALUE_TYPES] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_BOOL] = 1, [GGUF_U16] = 2,
        [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,  [GGUF_F32] = 4,
        [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};

    return type < GGUF_NUM_VALUE_TYPES ? bytes[type] : 0;
}

struct cursor {
    const struct gguf_file *file;
    size_t at;
    const char *part; /* what is being read, for errors */
    struct assay_error *error;
};

static assay_status corrupt(const struct cursor *cursor, const char *format, ...)
    ASSAY_PRINTF(2, 3);
static assay_status corrupt(const struct cursor *cursor, const char *format, ...)
{
    char message[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return assay_fail(cursor->error, ASSAY_E_CORRUPT, cursor->file->name, cursor->part,
                      "at byte %zu: %s", cursor->at, message);
}

static size_t left(const struct cursor *cursor)
{
    return cursor->file->map.bytes - cursor->at;
}

static assay_status take(struct cursor *cursor, uint64_t bytes, const uint8_t **data)
{
    if (bytes > left(cursor))
        return corrupt(cursor,
                       "%" PRIu64 " bytes are expected, %zu are left; is the download complete?",
                       bytes, left(cursor));
    *data = cursor->file->map.data + cursor->at;
    cursor->at += (size_t)bytes;
    return ASSAY_OK;
}

static assay_status take_integer(struct cursor *cursor, int bytes, uint64_t *value)
{
    const uint8_t *data = NULL;

    ASSAY_TRY(take(cursor, (uint64_t)bytes, &data));
    *value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        *value = *value << 8 | data[i];
    return ASSAY_OK;
}

static assay_status take_text(struct cursor *cursor, uint64_t largest, const char **text,
                              size_t *length)
{
    uint64_t stated = 0;
    const uint8_t *data = NULL;

    ASSAY_TRY(take_integer(cursor, 8, &stated));
    if (stated > largest)
        return corrupt(cursor, "a text of %" PRIu64 " bytes, at most %" PRIu64 " are expected",
                       stated, largest);
    ASSAY_TRY(take(cursor, stated, &data));
    *text = (const char *)data;
    *length = (size_t)stated;
    return ASSAY_OK;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static assay_status take_type(struct cursor *cursor, enum gguf_value_type *type)
{
    uint64_t value = 0;

    ASSAY_TRY(take_integer(cursor, 4, &value));
    if (value >= GGUF_NUM_VALUE_TYPES)
        return corrupt(cursor, "type %" PRIu64 " of a value is unknown", value);
    *type = (enum gguf_value_type)value;
    return ASSAY_OK;
}

/* Steps over count elements. */
static assay_status take_elements(struct cursor *cursor, enum gguf_value_type type, uint64_t count)
{
    const size_t size = gguf_value_bytes(type);
    const uint8_t *data = NULL;
    const char *text;
    size_t length;

    /* Every text has a length of 8 bytes. */
    if (count > left(cursor) / (size > 0 ? size : 8))
        return corrupt(cursor, "%" PRIu64 " elements do not fit into the %zu bytes left", count,
                       left(cursor));
    if (size > 0)
        return take(cursor, count * size, &data);
    for (uint64_t i = 0; i < count; i++)
        ASSAY_TRY(take_text(cursor, left(cursor), &text, &length));
    return ASSAY_OK;
}

static assay_status take_entry(struct cursor *cursor, struct gguf_entry *entry)
{
    cursor->part = "key";
    ASSAY_TRY(take_text(cursor, LARGEST_KEY, &entry->key, &entry->key_bytes));
    if (entry->key_bytes == 0 || memchr(entry->key, '\0', entry->key_bytes) != NULL)
        return corrupt(cursor, "a key is empty or has a zero in it");
    cursor->part = "value";
    ASSAY_TRY(take_type(cursor, &entry->type));
    entry->is_array = entry->type == GGUF_ARRAY;
    entry->count = 1;
    if (entry->is_array) {
        ASSAY_TRY(take_type(cursor, &entry->type));
        ASSAY_TRY(take_integer(cursor, 8, &entry->count));
        if (entry->type == GGUF_ARRAY)
            return corrupt(cursor, "an array of arrays; no key of these models has one");
    }
    entry->data = cursor->file->map.data + cursor->at;
    return take_elements(cursor, entry->type, entry->count);
}

static int compare_keys(const void *left_entry, const void *right_entry)
{
    const struct gguf_entry *a = left_entry, *b = right_entry;
    const size_t shorter = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;
    const int order = memcmp(a->key, b->key, shorter);

    if (order != 0 || a->key_bytes == b->key_bytes)
        return order;
    return a->key_bytes < b->key_bytes ? -1 : 1;
}

static assay_status take_metadata(struct cursor *cursor, struct gguf_file *file, uint64_t count)
{
    cursor->part = "key count";
    if (count > left(cursor) / ENTRY_LEAST)
        return corrupt(cursor, "%" PRIu64 " keys do not fit into the %zu bytes left", count,
                       left(cursor));
    file->entries = assay_alloc_zero((size_t)count + 1, sizeof *file->entries);
    if (file->entries == NULL)
        return assay_fail(cursor->error, ASSAY_E_MEMORY, file->name, "",
                          "no memory for %" PRIu64 " keys", count);
    for (uint64_t i = 0; i < count; i++)
        ASSAY_TRY(take_entry(cursor, &file->entries[file->num_entries++]));
    qsort(file->entries, (size_t)count, sizeof *file->entries, compare_keys);
    for (uint64_t i = 1; i < count; i++)
        if (compare_keys(&file->entries[i - 1], &file->entries[i]) == 0)
            return assay_fail(
                cursor->error, ASSAY_E_CORRUPT, file->name, "key", "\"%.*s\" is there twice",
                (int)(file->entries[i].key_bytes < 64 ? file->entries[i].key_bytes : 64),
                file->entries[i].key);
    return ASSAY_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Elements and bytes without overflow; the innermost extent in whole blocks. */
static assay_status measure(const struct cursor *cursor, struct gguf_tensor *tensor, uint64_t type)
{
    const struct gguf_block *block = gguf_block_find((uint32_t)type);

    tensor->type = (uint32_t)type;
    if (block == NULL)
        return assay_fail(cursor->error, ASSAY_E_UNSUPPORTED, cursor->file->name, tensor->name,
                          "tensor type %" PRIu64 " is not known to this version; expected F32, "
                          "F16, BF16, Q4_0, Q8_0, Q4_K, Q5_K or Q6_K",
                          type);
    if (tensor->ne[0] % block->values != 0)
        return assay_fail(cursor->error, ASSAY_E_CORRUPT, cursor->file->name, tensor->name,
                          "rows of %" PRId64 " values are not whole blocks of %" PRId64 " (%s)",
                          tensor->ne[0], block->values, block->name);
    int64_t product = tensor->ne[0] / block->values;
    bool overflow = __builtin_mul_overflow(product, block->bytes, &product);
    for (int i = 1; i < GGUF_MAX_RANK; i++)
        overflow = overflow || __builtin_mul_overflow(product, tensor->ne[i], &product);
    if (overflow)
        return assay_fail(cursor->error, ASSAY_E_CORRUPT, cursor->file->name, tensor->name,
                          "the extents need more than 2^63 bytes");
    tensor->bytes = (uint64_t)product;
    return ASSAY_OK;
}

/* The name goes to *names, which advances. */
static assay_status take_tensor(struct cursor *cursor, struct gguf_tensor *tensor, char **names)
{
    const char *name = NULL;
    size_t length = 0;
    uint64_t rank = 0, extent = 0, type = 0;

    cursor->part = "tensor name";
    ASSAY_TRY(take_text(cursor, LARGEST_NAME, &name, &length));
    if (length == 0 || memchr(name, '\0', length) != NULL)
        return corrupt(cursor, "a tensor's name is empty or has a zero in it");
    memcpy(*names, name, length);
    tensor->name = *names;
    cursor->part = tensor->name;
    *names += length + 1;
    ASSAY_TRY(take_integer(cursor, 4, &rank));
    if (rank < 1 || rank > GGUF_MAX_RANK)
        return corrupt(cursor, "%" PRIu64 " dimensions, expected 1 to %d", rank, GGUF_MAX_RANK);
    tensor->rank = (int)rank;
    for (int i = 0; i < GGUF_MAX_RANK; i++) {
        tensor->ne[i] = 1;
        if (i >= tensor->rank)
            continue;
        ASSAY_TRY(take_integer(cursor, 8, &extent));
        if (extent < 1 || extent > INT64_MAX)
            return corrupt(cursor, "an extent of %" PRIu64 ", expected 1 to 2^63 - 1", extent);
        tensor->ne[i] = (int64_t)extent;
    }
    ASSAY_TRY(take_integer(cursor, 4, &type));
    ASSAY_TRY(measure(cursor, tensor, type));
    return take_integer(cursor, 8, &tensor->offset);
}

static assay_status take_tensors(struct cursor *cursor, struct gguf_file *file, uint64_t count)
{
    cursor->part = "tensor count";
    if (count > left(cursor) / TENSOR_LEAST)
        return corrupt(cursor, "%" PRIu64 " tensors do not fit into the %zu bytes left", count,
                       left(cursor));
    /* A name and its zero are shorter than the name and its length in the file. */
    const size_t longest = (size_t)count * (LARGEST_NAME + 1);
    file->names = assay_alloc_zero(left(cursor) < longest ? left(cursor) + 1 : longest + 1, 1);
    file->tensors = assay_alloc_zero((size_t)count + 1, sizeof *file->tensors);
    if (file->names == NULL || file->tensors == NULL)
        return assay_fail(cursor->error, ASSAY_E_MEMORY, file->name, "",
                          "no memory for %" PRIu64 " tensors", count);
    char *names = file->names;
    for (uint64_t i = 0; i < count; i++)
        ASSAY_TRY(take_tensor(cursor, &file->tensors[file->num_tensors++], &names));
    return ASSAY_OK;
}

static int compare_places(const void *left_tensor, const void *right_tensor)
{
    const struct gguf_tensor *a = left_tensor, *b = right_tensor;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_names(const void *left_tensor, const void *right_tensor)
{
    const struct gguf_tensor *a = left_tensor, *b = right_tensor;

    return strcmp(a->name, b->name);
}

static uint64_t align(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Forms the tensors' addresses. Sums stay below 2^64: what is added was compared with the file's
 * size before. */
static assay_status place_tensors(const struct cursor *cursor, struct gguf_file *file,
                                  uint64_t alignment)
{
    const uint64_t start = align(cursor->at, alignment);
    const uint64_t size = start <= file->map.bytes ? file->map.bytes - start : 0;
    uint64_t end = 0;

    qsort(file->tensors, (size_t)file->num_tensors, sizeof *file->tensors, compare_places);
    for (int64_t i = 0; i < file->num_tensors; i++) {
        struct gguf_tensor *tensor = &file->tensors[i];
        if (tensor->offset % alignment != 0)
            return assay_fail(cursor->error, ASSAY_E_CORRUPT, file->name, tensor->name,
                              "offset %" PRIu64 " is not a multiple of the alignment %" PRIu64,
                              tensor->offset, alignment);
        if (tensor->offset > size || tensor->bytes > size - tensor->offset)
            return assay_fail(cursor->error, ASSAY_E_CORRUPT, file->name, tensor->name,
                              "offset %" PRIu64 " and %" PRIu64 " bytes reach past the %" PRIu64
                              " bytes of data; is the download complete?",
                              tensor->offset, tensor->bytes, size);
        if (tensor->offset != align(end, alignment))
            return assay_fail(cursor->error, ASSAY_E_CORRUPT, file->name, tensor->name,
                              "begins at %" PRIu64 ", but the tensor before it ends at %" PRIu64,
                              tensor->offset, end);
        tensor->data = file->map.data + start + tensor->offset;
        end = tensor->offset + tensor->bytes;
    }
    if (size > align(end, alignment))
        return assay_fail(cursor->error, ASSAY_E_CORRUPT, file->name, "data",
                          "tensors cover %" PRIu64 " bytes, the file has %" PRIu64, end, size);
    qsort(file->tensors, (size_t)file->num_tensors, sizeof *file->tensors, compare_names);
    for (int64_t i = 1; i < file->num_tensors; i++)
        if (strcmp(file->tensors[i - 1].name, file->tensors[i].name) == 0)
            return assay_fail(cursor->error, ASSAY_E_CORRUPT, file->name, file->tensors[i].name,
                              "the tensor is there twice");
    return ASSAY_OK;
}

static assay_status read_alignment(const struct gguf_file *file, uint64_t *alignment,
                                   struct assay_error *error)
{
    static const char key[] = "general.alignment";
    int64_t value = DEFAULT_ALIGNMENT;
    bool present;

    ASSAY_TRY(gguf_integer(file, key, &present, &value, error));
    if (value < 8 || value % 8 != 0 || value > LARGEST_ALIGNMENT)
        return gguf_refuse(file, ASSAY_E_CORRUPT, key, error,
                           "is %" PRId64 ", expected a multiple of 8 up to %d", value,
                           LARGEST_ALIGNMENT);
    *alignment = (uint64_t)value;
    return ASSAY_OK;
}

static assay_status read_header(struct cursor *cursor, uint64_t *num_tensors, uint64_t *num_keys)
{
    const uint8_t *magic = NULL;
    uint64_t version = 0;

    ASSAY_TRY(take(cursor, 4, &magic));
    if (memcmp(magic, "GGUF", 4) != 0)
        return corrupt(cursor, "the file does not begin with \"GGUF\"; expected a .gguf file, or "
                               "the folder of a model");
    ASSAY_TRY(take_integer(cursor, 4, &version));
    if (version < VERSION_LEAST || version > VERSION)
        return assay_fail(cursor->error, ASSAY_E_UNSUPPORTED, cursor->file->name, "version",
                          "is %" PRIu64 "%s, expected %d", version,
                          version % (1 << 24) == 0 ? " (a big-endian file)" : "", VERSION);
    ASSAY_TRY(take_integer(cursor, 8, num_tensors));
    return take_integer(cursor, 8, num_keys);
}

static assay_status read_file(struct gguf_file *file, struct assay_error *error)
{
    struct cursor cursor = {.file = file, .part = "header", .error = error};
    uint64_t num_tensors = 0, num_keys = 0, alignment = 0;

    ASSAY_TRY(read_header(&cursor, &num_tensors, &num_keys));
    ASSAY_TRY(take_metadata(&cursor, file, num_keys));
    ASSAY_TRY(read_alignment(file, &alignment, error));
    ASSAY_TRY(take_tensors(&cursor, file, num_tensors));
    return place_tensors(&cursor, file, alignment);
}

assay_status gguf_open(const char *path, struct gguf_file *file, struct assay_error *error)
{
    const char *slash = strrchr(path, '/');

    *file = (struct gguf_file){.name = assay_duplicate(slash == NULL ? path : slash + 1)};
    assay_status status = ASSAY_OK;
    if (file->name == NULL)
        status = assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for the file's name");
    if (status == ASSAY_OK)
        status = assay_map_open(path, &file->map, error);
    if (status == ASSAY_OK)
        status = read_file(file, error);
    if (status != ASSAY_OK)
        gguf_close(file);
    return status;
}

void gguf_close(struct gguf_file *file)
{
    assay_map_close(&file->map);
    assay_free(file->entries);
    assay_free(file->tensors);
    assay_free(file->names);
    assay_free(file->name);
    *file = (struct gguf_file){.name = NULL};
}

const struct gguf_tensor *gguf_find(const struct gguf_file *file, const char *name)
{
    int64_t low = 0, high = file->num_tensors;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(file->tensors[middle].name, name);
        if (order == 0)
            return &file->tensors[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
