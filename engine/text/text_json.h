/* SPDX-License-Identifier: MIT
 *
 * JSON of the text layer: tokenizer files and message lists.
 */
#ifndef ASSAY_TEXT_TEXT_JSON_H
#define ASSAY_TEXT_TEXT_JSON_H

#include <limits.h>

#include "core/json_input.h"

/* The largest tokenizer of the family has 0.25 million vocabulary entries and as many merges of two
 * strings: 1.3 million values. A tree stays below 600 MiB. */
static const struct json_limits text_json_limits = {
    .bytes = (size_t)128 << 20, .values = (size_t)4 << 20, .depth = INT_MAX};

#endif
