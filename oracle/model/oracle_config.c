/* SPDX-License-Identifier: MIT
 *
 * config.json of a model, both the nested and the flat form. Anything that would change the
 * mathematics and is not implemented here is refused.
 */
#include <string.h>

#include <jansson.h>

#include "oracle_model_private.h"

/* The text fields, and where to complain. */
struct reader {
    const json_t *root, *text, *rope;
    const char *dir;
    char *message;
    size_t size;
    assay_status status; /* the first failure */
};

static void refuse(struct reader *r, assay_status status, const char *field, const char *what)
{
    if (r->status == ASSAY_OK)
        r->status = oracle_model_fail(status, r->message, r->size, "%s/config.json: %s: %s", r->dir,
                                      field, what);
}

static int64_t positive(struct reader *r, const char *field)
{
    const json_t *value = json_object_get(r->text, field);
    int64_t number = json_integer_value(value);
    if (number <= 0 || number > INT32_MAX) {
        refuse(r, ASSAY_E_CORRUPT, field, "must be a positive integer");
        return 1; /* harmless in the divisions that follow */
    }
    return number;
}

static void must_not_be(struct reader *r, const char *field, bool refused)
{
    const json_t *value = json_object_get(r->text, field);
    if (refused ? json_is_true(value) : json_is_false(value))
        refuse(r, ASSAY_E_UNSUPPORTED, field, refused ? "true" : "false");
}

static void must_be_text(struct reader *r, const char *field, const char *first, const char *second)
{
    const char *text = json_string_value(json_object_get(r->text, field));
    if (text != NULL && strcmp(text, first) != 0 && strcmp(text, second) != 0)
        refuse(r, ASSAY_E_UNSUPPORTED, field, text);
}

/* rope_parameters, else the text fields themselves (qwen3_5.md section 2.4). */
static const json_t *rope_field(const struct reader *r, const char *field)
{
    const json_t *value = json_object_get(r->rope, field);
    return value != NULL ? value : json_object_get(r->text, field);
}

static void read_rope(struct reader *r, struct oracle_config *c)
{
    r->rope = json_object_get(r->text, "rope_scaling");
    if (!json_is_object(r->rope))
        r->rope = json_object_get(r->text, "rope_parameters");
    c->rope_theta = json_number_value(rope_field(r, "rope_theta"));
    if (!(c->rope_theta > 1))
        refuse(r, ASSAY_E_CORRUPT, "rope_theta", "must be a number above 1");
    const json_t *factor = rope_field(r, "partial_rotary_factor");
    double share = factor != NULL ? json_number_value(factor) : 0.25;
    c->rotary_dim = (int64_t)((double)c->head_dim * share);
    if (c->rotary_dim <= 0 || c->rotary_dim > c->head_dim || c->rotary_dim % 2 != 0)
        refuse(r, ASSAY_E_CORRUPT, "partial_rotary_factor", "rotated part must be even and fit");
    const char *type = json_string_value(rope_field(r, "rope_type"));
    if (type != NULL && strcmp(type, "default") != 0 && strcmp(type, "mrope") != 0)
        refuse(r, ASSAY_E_UNSUPPORTED, "rope_type", type);
}

static void read_layer_kinds(struct reader *r, struct oracle_config *c)
{
    if (c->num_layers > ORACLE_MAX_LAYERS) {
        refuse(r, ASSAY_E_UNSUPPORTED, "num_hidden_layers", "too many layers");
        return;
    }
    const json_t *kinds = json_object_get(r->text, "layer_types");
    if (!json_is_array(kinds)) {
        const json_t *given = json_object_get(r->text, "full_attention_interval");
        int64_t interval = given != NULL ? positive(r, "full_attention_interval") : 4;
        for (int64_t i = 0; i < c->num_layers; i++)
            c->full[i] = (i + 1) % interval == 0;
        return;
    }
    if ((int64_t)json_array_size(kinds) != c->num_layers) {
        refuse(r, ASSAY_E_CORRUPT, "layer_types", "must have num_hidden_layers entries");
        return;
    }
    for (int64_t i = 0; i < c->num_layers; i++) {
        const char *kind = json_string_value(json_array_get(kinds, (size_t)i));
        c->full[i] = kind != NULL && strcmp(kind, "full_attention") == 0;
        if (!c->full[i] && (kind == NULL || strcmp(kind, "linear_attention") != 0))
            refuse(r, ASSAY_E_UNSUPPORTED, "layer_types", "linear_attention or full_attention");
    }
}

/* Dense, or a mixture of experts by the name of its type. */
static bool is_mixture(const struct reader *r)
{
    const char *kind = json_string_value(json_object_get(r->text, "model_type"));
    return kind != NULL && strncmp(kind, "qwen3_5_moe", 11) == 0;
}

