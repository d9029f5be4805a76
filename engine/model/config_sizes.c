/* SPDX-License-Identifier: MIT
 *
 * Sizes, layer kinds and stop tokens of a config (qwen3_5.md sections 2.2, 2.5 and 9.3).
 *
 * Maxima are far above every model and small enough that products of two sizes and a small factor
 * stay below 2^63: nothing later has to check a tensor's extent for overflow.
 */
#include "model/config_parts.h"

#include <stddef.h>
#include <string.h>

enum { MAX_SIZE = INT32_MAX, MAX_HEADS = 1 << 16, MAX_HEAD_DIM = 1 << 14, MAX_EXPERTS = 1 << 16 };
enum { ABSENT_HEAD_DIM = 0 };

struct size_rule {
    const char *key;
    size_t field; /* offset of an int64_t in struct assay_model_config */
    int64_t minimum, maximum;
    int64_t dense_default, moe_default;
};

#define FIELD(name) offsetof(struct assay_model_config, name)

static const struct size_rule common_rules[] = {
    {"vocab_size", FIELD(vocab_size), 1, MAX_SIZE, 248320, 248320},
    {"hidden_size", FIELD(hidden_size), 1, MAX_SIZE, 4096, 2048},
    {"num_hidden_layers", FIELD(num_layers), 1, ASSAY_MAX_LAYERS, 32, 40},
    {"num_attention_heads", FIELD(num_heads), 1, MAX_HEADS, 16, 16},
    {"num_key_value_heads", FIELD(num_kv_heads), 1, MAX_HEADS, 4, 2},
    {"max_position_embeddings", FIELD(max_positions), 1, MAX_SIZE, 32768, 32768},
    {"linear_conv_kernel_dim", FIELD(conv_taps), 2, 64, 4, 4},
    {"linear_key_head_dim", FIELD(linear_key_dim), 1, MAX_HEAD_DIM, 128, 128},
    {"linear_value_head_dim", FIELD(linear_value_dim), 1, MAX_HEAD_DIM, 128, 128},
    {"linear_num_key_heads", FIELD(linear_key_heads), 1, MAX_HEADS, 16, 16},
    {"linear_num_value_heads", FIELD(linear_value_heads), 1, MAX_HEADS, 32, 32},
    {"mtp_num_hidden_layers", FIELD(num_mtp_layers), 0, 1, 0, 0},
};

static const struct size_rule dense_rules[] = {
    {"intermediate_size", FIELD(intermediate_size), 1, MAX_SIZE, CONFIG_REQUIRED, 0},
};

static const struct size_rule moe_rules[] = {
    {"num_experts", FIELD(num_experts), 1, MAX_EXPERTS, 0, 256},
    {"num_experts_per_tok", FIELD(experts_per_token), 1, MAX_EXPERTS, 0, 8},
    {"moe_intermediate_size", FIELD(expert_size), 1, MAX_SIZE, 0, 512},
    {"shared_expert_intermediate_size", FIELD(shared_expert_size), 1, MAX_SIZE, 0, 512},
};

static assay_status read_rules(const struct config_source *source, const struct size_rule *rules,
                               size_t num_rules, struct assay_model_config *config)
{
    for (size_t i = 0; i < num_rules; i++) {
        int64_t fallback = config->is_moe ? rules[i].moe_default : rules[i].dense_default;
        int64_t value = 0;
        ASSAY_TRY(config_integer(source, rules[i].key, rules[i].minimum, rules[i].maximum, fallback,
                                 &value));
        memcpy((char *)config + rules[i].field, &value, sizeof value);
    }
    return ASSAY_OK;
}

/* JSON null means hidden_size / num_attention_heads; an absent key means 256 (as transformers). */
static assay_status read_head_dim(const struct config_source *source,
                                  struct assay_model_config *config)
{
    enum { DEFAULT_HEAD_DIM = 256 };
    char path[CONFIG_PATH_SIZE];
    bool is_null = json_is_null(json_object_get(source->scopes[0].object, "head_dim"));
    int64_t fallback = is_null ? ABSENT_HEAD_DIM : DEFAULT_HEAD_DIM;

    ASSAY_TRY(config_integer(source, "head_dim", 1, MAX_HEAD_DIM, fallback, &config->head_dim));
    if (config->head_dim != ABSENT_HEAD_DIM)
        return ASSAY_OK;
    config->head_dim = config->hidden_size / config->num_heads;
    if (config->hidden_size % config->num_heads != 0 || config->head_dim > MAX_HEAD_DIM) {
        config_get(source, "head_dim", path);
        return config_refuse(source, ASSAY_E_CORRUPT, path,
                             "is null, and hidden_size %lld / num_attention_heads %lld is not an "
                             "integer of at most %d; give head_dim",
                             (long long)config->hidden_size, (long long)config->num_heads,
                             MAX_HEAD_DIM);
    }
    return ASSAY_OK;
}

static assay_status check_multiple(const struct config_source *source, const char *key,
                                   int64_t value, const char *divisor_key, int64_t divisor)
{
    char path[CONFIG_PATH_SIZE];

    if (value % divisor == 0)
        return ASSAY_OK;
    config_get(source, key, path);
    return config_refuse(source, ASSAY_E_CORRUPT, path,
                         "is %lld, expected a multiple of %s, which is %lld", (long long)value,
                         divisor_key, (long long)divisor);
}

