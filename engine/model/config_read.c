/* SPDX-License-Identifier: MIT
 *
 * config.json and generation_config.json (qwen3_5.md sections 2 and 9.3).
 */
#include "model/config_parts.h"

#include <string.h>

#include "artifact/input_file.h"

/* "If either level says true" (2.3): the key is looked at in both scopes, not in the first only. */
static assay_status read_tying(const struct config_source *source,
                               struct assay_model_config *config)
{
    for (int i = 0; i < source->num_scopes; i++) {
        struct config_source level = *source;
        bool tied = false;
        level.scopes[0] = source->scopes[i];
        level.num_scopes = 1;
        ASSAY_TRY(config_flag(&level, "tie_word_embeddings", false, &tied));
        config->tie_embeddings = config->tie_embeddings || tied;
    }
    return ASSAY_OK;
}

/* Nested form: text_config before the top level. Flat form: the top level alone (2.1). */
static assay_status set_scopes(struct config_source *source, const json_t *root)
{
    const json_t *text = assay_json_get(root, "text_config");

    if (text != NULL && !json_is_object(text))
        return config_expected(source, "text_config", text, "an object");
    if (text != NULL)
        source->scopes[source->num_scopes++] = (struct config_scope){text, "text_config."};
    source->scopes[source->num_scopes++] = (struct config_scope){root, ""};
    return ASSAY_OK;
}

static assay_status read_root(const char *file, const json_t *root,
                              struct assay_model_config *config, struct assay_error *error)
{
    struct config_source source = {.file = file, .error = error};

    ASSAY_TRY(set_scopes(&source, root));
    ASSAY_TRY(config_read_kind(&source, config));
    ASSAY_TRY(config_check_options(&source));
    ASSAY_TRY(config_read_sizes(&source, config));
    ASSAY_TRY(config_read_rope(&source, config));
    ASSAY_TRY(config_read_layers(&source, config));
    ASSAY_TRY(read_tying(&source, config));
    return config_read_stops(&source, config);
}

/* Its stops replace those of config.json, which names only some of them. */
static assay_status read_generation(const struct assay_map *map, struct assay_model_config *config,
                                    struct assay_error *error)
{
    struct config_source source = {.file = GENERATION_FILE, .num_scopes = 1, .error = error};
    json_t *root = NULL;

    ASSAY_TRY(assay_input_parse(GENERATION_FILE, "JSON", map->data, map->bytes, ASSAY_E_PARSE,
                                &root, error));
    source.scopes[0] = (struct config_scope){root, ""};
    assay_status status = ASSAY_OK;
    if (assay_json_get(root, "eos_token_id") != NULL)
        status = config_read_stops(&source, config);
    json_decref(root);
    return status;
}

static assay_status read_parts(const struct weight_store *store, struct assay_model_config *config,
                               struct assay_error *error)
{
    struct assay_map map;
    bool present = false;

    ASSAY_TRY(read_root(store->config_file, store->config, config, error));
    ASSAY_TRY(assay_input_open_optional(store->dir, GENERATION_FILE, &map, &present, error));
    assay_status status = ASSAY_OK;
    if (present)
        status = read_generation(&map, config, error);
    assay_map_close(&map);
    return status;
}

assay_status config_of_store(const struct weight_store *store, struct assay_model_config *config,
                             struct assay_error *error)
{
    memset(config, 0, sizeof *config);
    const assay_status status = read_parts(store, config, error);
    if (status != ASSAY_OK)
        memset(config, 0, sizeof *config);
    return status;
}

assay_status assay_config_read(const char *model_dir, struct assay_model_config *config,
                               struct assay_error *error)
{
    struct weight_store store;

    if (model_dir == NULL || config == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_config_read",
                          model_dir == NULL ? "model_dir" : "config", "must not be NULL");
    memset(config, 0, sizeof *config);
    ASSAY_TRY(weight_store_open(model_dir, &store, error));
    const assay_status status = config_of_store(&store, config, error);
    weight_store_close(&store);
    return status;
}
