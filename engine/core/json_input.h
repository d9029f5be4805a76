/* SPDX-License-Identifier: MIT
 *
 * JSON text from files that nobody has checked yet, private to the engine. Parsing is jansson's;
 * this layer bounds what a hostile text can cost before jansson sees it (bytes, nesting depth,
 * number of values) and turns every failure into an error record that names the file.
 */
#ifndef ASSAY_CORE_JSON_INPUT_H
#define ASSAY_CORE_JSON_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <assay/status.h>

/* What a text may have at most. A tree costs jansson some 110 bytes for each value (measured: an
 * array of empty objects). */
struct json_limits {
    size_t bytes;
    size_t values; /* objects, arrays, commas and colons count as one each */
    int depth;     /* nested objects and arrays; jansson itself refuses more than 2048 */
};

/* Parses text[bytes], one JSON value without duplicate keys; *value then belongs to the caller
 * (json_decref). Fails with `status` when the text is not that, with ASSAY_E_UNSUPPORTED beyond
 * the limits and with ASSAY_E_MEMORY. `file` and `part` go to the error record as where and what.
 */
ASSAY_MUST_USE assay_status assay_json_parse(const char *file, const char *part, const void *text,
                                             size_t bytes, const struct json_limits *limits,
                                             assay_status status, json_t **value,
                                             struct assay_error *error);
/* The same where the value must be an object. */
ASSAY_MUST_USE assay_status assay_json_parse_object(const char *file, const char *part,
                                                    const void *text, size_t bytes,
                                                    const struct json_limits *limits,
                                                    assay_status status, json_t **object,
                                                    struct assay_error *error);

/* `an object`, `a string`, `true`, for messages; NULL is `missing`. */
const char *assay_json_type(const json_t *value);

/* The same with what a short text can show: `an array of 3`, `the string "abc"`, `3`. Cut to size;
 * returns text. 64 bytes are enough for every value but longer strings. */
const char *assay_json_describe(const json_t *value, char *text, size_t size);

/* The value of a key, with JSON null (and a missing object) read as absent: NULL. */
json_t *assay_json_get(const json_t *object, const char *key);

#endif
