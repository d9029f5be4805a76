/* SPDX-License-Identifier: MIT
 *
 * Rotary embedding parameters of a config (qwen3_5.md section 2.4).
 */
#include "model/config_parts.h"

#include <string.h>

/* P of section 2.4 with its path, or NULL: rope_scaling before rope_parameters, text_config before
 * the top level. */
static const json_t *find_rope_object(const struct config_source *source,
                                      char path[CONFIG_PATH_SIZE])
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};

    for (int i = 0; i < source->num_scopes; i++)
        for (size_t j = 0; j < sizeof keys / sizeof *keys; j++) {
            const json_t *object = assay_json_get(source->scopes[i].object, keys[j]);
            if (object == NULL)
                continue;
            snprintf(path, CONFIG_PATH_SIZE, "%s%s", source->scopes[i].prefix, keys[j]);
            return object;
        }
    return NULL;
}

/* rope_type is newer than type; both are looked for in P before the text model's own rope_type. */
static assay_status check_type(const struct config_source *rope, const json_t *object)
{
    const char *type = NULL, *key = "rope_type";
    char path[CONFIG_PATH_SIZE];

    if (assay_json_get(object, "rope_type") == NULL && assay_json_get(object, "type") != NULL)
        key = "type";
    ASSAY_TRY(config_text(rope, key, "default", &type));
    config_get(rope, key, path);
    if (strcmp(type, "default") == 0 || strcmp(type, "mrope") == 0)
        return ASSAY_OK;
    if (strcmp(type, "yarn") == 0)
        return config_refuse(rope, ASSAY_E_UNSUPPORTED, path,
                             "is \"yarn\": context extension changes the result for short texts "
                             "too and is not supported by this version; remove the yarn settings "
                             "to run the model at its trained length");
    return config_refuse(rope, ASSAY_E_UNSUPPORTED, path,
                         "is \"%.64s\", this version supports only \"default\"", type);
}

/* The rotated pairs are dealt out to three axes (F8), so the sections must add up to their
 * number. */
static assay_status read_sections(const struct config_source *rope,
                                  struct assay_model_config *config)
{
    static const int64_t defaults[3] = {11, 11, 10};
    char path[CONFIG_PATH_SIZE];
    const json_t *list = config_get(rope, "mrope_section", path);
    int64_t sum = 0;

    if (list != NULL && (!json_is_array(list) || json_array_size(list) != 3))
        return config_expected(rope, path, list, "an array of 3 integers");
    for (size_t i = 0; i < 3; i++) {
        const json_t *entry = list != NULL ? json_array_get(list, i) : NULL;
        if (entry != NULL && (!json_is_integer(entry) || json_integer_value(entry) < 0 ||
                              json_integer_value(entry) > config->rotary_dim))
            return config_expected(rope, path, entry, "sections from 0 to the rotated dimensions");
        config->mrope_section[i] = entry != NULL ? json_integer_value(entry) : defaults[i];
        sum += config->mrope_section[i];
    }
    if (sum != config->rotary_dim / 2)
        return config_refuse(rope, ASSAY_E_CORRUPT, path,
                             "adds up to %lld, expected half of head_dim * partial_rotary_factor, "
                             "which is %lld",
                             (long long)sum, (long long)config->rotary_dim / 2);
    return ASSAY_OK;
}

static assay_status read_rotary_dim(const struct config_source *rope,
                                    struct assay_model_config *config)
{
    char path[CONFIG_PATH_SIZE];
    double factor = 0.25;
    bool present = false;

    ASSAY_TRY(config_positive(rope, "partial_rotary_factor", 1, &present, &factor));
    config->rotary_dim = (int64_t)((double)config->head_dim * factor);
    config_get(rope, "partial_rotary_factor", path);
    if (config->rotary_dim < 2 || config->rotary_dim % 2 != 0)
        return config_refuse(rope, ASSAY_E_CORRUPT, path,
                             "%g rotates %lld of the %lld dimensions of a head, expected an even "
                             "number of at least 2",
                             factor, (long long)config->rotary_dim, (long long)config->head_dim);
    return ASSAY_OK;
}

assay_status config_read_rope(const struct config_source *source, struct assay_model_config *config)
{
    struct config_source rope = *source;
    char path[CONFIG_PATH_SIZE], prefix[CONFIG_PATH_SIZE + 1];
    bool present = false, interleaved = true;
    const json_t *object = find_rope_object(source, path);

    if (object != NULL && !json_is_object(object))
        return config_expected(source, path, object, "an object");
    if (object != NULL) {
        /* In front of the text model's scopes: one look-up then follows the precedence. */
        snprintf(prefix, sizeof prefix, "%s.", path);
        memmove(rope.scopes + 1, source->scopes, (size_t)source->num_scopes * sizeof *rope.scopes);
        rope.scopes[0] = (struct config_scope){object, prefix};
        rope.num_scopes++;
    }
    ASSAY_TRY(check_type(&rope, object));
    ASSAY_TRY(config_positive(&rope, "rope_theta", 1e300, &present, &config->rope_theta));
    config_get(&rope, "rope_theta", path);
    if (!present)
        return config_refuse(&rope, ASSAY_E_NOT_FOUND, path,
                             "is missing; without it the usual fallback of 10000 would silently "
                             "spoil a model trained with 1e7; add the original value");
    ASSAY_TRY(config_flag(&rope, "mrope_interleaved", true, &interleaved));
    config_get(&rope, "mrope_interleaved", path);
    if (!interleaved)
        return config_refuse(&rope, ASSAY_E_UNSUPPORTED, path,
                             "is false, but rotary sections of this family are always "
                             "interleaved; use a model with true");
    ASSAY_TRY(read_rotary_dim(&rope, config));
    return read_sections(&rope, config);
}
