/* SPDX-License-Identifier: MIT
 *
 * Bounded JSON input: see json_input.h.
 */
#include "core/json_input.h"

#include <pthread.h>
#include <string.h>

#include "core/core.h"

/* ---- allocations of jansson ------------------------------------------------------------------
 *
 * jansson 2.14 does not report every failed allocation: one inside a string token can just drop a
 * character, and parsing goes on with a wrong name. So its malloc hook is wrapped, once a process,
 * by one that remembers a failure and takes part in the countdown of tests. What it hands out is
 * the memory of the hook before it and is freed by that one's partner, so other users of jansson
 * in the process, also those with allocators of their own, see no difference. */
static json_malloc_t wrapped_malloc;
static _Thread_local bool allocation_failed;

static void *watched_malloc(size_t size)
{
    void *memory = assay_fault_now() ? NULL : wrapped_malloc(size);

    if (memory == NULL)
        allocation_failed = true;
    return memory;
}

static void watch_allocations(void)
{
    json_free_t wrapped_free;

    json_get_alloc_funcs(&wrapped_malloc, &wrapped_free);
    json_set_alloc_funcs(watched_malloc, wrapped_free);
}

/* ---- limits --------------------------------------------------------------------------------- */

struct json_census {
    size_t values; /* not fewer than the values in the text */
    int depth;     /* the deepest nesting of objects and arrays */
};

/* Counts in one pass, without a stack. Every value but the outermost follows one of the four
 * characters counted here, so the count is an upper bound for valid text; invalid text is cut off
 * by jansson at its first error and costs no more. Stops at a depth beyond `most`. */
static struct json_census take_census(const unsigned char *text, size_t bytes, int most)
{
    struct json_census census = {1, 0};
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < bytes; i++) {
        if (in_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                in_string = false;
            continue;
        }
        switch (text[i]) {
        case '"':
            in_string = true;
            break;
        case '{':
        case '[':
            census.values++;
            if (++depth > census.depth)
                census.depth = depth;
            if (depth > most)
                return census;
            break;
        case '}':
        case ']':
            depth--;
            break;
        case ',':
        case ':':
            census.values++;
            break;
        default:
            break;
        }
    }
    return census;
}

static assay_status check_limits(const char *file, const char *part, const void *text, size_t bytes,
                                 const struct json_limits *limits, struct assay_error *error)
{
    if (bytes > limits->bytes)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, file, part,
                          "JSON text of %zu bytes, at most %zu are read", bytes, limits->bytes);
    struct json_census census = take_census(text, bytes, limits->depth);
    if (census.depth > limits->depth)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, file, part,
                          "JSON nested deeper than %d levels", limits->depth);
    if (census.values > limits->values)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, file, part,
                          "JSON text of more than %zu values", limits->values);
    return ASSAY_OK;
}

assay_status assay_json_parse(const char *file, const char *part, const void *text, size_t bytes,
                              const struct json_limits *limits, assay_status status, json_t **value,
                              struct assay_error *error)
{
    static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
    json_error_t detail;

    *value = NULL;
    if (bytes == 0)
        return assay_fail(error, status, file, part, "is empty, expected JSON");
    ASSAY_TRY(check_limits(file, part, text, bytes, limits, error));
    pthread_once(&watch_once, watch_allocations);
    allocation_failed = false;
    json_t *parsed = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &detail);
    if (allocation_failed) {
        json_decref(parsed);
        return assay_fail(error, ASSAY_E_MEMORY, file, part, "no memory for the JSON tree");
    }
    if (!parsed)
        return assay_fail(error, status, file, part, "not valid JSON, line %d column %d: %s",
                          detail.line, detail.column, detail.text);
    *value = parsed;
    return ASSAY_OK;
}

assay_status assay_json_parse_object(const char *file, const char *part, const void *text,
                                     size_t bytes, const struct json_limits *limits,
                                     assay_status status, json_t **object,
                                     struct assay_error *error)
{
    ASSAY_TRY(assay_json_parse(file, part, text, bytes, limits, status, object, error));
    if (json_is_object(*object))
        return ASSAY_OK;
    char found[64];
    assay_json_describe(*object, found, sizeof found);
    json_decref(*object);
    *object = NULL;
    return assay_fail(error, status, file, part, "is %s, expected a JSON object", found);
}

const char *assay_json_type(const json_t *value)
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

const char *assay_json_describe(const json_t *value, char *text, size_t size)
{
    if (value == NULL) {
        snprintf(text, size, "missing");
        return text;
    }
    switch (json_typeof(value)) {
    case JSON_ARRAY:
        snprintf(text, size, "an array of %zu", json_array_size(value));
        break;
    case JSON_STRING:
        snprintf(text, size, "the string \"%.40s\"", json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(text, size, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(text, size, "%g", json_real_value(value));
        break;
    default:
        snprintf(text, size, "%s", assay_json_type(value));
        break;
    }
    return text;
}

json_t *assay_json_get(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}