static void read_ffn(struct reader *r, struct oracle_config *c)
{
    if (!is_mixture(r)) {
        c->intermediate = positive(r, "intermediate_size");
        return;
    }
    c->intermediate = positive(r, "shared_expert_intermediate_size");
    c->experts = positive(r, "num_experts");
    c->experts_per_token = positive(r, "num_experts_per_tok");
    c->expert_width = positive(r, "moe_intermediate_size");
    if (c->experts_per_token > c->experts)
        refuse(r, ASSAY_E_CORRUPT, "num_experts_per_tok", "above num_experts");
}

static void read_extents(struct reader *r, struct oracle_config *c)
{
    c->vocab = positive(r, "vocab_size");
    c->hidden = positive(r, "hidden_size");
    read_ffn(r, c);
    c->num_layers = positive(r, "num_hidden_layers");
    c->heads = positive(r, "num_attention_heads");
    c->kv_heads = positive(r, "num_key_value_heads");
    c->head_dim = json_is_integer(json_object_get(r->text, "head_dim")) ? positive(r, "head_dim")
                                                                        : c->hidden / c->heads;
    c->taps = positive(r, "linear_conv_kernel_dim");
    c->key_heads = positive(r, "linear_num_key_heads");
    c->value_heads = positive(r, "linear_num_value_heads");
    c->key_dim = positive(r, "linear_key_head_dim");
    c->value_dim = positive(r, "linear_value_head_dim");
    if (c->heads % c->kv_heads != 0)
        refuse(r, ASSAY_E_CORRUPT, "num_attention_heads", "not a multiple of the KV heads");
    if (c->value_heads % c->key_heads != 0)
        refuse(r, ASSAY_E_CORRUPT, "linear_num_value_heads", "not a multiple of the key heads");
    const json_t *eps = json_object_get(r->text, "rms_norm_eps");
    c->eps = eps != NULL ? json_number_value(eps) : 1e-6;
    if (!(c->eps > 0))
        refuse(r, ASSAY_E_CORRUPT, "rms_norm_eps", "must be above 0");
}

static void refuse_what_is_not_implemented(struct reader *r)
{
    const char *kind = json_string_value(json_object_get(r->text, "model_type"));
    if (kind == NULL ||
        (strcmp(kind, "qwen3_5_text") != 0 && strcmp(kind, "qwen3_5") != 0 && !is_mixture(r)))
        refuse(r, ASSAY_E_UNSUPPORTED, "model_type", kind != NULL ? kind : "missing");
    if (json_integer_value(json_object_get(r->text, "num_experts")) > 0 && !is_mixture(r))
        refuse(r, ASSAY_E_UNSUPPORTED, "num_experts", "of a type that is dense");
    must_not_be(r, "norm_topk_prob", false);
    must_be_text(r, "hidden_act", "silu", "swish");
    must_be_text(r, "output_gate_type", "silu", "swish");
    must_not_be(r, "attention_bias", true);
    must_not_be(r, "layer_scale", true);
    must_not_be(r, "attn_output_gate", false);
    must_not_be(r, "mtp_use_dedicated_embeddings", true);
    if (json_is_object(json_object_get(r->text, "quantization_config")) ||
        json_is_object(json_object_get(r->root, "quantization_config")))
        refuse(r, ASSAY_E_UNSUPPORTED, "quantization_config", "only unquantised models");
}

assay_status oracle_config_read(const char *dir, struct oracle_config *config, char *message,
                                size_t size)
{
    memset(config, 0, sizeof *config);
    char path[ORACLE_PATH_SIZE];
    if (!oracle_model_path(path, dir, "config.json"))
        return oracle_model_fail(ASSAY_E_ARG, message, size, "%s: path too long", dir);
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(root)) {
        json_decref(root);
        return oracle_model_fail(ASSAY_E_PARSE, message, size, "%s: %s", path,
                                 root == NULL ? error.text : "not an object");
    }
    const json_t *nested = json_object_get(root, "text_config");
    struct reader r = {.root = root,
                       .text = json_is_object(nested) ? nested : root,
                       .dir = dir,
                       .message = message,
                       .size = size,
                       .status = ASSAY_OK};
    refuse_what_is_not_implemented(&r);
    if (r.status == ASSAY_OK)
        read_extents(&r, config);
    if (r.status == ASSAY_OK)
        read_rope(&r, config);
    if (r.status == ASSAY_OK)
        read_layer_kinds(&r, config);
    config->tied = json_is_true(json_object_get(root, "tie_word_embeddings")) ||
                   json_is_true(json_object_get(r.text, "tie_word_embeddings"));
    json_decref(root);
    return r.status;
}
