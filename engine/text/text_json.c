/* SPDX-License-Identifier: MIT
 *
 * JSON of the text layer, read with jansson under limits that bound its memory.
 */
#include "text/text_json.h"

#include <stdbool.h>

#include "core/core.h"

/* The parser spends up to about 130 bytes on a value or container of two bytes ("0," "[]"), so
 * their numbers are counted before it starts. The largest tokenizer of the family has 0.25 million
 * vocabulary entries and as many merges of two strings: 1.3 million values. */
enum {
    MAX_BYTES = 128 << 20,
    MAX_VALUES = 4 << 20,
    MAX_CONTAINERS = 2 << 20,
};

static bool within_limits(const char *data, size_t bytes)
{
    size_t values = 0, containers = 0;
    bool in_string = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = data[i];
        if (in_string) {
            if (c == '\\')
                i++; /* the escaped character cannot end the string */
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == ',') {
            values++;
        } else if (c == '[' || c == '{') {
            containers++;
        }
    }
    return values <= MAX_VALUES && containers <= MAX_CONTAINERS;
}

assay_status text_json_parse(const char *data, size_t bytes, const char *where, json_t **value,
                             struct assay_error *error)
{
    *value = NULL;
    if (bytes > MAX_BYTES || !within_limits(data, bytes))
        return assay_fail(error, ASSAY_E_UNSUPPORTED, where, "JSON",
                          "too large: at most %d bytes, %d values and %d arrays or objects are "
                          "read; the text has %zu bytes",
                          (int)MAX_BYTES, (int)MAX_VALUES, (int)MAX_CONTAINERS, bytes);
    json_error_t failure;
    *value = json_loadb(bytes > 0 ? data : "", bytes, JSON_REJECT_DUPLICATES, &failure);
    if (*value != NULL)
        return ASSAY_OK;
    if (json_error_code(&failure) == json_error_out_of_memory)
        return assay_fail(error, ASSAY_E_MEMORY, where, "JSON", "no memory for the parsed text");
    return assay_fail(error, ASSAY_E_PARSE, where, "JSON", "line %d, column %d: %s", failure.line,
                      failure.column, failure.text);
}

const char *text_json_type(const json_t *value)
{
    if (value == NULL)
        return "missing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}
