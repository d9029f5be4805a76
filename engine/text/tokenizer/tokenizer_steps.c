/* SPDX-License-Identifier: MIT
 *
 * The steps around the model in tokenizer.json. One pipeline is implemented, so everything that
 * would change it is refused rather than ignored.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/json_input.h"

static bool has_type(const json_t *step, const char *type)
{
    const json_t *value = json_object_get(step, "type");
    return json_is_string(value) && strcmp(json_string_value(value), type) == 0;
}

static assay_status refuse(const char *field, const char *expected, const json_t *step,
                           struct assay_error *error)
{
    const json_t *type = json_object_get(step, "type");
    return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, field, "must be %s, is %.60s",
                      expected,
                      json_is_string(type) ? json_string_value(type) : assay_json_type(step));
}

/* null, or `type`, or a Sequence of nothing but `type`; *present says whether it is there. */
static assay_status read_plain(const json_t *root, const char *name, const char *list,
                               const char *type, bool *present, struct assay_error *error)
{
    const json_t *step = json_object_get(root, name);
    *present = false;
    if (step == NULL || json_is_null(step))
        return ASSAY_OK;
    if (has_type(step, type)) {
        *present = true;
        return ASSAY_OK;
    }
    const json_t *steps = json_object_get(step, list);
    if (!has_type(step, "Sequence") || !json_is_array(steps))
        return refuse(name, type, step, error);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *inner = json_array_get(steps, i);
        if (!has_type(inner, type)) {
            char field[64];
            snprintf(field, sizeof field, "%s.%s[%zu]", name, list, i);
            return refuse(field, type, inner, error);
        }
        *present = true;
    }
    return ASSAY_OK;
}

static assay_status check_false(const json_t *step, const char *step_name, const char *name,
                                bool may_be_missing, struct assay_error *error)
{
    const json_t *value = json_object_get(step, name);
    if (json_is_false(value) || (value == NULL && may_be_missing))
        return ASSAY_OK;
    char field[96];
    snprintf(field, sizeof field, "%s.%s", step_name, name);
    return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, field, "must be false, is %s",
                      assay_json_type(value));
}

static assay_status read_split(struct assay_tokenizer *tokenizer, const json_t *split,
                               struct assay_error *error)
{
#define SPLIT "pre_tokenizer.pretokenizers[0]"
    if (!has_type(split, "Split"))
        return refuse(SPLIT, "Split", split, error);
    const json_t *behavior = json_object_get(split, "behavior");
    if (!json_is_string(behavior) || strcmp(json_string_value(behavior), "Isolated") != 0)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, SPLIT ".behavior",
                          "must be \"Isolated\"");
    ASSAY_TRY(check_false(split, SPLIT, "invert", true, error));
    const json_t *pattern = json_object_get(split, "pattern");
    const json_t *regex = json_object_get(pattern, "Regex");
    if (!json_is_object(pattern) || json_object_size(pattern) != 1 || !json_is_string(regex))
        return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, SPLIT ".pattern",
                          "must be {\"Regex\": string}");
    return split_pattern_compile(json_string_value(regex), &tokenizer->pattern, error);
#undef SPLIT
}

static assay_status read_pre_tokenizer(struct assay_tokenizer *tokenizer, const json_t *root,
                                       struct assay_error *error)
{
#define BYTE_LEVEL "pre_tokenizer.pretokenizers[1]"
    const json_t *step = json_object_get(root, "pre_tokenizer");
    const json_t *steps = json_object_get(step, "pretokenizers");
    if (!has_type(step, "Sequence") || !json_is_array(steps) || json_array_size(steps) != 2)
        return refuse("pre_tokenizer", "a Sequence of Split and ByteLevel", step, error);
    const json_t *byte_level = json_array_get(steps, 1);
    if (!has_type(byte_level, "ByteLevel"))
        return refuse(BYTE_LEVEL, "ByteLevel", byte_level, error);
    /* Both are true where the file leaves them out. */
    ASSAY_TRY(check_false(byte_level, BYTE_LEVEL, "add_prefix_space", false, error));
    ASSAY_TRY(check_false(byte_level, BYTE_LEVEL, "use_regex", false, error));
    return read_split(tokenizer, json_array_get(steps, 0), error);
#undef BYTE_LEVEL
}

assay_status tokenizer_read_steps(struct assay_tokenizer *tokenizer, const json_t *root,
                                  struct assay_error *error)
{
    bool present;
    ASSAY_TRY(read_plain(root, "normalizer", "normalizers", "NFC", &tokenizer->normalize, error));
    ASSAY_TRY(read_pre_tokenizer(tokenizer, root, error));
    /* A ByteLevel post-processor only trims offsets; any other would add tokens. */
    ASSAY_TRY(read_plain(root, "post_processor", "processors", "ByteLevel", &present, error));
    ASSAY_TRY(read_plain(root, "decoder", "decoders", "ByteLevel", &present, error));
    if (!present)
        return refuse("decoder", "ByteLevel", json_object_get(root, "decoder"), error);
    return ASSAY_OK;
}
