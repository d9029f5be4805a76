/* SPDX-License-Identifier: MIT
 *
 * One tensor of a safetensors header: dtype, shape, data_offsets, and how they fit each other.
 */
#include "artifact/safetensors/safetensors.h"

#include <inttypes.h>
#include <string.h>

#include "core/json_input.h"

/* All whole-byte dtypes of the format. The engine computes on those with a format; the others can
 * still stand in a file beside them (vision towers, quantiser state) and need their size known. */
static const struct {
    const char *name;
    unsigned bytes;
    enum assay_dtype format;
} dtypes[] = {
    {"BOOL", 1, ASSAY_NUM_DTYPES},
    {"U8", 1, ASSAY_U8},
    {"I8", 1, ASSAY_NUM_DTYPES},
    {"F8_E4M3", 1, ASSAY_NUM_DTYPES},
    {"F8_E5M2", 1, ASSAY_NUM_DTYPES},
    {"F8_E8M0", 1, ASSAY_NUM_DTYPES},
    {"I16", 2, ASSAY_NUM_DTYPES},
    {"U16", 2, ASSAY_NUM_DTYPES},
    {"F16", 2, ASSAY_F16},
    {"BF16", 2, ASSAY_BF16},
    {"I32", 4, ASSAY_I32},
    {"U32", 4, ASSAY_NUM_DTYPES},
    {"F32", 4, ASSAY_F32},
    {"I64", 8, ASSAY_I64},
    {"U64", 8, ASSAY_NUM_DTYPES},
    {"F64", 8, ASSAY_F64},
};

static assay_status refuse(struct assay_error *error, const char *file, const char *tensor,
                           const char *field, const json_t *found, const char *expected)
{
    char text[64];

    if (found == NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, file, tensor, "%s is missing, expected %s", field,
                          expected);
    return assay_fail(error, ASSAY_E_CORRUPT, file, tensor, "%s is %s, expected %s", field,
                      assay_json_describe(found, text, sizeof text), expected);
}

static assay_status read_dtype(const char *file, const json_t *value,
                               struct safetensors_entry *entry, unsigned *element_bytes,
                               struct assay_error *error)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return refuse(error, file, entry->name, "dtype", value, "a string such as \"BF16\"");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            entry->dtype = dtypes[i].name;
            entry->format = dtypes[i].format;
            *element_bytes = dtypes[i].bytes;
            return ASSAY_OK;
        }
    return assay_fail(error, ASSAY_E_UNSUPPORTED, file, entry->name,
                      "dtype is \"%.40s\", which this version does not know; expected BF16 or F32",
                      name);
}

/* The product is taken over the extents that are not 0: an empty tensor whose other extents
 * overflow could not have strides. */
static assay_status read_shape(const char *file, const json_t *value, unsigned element_bytes,
                               struct safetensors_entry *entry, struct assay_error *error)
{
    int64_t product = (int64_t)element_bytes;
    bool is_empty = false;

    if (!json_is_array(value))
        return refuse(error, file, entry->name, "shape", value, "an array of integers");
    if (json_array_size(value) > SAFETENSORS_MAX_RANK)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, file, entry->name,
                          "shape has %zu dimensions, at most %d are supported",
                          json_array_size(value), SAFETENSORS_MAX_RANK);
    entry->rank = (int)json_array_size(value);
    for (int i = 0; i < entry->rank; i++) {
        const json_t *extent = json_array_get(value, (size_t)i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return refuse(error, file, entry->name, "an extent of shape", extent,
                          "a non-negative integer");
        entry->extent[i] = json_integer_value(extent);
        if (entry->extent[i] == 0)
            is_empty = true;
        else if (__builtin_mul_overflow(product, entry->extent[i], &product))
            return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                              "shape: the product of the extents times %u bytes overflows 63 bits",
                              element_bytes);
    }
    entry->bytes = is_empty ? 0 : (uint64_t)product;
    return ASSAY_OK;
}

static assay_status read_offsets(const char *file, const json_t *value, uint64_t data_bytes,
                                 struct safetensors_entry *entry, struct assay_error *error)
{
    uint64_t offset[2];

    if (!json_is_array(value) || json_array_size(value) != 2)
        return refuse(error, file, entry->name, "data_offsets", value, "[begin, end]");
    for (size_t i = 0; i < 2; i++) {
        const json_t *part = json_array_get(value, i);
        if (!json_is_integer(part) || json_integer_value(part) < 0)
            return refuse(error, file, entry->name, "a part of data_offsets", part,
                          "a non-negative integer");
        offset[i] = (uint64_t)json_integer_value(part);
    }
    if (offset[0] > offset[1])
        return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                          "data_offsets are [%" PRIu64 ", %" PRIu64 "], begin is after end",
                          offset[0], offset[1]);
    if (offset[1] > data_bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                          "data_offsets end at %" PRIu64 ", but the file has %" PRIu64
                          " bytes of data; is the download complete?",
                          offset[1], data_bytes);
    if (offset[1] - offset[0] != entry->bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                          "data_offsets span %" PRIu64 " bytes, dtype and shape need %" PRIu64,
                          offset[1] - offset[0], entry->bytes);
    entry->begin = offset[0];
    return ASSAY_OK;
}

assay_status assay_safetensors_read_entry(const char *file, const void *json, uint64_t data_bytes,
                                          struct safetensors_entry *entry,
                                          struct assay_error *error)
{
    const json_t *value = json;
    unsigned element_bytes = 0;

    if (entry->name[0] == '\0')
        return assay_fail(error, ASSAY_E_CORRUPT, file, "\"\"", "a tensor has an empty name");
    if (!json_is_object(value))
        return refuse(error, file, entry->name, "the entry", value, "an object");
    ASSAY_TRY(read_dtype(file, json_object_get(value, "dtype"), entry, &element_bytes, error));
    ASSAY_TRY(read_shape(file, json_object_get(value, "shape"), element_bytes, entry, error));
    ASSAY_TRY(read_offsets(file, json_object_get(value, "data_offsets"), data_bytes, entry, error));
    if (json_object_size(value) != 3)
        return assay_fail(error, ASSAY_E_CORRUPT, file, entry->name,
                          "the entry has %zu keys, expected dtype, shape and data_offsets only",
                          json_object_size(value));
    return ASSAY_OK;
}
