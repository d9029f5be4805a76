/* SPDX-License-Identifier: MIT
 *
 * JSON text from files that nobody has checked yet, private to the engine. Parsing is jansson's;
 * this layer bounds what a hostile text can cost before jansson sees it (bytes, nesting depth,
 * number of values) and turns every failure into an error record that names the file.
 */
#ifndef ASSAY_ARTIFACT_JSON_INPUT_H
#define ASSAY_ARTIFACT_JSON_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <assay/status.h>

/* A tree costs jansson at most some 110 bytes for each value (measured: an array of empty
 * objects), so JSON_INPUT_MAX_VALUES keeps any text below 128 MiB. The largest real header known (a
 * shard with 30,000 expert tensors) has 4 MiB and 400,000 values. */
#define JSON_INPUT_MAX_BYTES  ((size_t)16 << 20)
#define JSON_INPUT_MAX_VALUES ((size_t)1 << 20)
#define JSON_INPUT_MAX_DEPTH  32

/* Parses text[bytes], which must be one JSON object without duplicate keys; *root then belongs to
 * the caller (json_decref). Fails with `status` when the text is not that, with
 * ASSAY_E_UNSUPPORTED beyond the limits and with ASSAY_E_MEMORY. `file` and `part` go to the
 * error record as where and what. */
ASSAY_MUST_USE assay_status assay_json_parse(const char *file, const char *part, const void *text,
                                             size_t bytes, assay_status status, json_t **root,
                                             struct assay_error *error);

/* What was found, for messages: `an object`, `the string "abc"`, `3`. Cut to size; returns text.
 * 64 bytes are enough for every value but longer strings. */
const char *assay_json_describe(const json_t *value, char *text, size_t size);

/* The value of a key, with JSON null (and a missing object) read as absent: NULL. */
json_t *assay_json_get(const json_t *object, const char *key);

#endif
