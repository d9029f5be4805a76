/* SPDX-License-Identifier: MIT
 *
 * Typed reading of config fields, private to engine/model. A field is looked up in a list of
 * scopes (JSON objects), the first that has it wins, JSON null counts as absent. Failures name the
 * file and the field with its full path, say what was found and what is expected.
 */
#ifndef ASSAY_MODEL_CONFIG_FIELDS_H
#define ASSAY_MODEL_CONFIG_FIELDS_H

#include "core/json_input.h"
#include "core/core.h"

#define CONFIG_MAX_SCOPES 3
#define CONFIG_PATH_SIZE  96
#define CONFIG_REQUIRED   INT64_MIN /* as fallback of an integer: there is none */

struct config_scope {
    const json_t *object;
    const char *prefix; /* "text_config." */
};

struct config_source {
    const char *file; /* "config.json" */
    struct config_scope scopes[CONFIG_MAX_SCOPES];
    int num_scopes;
    struct assay_error *error;
};

/* The field's value or NULL; its path (where it was found, or where it was expected) to path. */
json_t *config_get(const struct config_source *source, const char *key,
                   char path[CONFIG_PATH_SIZE]);

/* An integer of minimum..maximum; reals such as 4096.0 are refused, as transformers would carry
 * them on as reals. Absent: the fallback. */
ASSAY_MUST_USE assay_status config_integer(const struct config_source *source, const char *key,
                                           int64_t minimum, int64_t maximum, int64_t fallback,
                                           int64_t *result);
/* A finite number (integer or real) above 0 and at most `maximum`; *present tells whether the
 * field was there, *result is left alone when not. */
ASSAY_MUST_USE assay_status config_positive(const struct config_source *source, const char *key,
                                            double maximum, bool *present, double *result);
ASSAY_MUST_USE assay_status config_flag(const struct config_source *source, const char *key,
                                        bool fallback, bool *result);
/* The string lives in the JSON tree. */
ASSAY_MUST_USE assay_status config_text(const struct config_source *source, const char *key,
                                        const char *fallback, const char **result);
/* A failure about `path` in the source's file, for rules beyond type and range. */
assay_status config_refuse(const struct config_source *source, assay_status status,
                           const char *path, const char *format, ...) ASSAY_PRINTF(4, 5);
/* "PATH is FOUND, expected EXPECTED" with ASSAY_E_PARSE. */
assay_status config_expected(const struct config_source *source, const char *path,
                             const json_t *found, const char *expected);

#endif
