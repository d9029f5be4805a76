/* SPDX-License-Identifier: MIT
 *
 * Typed reading of config fields: see config_fields.h.
 */
#include "model/config_fields.h"

#include <math.h>
#include <stdarg.h>

json_t *config_get(const struct config_source *source, const char *key, char path[CONFIG_PATH_SIZE])
{
    for (int i = 0; i < source->num_scopes; i++) {
        json_t *value = assay_json_get(source->scopes[i].object, key);
        if (value != NULL) {
            snprintf(path, CONFIG_PATH_SIZE, "%s%s", source->scopes[i].prefix, key);
            return value;
        }
    }
    snprintf(path, CONFIG_PATH_SIZE, "%s%s", source->scopes[0].prefix, key);
    return NULL;
}

assay_status config_refuse(const struct config_source *source, assay_status status,
                           const char *path, const char *format, ...)
{
    char message[sizeof source->error->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return assay_fail(source->error, status, source->file, path, "%s", message);
}

assay_status config_expected(const struct config_source *source, const char *path,
                             const json_t *found, const char *expected)
{
    char text[64];

    return config_refuse(source, ASSAY_E_PARSE, path, "is %s, expected %s",
                         assay_json_describe(found, text, sizeof text), expected);
}

assay_status config_integer(const struct config_source *source, const char *key, int64_t minimum,
                            int64_t maximum, int64_t fallback, int64_t *result)
{
    char path[CONFIG_PATH_SIZE], expected[96];
    const json_t *value = config_get(source, key, path);

    if (value == NULL && fallback == CONFIG_REQUIRED)
        return config_refuse(source, ASSAY_E_NOT_FOUND, path,
                             "is missing; add it as the model's original config has it");
    if (value == NULL) {
        *result = fallback;
        return ASSAY_OK;
    }
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > maximum) {
        snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)minimum,
                 (long long)maximum);
        return config_expected(source, path, value, expected);
    }
    *result = json_integer_value(value);
    return ASSAY_OK;
}

assay_status config_positive(const struct config_source *source, const char *key, double maximum,
                             bool *present, double *result)
{
    char path[CONFIG_PATH_SIZE], expected[96];
    const json_t *value = config_get(source, key, path);
    double number;

    *present = value != NULL;
    if (value == NULL)
        return ASSAY_OK;
    number = json_number_value(value);
    if (!json_is_number(value) || !isfinite(number) || !(number > 0) || number > maximum) {
        snprintf(expected, sizeof expected, "a number above 0 and at most %g", maximum);
        return config_expected(source, path, value, expected);
    }
    *result = number;
    return ASSAY_OK;
}

assay_status config_flag(const struct config_source *source, const char *key, bool fallback,
                         bool *result)
{
    char path[CONFIG_PATH_SIZE];
    const json_t *value = config_get(source, key, path);

    if (value != NULL && !json_is_boolean(value))
        return config_expected(source, path, value, "true or false");
    *result = value != NULL ? json_is_true(value) : fallback;
    return ASSAY_OK;
}

assay_status config_text(const struct config_source *source, const char *key, const char *fallback,
                         const char **result)
{
    char path[CONFIG_PATH_SIZE];
    const json_t *value = config_get(source, key, path);

    if (value != NULL && !json_is_string(value))
        return config_expected(source, path, value, "a string");
    *result = value != NULL ? json_string_value(value) : fallback;
    return ASSAY_OK;
}
