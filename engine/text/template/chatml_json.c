/* SPDX-License-Identifier: MIT
 *
 * Messages from JSON: an array of {"role", "content"[, "reasoning_content"]}. Other fields are
 * refused, because a template that does not know them would silently drop what they say.
 */
#include <assay/tokenizer.h>

#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "text/text_json.h"

#define WHERE "messages"

static assay_status read_text(json_t *message, size_t index, const char *name, bool may_be_missing,
                              const char **text, struct assay_error *error)
{
    const json_t *value = json_object_get(message, name);
    *text = json_string_value(value); /* NULL when it is no string */
    if (*text != NULL || (may_be_missing && (value == NULL || json_is_null(value))))
        return ASSAY_OK;
    char field[64];
    snprintf(field, sizeof field, "messages[%zu].%s", index, name);
    return assay_fail(error, ASSAY_E_PARSE, WHERE, field, "must be a string, is %s",
                      assay_json_type(value));
}

static assay_status read_message(json_t *json, size_t index, struct assay_message *message,
                                 struct assay_error *error)
{
    char field[96];
    if (!json_is_object(json)) {
        snprintf(field, sizeof field, "messages[%zu]", index);
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field, "must be an object, is %s",
                          assay_json_type(json));
    }
    for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, "role") == 0 || strcmp(key, "content") == 0 ||
            strcmp(key, "reasoning_content") == 0)
            continue;
        snprintf(field, sizeof field, "messages[%zu].%.60s", index, key);
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field,
                          "this field is not supported; role, content and reasoning_content are");
    }
    ASSAY_TRY(read_text(json, index, "role", false, &message->role, error));
    ASSAY_TRY(read_text(json, index, "content", false, &message->content, error));
    return read_text(json, index, "reasoning_content", true, &message->reasoning, error);
}

static assay_status render(json_t *array, const struct assay_template_options *options, char **text,
                           size_t *bytes, struct assay_error *error)
{
    if (!json_is_array(array))
        return assay_fail(error, ASSAY_E_PARSE, WHERE, "messages", "must be an array, is %s",
                          assay_json_type(array));
    size_t count = json_array_size(array);
    struct assay_message *messages = assay_alloc_zero(count, sizeof *messages);
    if (messages == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "messages", "no memory for %zu messages",
                          count);
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = read_message(json_array_get(array, i), i, &messages[i], error);
    if (status == ASSAY_OK)
        status = assay_template_render(messages, count, options, text, bytes, error);
    assay_free(messages);
    return status;
}

assay_status assay_template_render_json(const char *json, size_t json_bytes,
                                        const struct assay_template_options *options, char **text,
                                        size_t *bytes, struct assay_error *error)
{
    if (text != NULL)
        *text = NULL;
    if (bytes != NULL)
        *bytes = 0;
    if (json == NULL || options == NULL || text == NULL || bytes == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "arguments", "must not be NULL");
    json_t *array;
    ASSAY_TRY(assay_json_parse(WHERE, "JSON", json, json_bytes, &text_json_limits, ASSAY_E_PARSE,
                               &array, error));
    assay_status status = render(array, options, text, bytes, error);
    json_decref(array);
    return status;
}
