/* SPDX-License-Identifier: MIT
 *
 * Typed access to metadata: see gguf.h.
 */
#include "artifact/gguf/gguf.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

assay_status gguf_refuse(const struct gguf_file *file, assay_status status, const char *key,
                         struct assay_error *error, const char *format, ...)
{
    char message[384];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return assay_fail(error, status, file->name, key, "%s", message);
}

const struct gguf_entry *gguf_entry_find(const struct gguf_file *file, const char *key)
{
    const size_t bytes = strlen(key);
    int64_t low = 0, high = file->num_entries;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct gguf_entry *entry = &file->entries[middle];
        const size_t shorter = entry->key_bytes < bytes ? entry->key_bytes : bytes;
        int order = memcmp(entry->key, key, shorter);
        if (order == 0 && entry->key_bytes != bytes)
            order = entry->key_bytes < bytes ? -1 : 1;
        if (order == 0)
            return entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint64_t load(const uint8_t *data, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i > 0; i--)
        value = value << 8 | data[i - 1];
    return value;
}

assay_status gguf_element(const struct gguf_file *file, const struct gguf_entry *entry,
                          uint64_t index, int64_t *result, struct assay_error *error)
{
    const size_t bytes = gguf_value_bytes(entry->type);
    const uint8_t *data = entry->data + index * bytes;
    char key[GGUF_KEY_SIZE];

    snprintf(key, sizeof key, "%.*s",
             (int)(entry->key_bytes < sizeof key ? entry->key_bytes : sizeof key - 1), entry->key);
    switch (entry->type) {
    case GGUF_BOOL:
        *result = *data != 0;
        return ASSAY_OK;
    case GGUF_I8:
        *result = (int8_t)*data;
        return ASSAY_OK;
    case GGUF_I16:
        *result = (int16_t)load(data, 2);
        return ASSAY_OK;
    case GGUF_I32:
        *result = (int32_t)load(data, 4);
        return ASSAY_OK;
    case GGUF_I64:
        *result = (int64_t)load(data, 8);
        return ASSAY_OK;
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64: {
        const uint64_t value = load(data, bytes);
        if (value > INT64_MAX)
            break;
        *result = (int64_t)value;
        return ASSAY_OK;
    }
    default:
        break;
    }
    return gguf_refuse(file, ASSAY_E_PARSE, key, error,
                       "is not an integer of at most 63 bits (value type %d)", (int)entry->type);
}

assay_status gguf_integer(const struct gguf_file *file, const char *key, bool *present,
                          int64_t *result, struct assay_error *error)
{
    const struct gguf_entry *entry = gguf_entry_find(file, key);

    *present = entry != NULL;
    if (entry == NULL)
        return ASSAY_OK;
    if (entry->is_array)
        return gguf_refuse(file, ASSAY_E_PARSE, key, error, "is an array, expected an integer");
    return gguf_element(file, entry, 0, result, error);
}

assay_status gguf_number(const struct gguf_file *file, const char *key, bool *present,
                         double *result, struct assay_error *error)
{
    enum { MOST_DIGITS = 9 /* enough to tell every binary32 from its neighbours */ };
    const struct gguf_entry *entry = gguf_entry_find(file, key);
    float narrow = 0;
    char text[32];

    *present = entry != NULL;
    if (entry == NULL)
        return ASSAY_OK;
    if (entry->is_array || (entry->type != GGUF_F32 && entry->type != GGUF_F64))
        return gguf_refuse(file, ASSAY_E_PARSE, key, error, "is not a floating-point number");
    if (entry->type == GGUF_F64)
        memcpy(result, entry->data, sizeof *result);
    else
        memcpy(&narrow, entry->data, sizeof narrow);
    if (entry->type == GGUF_F32 && isfinite(narrow))
        for (int digits = 1; digits <= MOST_DIGITS; digits++) {
            snprintf(text, sizeof text, "%.*e", digits - 1, (double)narrow);
            *result = strtod(text, NULL);
            if ((float)*result == narrow)
                break;
        }
    if (!isfinite(entry->type == GGUF_F64 ? *result : (double)narrow))
        return gguf_refuse(file, ASSAY_E_PARSE, key, error, "is not finite");
    return ASSAY_OK;
}

assay_status gguf_text(const struct gguf_file *file, const char *key, bool *present, char *text,
                       size_t size, struct assay_error *error)
{
    const struct gguf_entry *entry = gguf_entry_find(file, key);

    *present = entry != NULL;
    if (entry == NULL)
        return ASSAY_OK;
    if (entry->is_array || entry->type != GGUF_STRING)
        return gguf_refuse(file, ASSAY_E_PARSE, key, error, "is not a text");
    const uint64_t bytes = load(entry->data, 8);
    if (bytes >= size || memchr(entry->data + 8, '\0', (size_t)bytes) != NULL)
        return gguf_refuse(file, ASSAY_E_PARSE, key, error,
                           "is a text of %llu bytes or has a zero in it, expected at most %zu",
                           (unsigned long long)bytes, size - 1);
    memcpy(text, entry->data + 8, (size_t)bytes);
    text[bytes] = '\0';
    return ASSAY_OK;
}
