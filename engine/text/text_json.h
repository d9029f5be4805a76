/* SPDX-License-Identifier: MIT
 *
 * JSON of the text layer, read with jansson under limits that bound its memory.
 */
#ifndef ASSAY_TEXT_TEXT_JSON_H
#define ASSAY_TEXT_TEXT_JSON_H

#include <stddef.h>

#include <jansson.h>

#include <assay/status.h>

/* Parses a whole text. Duplicate keys, text after the value, invalid UTF-8 and U+0000 in strings
 * are refused; the error names `where`, line and column. Free with json_decref. */
ASSAY_MUST_USE assay_status text_json_parse(const char *data, size_t bytes, const char *where,
                                            json_t **value, struct assay_error *error);
/* "an integer", "a string", ... for messages. */
const char *text_json_type(const json_t *value);

#endif