assay_status config_read_sizes(const struct config_source *source,
                               struct assay_model_config *config)
{
    bool present = false;
    char path[CONFIG_PATH_SIZE];

    ASSAY_TRY(read_rules(source, common_rules, sizeof common_rules / sizeof *common_rules, config));
    if (config->is_moe)
        ASSAY_TRY(read_rules(source, moe_rules, sizeof moe_rules / sizeof *moe_rules, config));
    else
        ASSAY_TRY(
            read_rules(source, dense_rules, sizeof dense_rules / sizeof *dense_rules, config));
    ASSAY_TRY(read_head_dim(source, config));
    config->rms_eps = 1e-6;
    ASSAY_TRY(config_positive(source, "rms_norm_eps", 1, &present, &config->rms_eps));

    ASSAY_TRY(check_multiple(source, "num_attention_heads", config->num_heads,
                             "num_key_value_heads", config->num_kv_heads));
    ASSAY_TRY(check_multiple(source, "linear_num_value_heads", config->linear_value_heads,
                             "linear_num_key_heads", config->linear_key_heads));
    if (config->experts_per_token > config->num_experts) {
        config_get(source, "num_experts_per_tok", path);
        return config_refuse(source, ASSAY_E_CORRUPT, path,
                             "is %lld, expected at most num_experts, which is %lld",
                             (long long)config->experts_per_token, (long long)config->num_experts);
    }
    return ASSAY_OK;
}

static assay_status read_layer_list(const struct config_source *source, const char *path,
                                    const json_t *list, struct assay_model_config *config)
{
    if (!json_is_array(list))
        return config_expected(source, path, list, "an array of strings");
    if (json_array_size(list) != (size_t)config->num_layers)
        return config_refuse(source, ASSAY_E_CORRUPT, path,
                             "has %zu entries, expected num_hidden_layers, which is %lld",
                             json_array_size(list), (long long)config->num_layers);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *kind = json_string_value(entry);
        char found[64];
        if (kind != NULL && strcmp(kind, "linear_attention") == 0)
            config->layers[i] = ASSAY_LAYER_LINEAR;
        else if (kind != NULL && strcmp(kind, "full_attention") == 0)
            config->layers[i] = ASSAY_LAYER_FULL;
        else
            return config_refuse(source, kind == NULL ? ASSAY_E_PARSE : ASSAY_E_UNSUPPORTED, path,
                                 "entry %zu is %s, expected linear_attention or full_attention", i,
                                 assay_json_describe(entry, found, sizeof found));
    }
    return ASSAY_OK;
}

assay_status config_read_layers(const struct config_source *source,
                                struct assay_model_config *config)
{
    char path[CONFIG_PATH_SIZE];
    int64_t interval = 0;
    int64_t disagreements = 0;
    const json_t *list = config_get(source, "layer_types", path);
    bool has_interval = config_get(source, "full_attention_interval", path) != NULL;

    ASSAY_TRY(config_integer(source, "full_attention_interval", 1, MAX_SIZE, 4, &interval));
    if (list != NULL) {
        config_get(source, "layer_types", path);
        ASSAY_TRY(read_layer_list(source, path, list, config));
    }
    for (int64_t i = 0; i < config->num_layers; i++) {
        enum assay_layer_kind kind =
            (i + 1) % interval == 0 ? ASSAY_LAYER_FULL : ASSAY_LAYER_LINEAR;
        if (list == NULL)
            config->layers[i] = kind;
        else
            disagreements += config->layers[i] != kind;
    }
    if (has_interval && disagreements > 0)
        assay_log(1,
                  "%s: layer_types and full_attention_interval %lld disagree about %lld layers; "
                  "layer_types is followed",
                  source->file, (long long)interval, (long long)disagreements);
    return ASSAY_OK;
}

static assay_status add_stop(const struct config_source *source, const char *path,
                             const json_t *value, struct assay_model_config *config)
{
    if (!json_is_integer(value))
        return config_expected(source, path, value, "a token id or an array of token ids");
    int64_t token = json_integer_value(value);
    if (token < 0 || token >= config->vocab_size)
        return config_refuse(source, ASSAY_E_RANGE, path,
                             "names token %lld, expected 0 to vocab_size - 1, which is %lld",
                             (long long)token, (long long)config->vocab_size - 1);
    for (int i = 0; i < config->num_stop_tokens; i++)
        if (config->stop_tokens[i] == token)
            return ASSAY_OK;
    if (config->num_stop_tokens == ASSAY_MAX_STOP_TOKENS)
        return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                             "names more than %d tokens; remove those that never occur",
                             ASSAY_MAX_STOP_TOKENS);
    config->stop_tokens[config->num_stop_tokens++] = token;
    return ASSAY_OK;
}

assay_status config_read_stops(const struct config_source *source,
                               struct assay_model_config *config)
{
    char path[CONFIG_PATH_SIZE];
    const json_t *value = config_get(source, "eos_token_id", path);

    config->num_stop_tokens = 0;
    if (value == NULL)
        return ASSAY_OK;
    if (!json_is_array(value))
        return add_stop(source, path, value, config);
    for (size_t i = 0; i < json_array_size(value); i++)
        ASSAY_TRY(add_stop(source, path, json_array_get(value, i), config));
    return ASSAY_OK;
}
