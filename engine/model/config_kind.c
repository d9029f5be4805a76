/* SPDX-License-Identifier: MIT
 *
 * Which model family a config describes (qwen3_5.md section 2.1), and the options of section 2.2
 * of which the engine supports one value.
 */
#include "model/config_parts.h"

#include <string.h>

enum kind { KIND_UNKNOWN, KIND_DENSE, KIND_MOE };

static const struct {
    const char *name;
    enum kind kind;
} names[] = {
    {"qwen3_5", KIND_DENSE},
    {"qwen3_5_text", KIND_DENSE},
    {"qwen3_5_moe", KIND_MOE},
    {"qwen3_5_moe_text", KIND_MOE},
    {"qwen3_next", KIND_MOE}, /* the same mathematics, other tensors (section 3.5) */
    {"Qwen3_5ForCausalLM", KIND_DENSE},
    {"Qwen3_5ForConditionalGeneration", KIND_DENSE},
    {"Qwen3_5MoeForCausalLM", KIND_MOE},
    {"Qwen3_5MoeForConditionalGeneration", KIND_MOE},
    {"Qwen3NextForCausalLM", KIND_MOE},
};

/* What a config says about its kind: how many names said dense, and how many MoE. */
struct votes {
    int dense;
    int moe;
};

static assay_status vote(const struct config_source *source, const char *path, const json_t *value,
                         struct votes *votes)
{
    const char *text = json_string_value(value);

    if (text == NULL)
        return config_expected(source, path, value, "a string");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            votes->dense += names[i].kind == KIND_DENSE;
            votes->moe += names[i].kind == KIND_MOE;
            return ASSAY_OK;
        }
    return config_refuse(
        source, ASSAY_E_UNSUPPORTED, path,
        "is \"%.64s\", which is not a text model of the qwen3_5 family; use a "
        "model with model_type qwen3_5, qwen3_5_moe, their _text forms, or qwen3_next",
        text);
}

static assay_status vote_architectures(const struct config_source *level, struct votes *votes)
{
    char path[CONFIG_PATH_SIZE];
    const json_t *list = config_get(level, "architectures", path);

    if (list == NULL)
        return ASSAY_OK;
    if (!json_is_array(list))
        return config_expected(level, path, list, "an array of strings");
    for (size_t i = 0; i < json_array_size(list); i++)
        ASSAY_TRY(vote(level, path, json_array_get(list, i), votes));
    return ASSAY_OK;
}

static assay_status count_votes(const struct config_source *source, struct votes *votes)
{
    for (int i = 0; i < source->num_scopes; i++) {
        struct config_source level = *source;
        char path[CONFIG_PATH_SIZE];
        level.scopes[0] = source->scopes[i];
        level.num_scopes = 1;
        const json_t *value = config_get(&level, "model_type", path);
        if (value != NULL)
            ASSAY_TRY(vote(&level, path, value, votes));
        ASSAY_TRY(vote_architectures(&level, votes));
    }
    return ASSAY_OK;
}

assay_status config_read_kind(const struct config_source *source, struct assay_model_config *config)
{
    struct votes votes = {0, 0};
    int64_t num_experts = 0;

    ASSAY_TRY(count_votes(source, &votes));
    if (votes.dense + votes.moe == 0)
        return config_refuse(source, ASSAY_E_NOT_FOUND, "model_type",
                             "neither model_type nor architectures is there; add the model_type "
                             "of the original config, such as qwen3_5_text");
    if (votes.dense > 0 && votes.moe > 0) {
        ASSAY_TRY(config_integer(source, "num_experts", 0, INT32_MAX, 0, &num_experts));
        config->is_moe = num_experts > 0;
        return ASSAY_OK;
    }
    config->is_moe = votes.moe > 0;
    return ASSAY_OK;
}

/* Flags whose other value means another computation. */
static assay_status check_flags(const struct config_source *source)
{
    static const struct {
        const char *key;
        bool supported;
        const char *reason;
    } flags[] = {
        {"attention_bias", false, "the projections of this family have no bias"},
        {"layer_scale", false, "layers of this family are not scaled"},
        {"mtp_use_dedicated_embeddings", false, "the MTP layer shares the model's embedding"},
        {"attn_output_gate", true, "q_proj of this family holds queries and gates"},
        {"norm_topk_prob", true, "expert weights of this family are always renormalised"},
    };

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool value = false;
        char path[CONFIG_PATH_SIZE];
        ASSAY_TRY(config_flag(source, flags[i].key, flags[i].supported, &value));
        config_get(source, flags[i].key, path);
        if (value != flags[i].supported)
            return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                                 "is %s, but %s; use a model with %s", value ? "true" : "false",
                                 flags[i].reason, flags[i].supported ? "true" : "false");
    }
    return ASSAY_OK;
}

/* Texts of which one or two values mean what the engine computes. */
static assay_status check_texts(const struct config_source *source)
{
    static const struct {
        const char *key, *first, *second;
    } texts[] = {
        {"hidden_act", "silu", "silu"},
        {"output_gate_type", "swish", "silu"},
        {"mamba_ssm_dtype", "float32", "float32"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value = NULL;
        char path[CONFIG_PATH_SIZE];
        ASSAY_TRY(config_text(source, texts[i].key, texts[i].first, &value));
        config_get(source, texts[i].key, path);
        if (strcmp(value, texts[i].first) != 0 && strcmp(value, texts[i].second) != 0)
            return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                                 "is \"%.64s\", this version supports only %s", value,
                                 texts[i].first);
    }
    return ASSAY_OK;
}

/* Every layer has the same FFN kind. */
static assay_status check_sparsity(const struct config_source *source)
{
    char path[CONFIG_PATH_SIZE];
    const json_t *list = config_get(source, "mlp_only_layers", path);
    int64_t step = 1;

    if (list != NULL && !json_is_array(list))
        return config_expected(source, path, list, "an empty array");
    if (json_array_size(list) > 0)
        return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                             "has %zu entries, but in this family all layers have the same FFN; "
                             "use a model with an empty list",
                             json_array_size(list));
    ASSAY_TRY(config_integer(source, "decoder_sparse_step", 0, INT32_MAX, 1, &step));
    config_get(source, "decoder_sparse_step", path);
    if (step != 1)
        return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                             "is %lld, but in this family all layers have the same FFN; use a "
                             "model with 1",
                             (long long)step);
    return ASSAY_OK;
}

assay_status config_check_options(const struct config_source *source)
{
    char path[CONFIG_PATH_SIZE];

    if (config_get(source, "quantization_config", path) != NULL)
        return config_refuse(source, ASSAY_E_UNSUPPORTED, path,
                             "quantized weights are not supported by this version; use the "
                             "model's BF16 release");
    ASSAY_TRY(check_flags(source));
    ASSAY_TRY(check_texts(source));
    return check_sparsity(source);
}
