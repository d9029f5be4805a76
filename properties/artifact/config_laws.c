/* SPDX-License-Identifier: MIT
 *
 * The rules of config.json and generation_config.json (qwen3_5.md sections 2 and 9.3), one row a
 * rule: what is changed in a valid small config, and what must come of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>
#include <assay/testing.h>

#include "small_model.h"

enum { MAX_CHANGES = 4 };

/* ---- accepted: a field of the config and the value it must have ------------------------------ */

#define AT(field) offsetof(struct assay_model_config, field)

struct good_rule {
    struct small_pair changes[MAX_CHANGES];
    size_t field; /* of an int64_t */
    int64_t expected;
};

static const struct good_rule good_rules[] = {
    {{{"dtype", "\"bfloat16\""}}, AT(vocab_size), 16},
    {{{"unknown_key", "{\"a\":[1,null]}"}}, AT(hidden_size), 8},
    {{{"vocab_size", NULL}}, AT(vocab_size), 248320},
    {{{"hidden_size", NULL}}, AT(hidden_size), 4096},
    {{{"num_hidden_layers", NULL}}, AT(num_layers), 32},
    {{{"num_attention_heads", NULL}}, AT(num_heads), 16},
    {{{"num_key_value_heads", NULL}, {"num_attention_heads", "8"}}, AT(num_kv_heads), 4},
    {{{"max_position_embeddings", NULL}}, AT(max_positions), 32768},
    {{{"max_position_embeddings", "262144"}}, AT(max_positions), 262144},
    {{{"linear_conv_kernel_dim", NULL}}, AT(conv_taps), 4},
    {{{"linear_conv_kernel_dim", "2"}}, AT(conv_taps), 2},
    {{{"linear_key_head_dim", NULL}}, AT(linear_key_dim), 128},
    {{{"linear_value_head_dim", "null"}}, AT(linear_value_dim), 128},
    {{{"linear_num_key_heads", NULL}, {"linear_num_value_heads", "48"}}, AT(linear_key_heads), 16},
    {{{"linear_num_value_heads", NULL}}, AT(linear_value_heads), 32},
    {{{"mtp_num_hidden_layers", "1"}}, AT(num_mtp_layers), 1},
    {{{"mtp_num_hidden_layers", NULL}}, AT(num_mtp_layers), 0},
    /* null: hidden_size / num_attention_heads; absent: 256 */
    {{{"head_dim", "null"},
      {"hidden_size", "32"},
      {"num_attention_heads", "4"},
      {"num_key_value_heads", "2"}},
     AT(head_dim),
     8},
    {{{"head_dim", NULL}, {"rope_parameters", "{\"rope_theta\":1e7}"}}, AT(head_dim), 256},
    {{{"head_dim", NULL}, {"rope_parameters", "{\"rope_theta\":1e7}"}}, AT(rotary_dim), 64},
    {{{"head_dim", NULL}, {"rope_parameters", "{\"rope_theta\":1e7}"}}, AT(mrope_section[2]), 10},
    {{{"attention_bias", "false"}, {"attention_dropout", "0.1"}}, AT(num_heads), 2},
    {{{"attn_output_gate", "true"}, {"layer_scale", "false"}}, AT(num_heads), 2},
    {{{"output_gate_type", "\"swish\""}}, AT(num_heads), 2},
    {{{"output_gate_type", "\"silu\""}, {"hidden_act", "\"silu\""}}, AT(num_heads), 2},
    {{{"mlp_only_layers", "[]"}, {"decoder_sparse_step", "1"}}, AT(num_heads), 2},
    {{{"quantization_config", "null"}}, AT(num_heads), 2},
    {{{"mtp_use_dedicated_embeddings", "false"}, {"mamba_ssm_dtype", "\"float32\""}},
     AT(num_heads),
     2},
    {{{"model_type", NULL}}, AT(intermediate_size), 12},
    {{{"architectures", NULL}}, AT(intermediate_size), 12},
    {{{"architectures", "[\"Qwen3_5ForConditionalGeneration\"]"}}, AT(num_experts), 0},
    /* rope: rope_scaling before rope_parameters before flattened keys */
    {{{"rope_parameters", NULL}, {"rope_theta", "10000000"}, {"mrope_section", "[1,0,0]"}},
     AT(rotary_dim),
     2},
    {{{"rope_scaling", "{\"rope_theta\":5,\"partial_rotary_factor\":1,\"mrope_section\":[4,0,0]}"}},
     AT(rotary_dim),
     8},
    {{{"rope_scaling", "null"}}, AT(rotary_dim), 4},
    {{{"partial_rotary_factor", "1.0"}}, AT(rotary_dim), 4},
    {{{"rope_scaling", "{\"type\":\"mrope\",\"mrope_section\":[0,1,1]}"},
      {"rope_theta", "1e7"},
      {"partial_rotary_factor", "0.5"}},
     AT(mrope_section[1]),
     1},
    {{{"rope_type", "\"yarn\""}}, AT(rotary_dim), 4}, /* rope_parameters.rope_type wins */
    /* layers: 0 linear, 1 full */
    {{{"layer_types", NULL}}, AT(num_layers), 2},
    {{{"layer_types", "[\"full_attention\",\"linear_attention\"]"}}, AT(num_layers), 2},
    /* MoE */
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}}, AT(num_experts), 256},
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}}, AT(experts_per_token), 8},
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}}, AT(expert_size), 512},
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}},
     AT(shared_expert_size),
     512},
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}}, AT(intermediate_size), 0},
    {{{"model_type", "\"qwen3_5_moe_text\""}, {"architectures", NULL}, {"hidden_size", NULL}},
     AT(hidden_size),
     2048},
    {{{"model_type", "\"qwen3_5_moe\""}, {"num_experts", "4"}, {"num_experts_per_tok", "4"}},
     AT(num_experts),
     4}, /* dense and MoE named: num_experts decides */
    {{{"model_type", "\"qwen3_5_moe\""}}, AT(num_experts), 0},
    /* stops */
    {{{"eos_token_id", "5"}}, AT(stop_tokens[0]), 5},
    {{{"eos_token_id", "[7,0,7]"}}, AT(stop_tokens[1]), 0},
};

/* ---- refused --------------------------------------------------------------------------------- */

struct bad_rule {
    struct small_pair changes[MAX_CHANGES];
    assay_status status;
    const char *field; /* the whole field path of the record */
};

#define ROPE(text) "rope_parameters", text

static const struct bad_rule bad_rules[] = {
    {{{"model_type", "\"qwen4_exp\""}}, ASSAY_E_UNSUPPORTED, "model_type"},
    {{{"model_type", "\"qwen3_moe\""}}, ASSAY_E_UNSUPPORTED, "model_type"},
    {{{"model_type", "3"}}, ASSAY_E_PARSE, "model_type"},
    {{{"model_type", NULL}, {"architectures", NULL}}, ASSAY_E_NOT_FOUND, "model_type"},
    {{{"model_type", NULL}, {"architectures", "[]"}}, ASSAY_E_NOT_FOUND, "model_type"},
    {{{"architectures", "[\"LlamaForCausalLM\"]"}}, ASSAY_E_UNSUPPORTED, "architectures"},
    {{{"architectures", "\"Qwen3_5ForCausalLM\""}}, ASSAY_E_PARSE, "architectures"},
    {{{"architectures", "[null]"}}, ASSAY_E_PARSE, "architectures"},
    {{{"text_config", "5"}}, ASSAY_E_PARSE, "text_config"},
    {{{"intermediate_size", NULL}}, ASSAY_E_NOT_FOUND, "intermediate_size"},
    {{{"vocab_size", "0"}}, ASSAY_E_PARSE, "vocab_size"},
    {{{"vocab_size", "2147483648"}}, ASSAY_E_PARSE, "vocab_size"},
    {{{"num_hidden_layers", "513"}}, ASSAY_E_PARSE, "num_hidden_layers"},
    {{{"num_hidden_layers", "0"}}, ASSAY_E_PARSE, "num_hidden_layers"},
    {{{"linear_conv_kernel_dim", "1"}}, ASSAY_E_PARSE, "linear_conv_kernel_dim"},
    {{{"num_attention_heads", "3"}, {"num_key_value_heads", "2"}},
     ASSAY_E_CORRUPT,
     "num_attention_heads"},
    {{{"linear_num_value_heads", "3"}, {"linear_num_key_heads", "2"}},
     ASSAY_E_CORRUPT,
     "linear_num_value_heads"},
    {{{"head_dim", "null"}, {"hidden_size", "9"}}, ASSAY_E_CORRUPT, "head_dim"},
    {{{"mtp_num_hidden_layers", "2"}}, ASSAY_E_PARSE, "mtp_num_hidden_layers"},
    {{{"mtp_num_hidden_layers", "1.0"}}, ASSAY_E_PARSE, "mtp_num_hidden_layers"},
    {{{"mtp_num_hidden_layers", "\"1\""}}, ASSAY_E_PARSE, "mtp_num_hidden_layers"},
    {{{"rms_norm_eps", "0"}}, ASSAY_E_PARSE, "rms_norm_eps"},
    {{{"rms_norm_eps", "-1e-6"}}, ASSAY_E_PARSE, "rms_norm_eps"},
    {{{"rms_norm_eps", "\"1e-6\""}}, ASSAY_E_PARSE, "rms_norm_eps"},
    {{{"rms_norm_eps", "true"}}, ASSAY_E_PARSE, "rms_norm_eps"},
    {{{"hidden_act", "\"gelu\""}}, ASSAY_E_UNSUPPORTED, "hidden_act"},
    {{{"hidden_act", "1"}}, ASSAY_E_PARSE, "hidden_act"},
    {{{"attention_bias", "true"}}, ASSAY_E_UNSUPPORTED, "attention_bias"},
    {{{"attention_bias", "0"}}, ASSAY_E_PARSE, "attention_bias"},
    {{{"norm_topk_prob", "false"}}, ASSAY_E_UNSUPPORTED, "norm_topk_prob"},
    {{{"attn_output_gate", "false"}}, ASSAY_E_UNSUPPORTED, "attn_output_gate"},
    {{{"mtp_use_dedicated_embeddings", "true"}},
     ASSAY_E_UNSUPPORTED,
     "mtp_use_dedicated_embeddings"},
    {{{"layer_scale", "true"}}, ASSAY_E_UNSUPPORTED, "layer_scale"},
    {{{"output_gate_type", "\"sigmoid\""}}, ASSAY_E_UNSUPPORTED, "output_gate_type"},
    {{{"mamba_ssm_dtype", "\"bfloat16\""}}, ASSAY_E_UNSUPPORTED, "mamba_ssm_dtype"},
    {{{"mlp_only_layers", "[0]"}}, ASSAY_E_UNSUPPORTED, "mlp_only_layers"},
    {{{"mlp_only_layers", "0"}}, ASSAY_E_PARSE, "mlp_only_layers"},
    {{{"decoder_sparse_step", "2"}}, ASSAY_E_UNSUPPORTED, "decoder_sparse_step"},
    {{{"quantization_config", "{\"quant_method\":\"fp8\"}"}},
     ASSAY_E_UNSUPPORTED,
     "quantization_config"},
    {{{"tie_word_embeddings", "1"}}, ASSAY_E_PARSE, "tie_word_embeddings"},
    {{{ROPE(NULL)}}, ASSAY_E_NOT_FOUND, "rope_theta"},
    {{{ROPE("null")}}, ASSAY_E_NOT_FOUND, "rope_theta"},
    {{{ROPE("[]")}}, ASSAY_E_PARSE, "rope_parameters"},
    {{{ROPE("{}")}}, ASSAY_E_NOT_FOUND, "rope_parameters.rope_theta"},
    {{{ROPE("{\"rope_theta\":0}")}}, ASSAY_E_PARSE, "rope_parameters.rope_theta"},
    {{{ROPE("{\"rope_theta\":-1e7}")}}, ASSAY_E_PARSE, "rope_parameters.rope_theta"},
    {{{ROPE("{\"rope_theta\":\"1e7\"}")}}, ASSAY_E_PARSE, "rope_parameters.rope_theta"},
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":1.5}")}},
     ASSAY_E_PARSE,
     "rope_parameters.partial_rotary_factor"},
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.4}")}},
     ASSAY_E_CORRUPT,
     "rope_parameters.partial_rotary_factor"}, /* 3 of 8: odd */
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.1}")}},
     ASSAY_E_CORRUPT,
     "rope_parameters.partial_rotary_factor"}, /* none of 8 */
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5}")}},
     ASSAY_E_CORRUPT,
     "rope_parameters.mrope_section"}, /* the default sections are for 64 dimensions */
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,\"mrope_section\":[1,1]}")}},
     ASSAY_E_PARSE,
     "rope_parameters.mrope_section"},
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,\"mrope_section\":[1,1,1]}")}},
     ASSAY_E_CORRUPT,
     "rope_parameters.mrope_section"},
    {{{ROPE("{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,\"mrope_section\":[3,-1,0]}")}},
     ASSAY_E_PARSE,
     "rope_parameters.mrope_section"},
    {{{ROPE("{\"rope_theta\":1e7,\"rope_type\":\"yarn\",\"factor\":4.0}")}},
     ASSAY_E_UNSUPPORTED,
     "rope_parameters.rope_type"},
    {{{ROPE("{\"rope_theta\":1e7,\"type\":\"yarn\"}")}},
     ASSAY_E_UNSUPPORTED,
     "rope_parameters.type"},
    {{{"rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":4.0}"}, {"rope_theta", "1e7"}},
     ASSAY_E_UNSUPPORTED,
     "rope_scaling.rope_type"},
    {{{"rope_scaling", "{\"type\":\"linear\"}"}}, ASSAY_E_UNSUPPORTED, "rope_scaling.type"},
    {{{"rope_scaling", "4"}}, ASSAY_E_PARSE, "rope_scaling"},
    {{{ROPE(NULL)}, {"rope_theta", "1e7"}, {"rope_type", "\"yarn\""}},
     ASSAY_E_UNSUPPORTED,
     "rope_type"},
    {{{ROPE("{\"rope_theta\":1e7,\"mrope_interleaved\":false}")}},
     ASSAY_E_UNSUPPORTED,
     "rope_parameters.mrope_interleaved"},
    {{{"mrope_interleaved", "false"}}, ASSAY_E_UNSUPPORTED, "mrope_interleaved"},
    {{{"layer_types", "[\"full_attention\"]"}}, ASSAY_E_CORRUPT, "layer_types"},
    {{{"layer_types", "[]"}}, ASSAY_E_CORRUPT, "layer_types"},
    {{{"layer_types", "{}"}}, ASSAY_E_PARSE, "layer_types"},
    {{{"layer_types", "[\"full_attention\",\"sliding_attention\"]"}},
     ASSAY_E_UNSUPPORTED,
     "layer_types"},
    {{{"layer_types", "[\"full_attention\",1]"}}, ASSAY_E_PARSE, "layer_types"},
    {{{"full_attention_interval", "0"}}, ASSAY_E_PARSE, "full_attention_interval"},
    {{{"eos_token_id", "16"}}, ASSAY_E_RANGE, "eos_token_id"},
    {{{"eos_token_id", "[1,-1]"}}, ASSAY_E_RANGE, "eos_token_id"},
    {{{"eos_token_id", "\"x\""}}, ASSAY_E_PARSE, "eos_token_id"},
    {{{"eos_token_id", "[1.0]"}}, ASSAY_E_PARSE, "eos_token_id"},
    {{{"eos_token_id", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"}, {"vocab_size", "20"}},
     ASSAY_E_UNSUPPORTED,
     "eos_token_id"},
    {{{"model_type", "\"qwen3_5_moe\""}, {"architectures", NULL}, {"num_experts", "0"}},
     ASSAY_E_PARSE,
     "num_experts"},
    {{{"model_type", "\"qwen3_5_moe\""}, {"architectures", NULL}, {"num_experts", "4"}},
     ASSAY_E_CORRUPT,
     "num_experts_per_tok"},
};

/* ---- both forms ------------------------------------------------------------------------------ */

static size_t count_changes(const struct small_pair *changes)
{
    size_t count = 0;

    while (count < MAX_CHANGES && changes[count].key != NULL)
        count++;
    return count;
}

static assay_status read_form(const char *dir, bool nested, const struct small_pair *changes,
                              struct assay_model_config *config, struct assay_error *error,
                              char label[512])
{
    size_t num_changes = count_changes(changes);
    struct small_text text =
        nested ? small_nested_config(changes, num_changes) : small_config(changes, num_changes);

    small_write(dir, "config.json", text.bytes, text.size);
    snprintf(label, 512, "%s", text.bytes);
    free(text.bytes);
    assay_error_clear(error);
    assay_status status = assay_config_read(dir, config, error);
    cr_assert(assay_live_allocations() == 0, "%s leaks", label);
    small_unmapped(dir, label);
    return status;
}

/* The nested text has its own model_type and architectures, so rules about those are for the flat
 * form, as are those about text_config itself. */
static bool is_flat_only(const struct small_pair *changes)
{
    for (size_t i = 0; i < count_changes(changes); i++)
        if (strcmp(changes[i].key, "model_type") == 0 ||
            strcmp(changes[i].key, "architectures") == 0 ||
            strcmp(changes[i].key, "text_config") == 0)
            return true;
    return false;
}

static void check_good(const char *dir, const struct good_rule *rule, bool nested)
{
    struct assay_model_config config;
    struct assay_error error;
    char label[512];
    int64_t value;

    assay_status status = read_form(dir, nested, rule->changes, &config, &error, label);
    cr_assert(status == ASSAY_OK, "%s: %s: %s", label, error.what, error.message);
    memcpy(&value, (const char *)&config + rule->field, sizeof value);
    cr_assert(value == rule->expected, "%s: %lld, expected %lld", label, (long long)value,
              (long long)rule->expected);
}

static void check_bad(const char *dir, const struct bad_rule *rule, bool nested)
{
    struct assay_model_config config;
    struct assay_error error;
    char label[512], field[128];

    assay_status status = read_form(dir, nested, rule->changes, &config, &error, label);
    snprintf(field, sizeof field, "%s%s", nested ? "text_config." : "", rule->field);
    cr_assert(status == rule->status, "%s: %s, expected %s", label, assay_status_name(status),
              assay_status_name(rule->status));
    cr_assert(error.status == status);
    cr_assert_str_eq(error.where, "config.json");
    cr_assert(strcmp(error.what, field) == 0, "%s: names %s, expected %s", label, error.what,
              field);
    cr_assert(strlen(error.message) > 10, "%s: says only '%s'", label, error.message);
}

/* Rules on what the two levels of the nested form mean for each other. */
static void check_levels(const char *dir)
{
    static const struct small_pair tied_outside[MAX_CHANGES] = {{"^tie_word_embeddings", "true"},
                                                                {"tie_word_embeddings", "false"}};
    static const struct small_pair tied_inside[MAX_CHANGES] = {{"tie_word_embeddings", "true"}};
    static const struct small_pair quantized[MAX_CHANGES] = {{"^quantization_config", "{}"}};
    static const struct small_pair shadowed[MAX_CHANGES] = {{"^hidden_size", "5"},
                                                            {"^vocab_size", "\"x\""}};
    static const struct small_pair repeated[MAX_CHANGES] = {{"^model_type", "\"qwen3_5_text\""},
                                                            {"^eos_token_id", "3"}};
    struct assay_model_config config;
    struct assay_error error;
    char label[512];

    cr_assert(read_form(dir, true, tied_outside, &config, &error, label) == ASSAY_OK);
    cr_assert(config.tie_embeddings);
    cr_assert(read_form(dir, true, tied_inside, &config, &error, label) == ASSAY_OK);
    cr_assert(config.tie_embeddings);
    cr_assert(read_form(dir, true, quantized, &config, &error, label) == ASSAY_E_UNSUPPORTED);
    cr_assert_str_eq(error.what, "quantization_config");
    cr_assert(read_form(dir, true, shadowed, &config, &error, label) == ASSAY_OK);
    cr_assert(config.hidden_size == 8 && config.vocab_size == 16);
    cr_assert(!config.tie_embeddings);
    cr_assert(read_form(dir, true, repeated, &config, &error, label) == ASSAY_OK);
    cr_assert(config.num_stop_tokens == 1 && config.stop_tokens[0] == 3);
}

/* The two real numbers, exactly as written, and the default. */
static void check_reals(const char *dir)
{
    static const struct small_pair given[MAX_CHANGES] = {
        {"rms_norm_eps", "0.00001"},
        {"rope_parameters", "{\"rope_theta\":5000000,\"mrope_section\":[1,0,0]}"}};
    static const struct small_pair absent[MAX_CHANGES] = {{"rms_norm_eps", NULL}};
    struct assay_model_config config;
    struct assay_error error;
    char label[512];

    cr_assert(read_form(dir, false, given, &config, &error, label) == ASSAY_OK);
    cr_assert(config.rms_eps == 1e-5 && config.rope_theta == 5e6);
    cr_assert(read_form(dir, false, absent, &config, &error, label) == ASSAY_OK);
    cr_assert(config.rms_eps == 1e-6 && config.rope_theta == 1e7);
}

static void check_layer_kinds(const char *dir)
{
    static const struct small_pair six[MAX_CHANGES] = {{"num_hidden_layers", "6"},
                                                       {"full_attention_interval", "3"}};
    static const struct small_pair listed[MAX_CHANGES] = {
        {"layer_types", "[\"full_attention\",\"linear_attention\"]"}};
    struct assay_model_config config;
    struct assay_error error;
    char label[512];

    cr_assert(read_form(dir, false, six, &config, &error, label) == ASSAY_OK);
    for (int i = 0; i < 6; i++)
        cr_assert((config.layers[i] == ASSAY_LAYER_FULL) == (i == 2 || i == 5));
    cr_assert(read_form(dir, false, listed, &config, &error, label) == ASSAY_OK);
    cr_assert(config.layers[0] == ASSAY_LAYER_FULL && config.layers[1] == ASSAY_LAYER_LINEAR);
}

/* generation_config.json replaces the stops of config.json when it has any. */
static void check_generation(const char *dir)
{
    static const struct {
        const char *text;
        assay_status status;
        int num_stops;
        int64_t last;
    } rows[] = {
        {"{\"eos_token_id\":[2,3]}", ASSAY_OK, 2, 3},
        {"{\"eos_token_id\":4}", ASSAY_OK, 1, 4},
        {"{}", ASSAY_OK, 1, 9},
        {"{\"eos_token_id\":null}", ASSAY_OK, 1, 9},
        {"{\"eos_token_id\":[]}", ASSAY_OK, 0, 0},
        {"{\"eos_token_id\":99}", ASSAY_E_RANGE, 0, 0},
        {"{\"eos_token_id\":\"</s>\"}", ASSAY_E_PARSE, 0, 0},
        {"", ASSAY_E_PARSE, 0, 0},
        {"[]", ASSAY_E_PARSE, 0, 0},
        {"{\"eos_token_id\":1,\"eos_token_id\":1}", ASSAY_E_PARSE, 0, 0},
    };
    static const struct small_pair changes[MAX_CHANGES] = {{"eos_token_id", "9"}};
    struct assay_model_config config;
    struct assay_error error;
    char label[512];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        small_write(dir, "generation_config.json", rows[i].text, strlen(rows[i].text));
        assay_status status = read_form(dir, false, changes, &config, &error, label);
        cr_assert(status == rows[i].status, "%s: %s", rows[i].text, assay_status_name(status));
        if (status == ASSAY_OK) {
            cr_assert(config.num_stop_tokens == rows[i].num_stops, "%s", rows[i].text);
            cr_assert(rows[i].num_stops == 0 ||
                      config.stop_tokens[config.num_stop_tokens - 1] == rows[i].last);
        } else {
            cr_assert_str_eq(error.where, "generation_config.json");
        }
    }
    small_delete(dir, "generation_config.json");
}

/* Configs in the form and with the values of the official 27B and 35B-A3B checkpoints
 * (qwen3_5.md sections 0 and 2). */
#define OFFICIAL(outer, architecture, inner, sizes)                                               \
    "{\"architectures\":[\"" architecture "\"],\"image_token_id\":248056,\"model_type\":\"" outer \
    "\",\"text_config\":{\"model_type\":\"" inner "\",\"attention_bias\":false,"                  \
    "\"attention_dropout\":0.0,\"attn_output_gate\":true,\"dtype\":\"bfloat16\","                 \
    "\"eos_token_id\":248044,\"full_attention_interval\":4,\"head_dim\":256,"                     \
    "\"hidden_act\":\"silu\",\"initializer_range\":0.02,\"linear_conv_kernel_dim\":4,"            \
    "\"linear_key_head_dim\":128,\"linear_value_head_dim\":128,\"linear_num_key_heads\":16,"      \
    "\"mamba_ssm_dtype\":\"float32\",\"max_position_embeddings\":262144,"                         \
    "\"mlp_only_layers\":[],\"mtp_num_hidden_layers\":1,\"mtp_use_dedicated_embeddings\":false,"  \
    "\"rms_norm_eps\":1e-06,\"tie_word_embeddings\":false,\"use_cache\":true,"                    \
    "\"vocab_size\":248320,\"rope_parameters\":{\"mrope_interleaved\":true,"                      \
    "\"mrope_section\":[11,11,10],\"rope_type\":\"default\",\"rope_theta\":10000000,"             \
    "\"partial_rotary_factor\":0.25}," sizes "},\"tie_word_embeddings\":false,"                   \
    "\"vision_config\":{\"depth\":27,\"hidden_size\":1152},\"vision_end_token_id\":248054}"

static void check_official(const char *dir)
{
    static const char dense[] =
        OFFICIAL("qwen3_5", "Qwen3_5ForConditionalGeneration", "qwen3_5_text",
                 "\"hidden_size\":5120,\"intermediate_size\":17408,\"num_hidden_layers\":64,"
                 "\"num_attention_heads\":24,\"num_key_value_heads\":4,"
                 "\"linear_num_value_heads\":48");
    static const char moe[] =
        OFFICIAL("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe_text",
                 "\"hidden_size\":2048,\"num_hidden_layers\":40,\"num_attention_heads\":16,"
                 "\"num_key_value_heads\":2,\"linear_num_value_heads\":32,\"num_experts\":256,"
                 "\"num_experts_per_tok\":8,\"moe_intermediate_size\":512,"
                 "\"shared_expert_intermediate_size\":512,\"router_aux_loss_coef\":0.001");
    static const char stops[] = "{\"eos_token_id\":[248046,248044]}";
    struct assay_model_config config;
    int full = 0;

    small_write(dir, "generation_config.json", stops, strlen(stops));
    small_write(dir, "config.json", dense, strlen(dense));
    cr_assert(assay_config_read(dir, &config, NULL) == ASSAY_OK);
    cr_assert(!config.is_moe && config.hidden_size == 5120 && config.intermediate_size == 17408);
    cr_assert(config.num_layers == 64 && config.num_heads == 24 && config.num_kv_heads == 4);
    cr_assert(config.linear_key_heads == 16 && config.linear_value_heads == 48);
    cr_assert(config.rotary_dim == 64 && config.rope_theta == 1e7 && config.num_mtp_layers == 1);
    cr_assert(config.num_stop_tokens == 2 && config.stop_tokens[0] == 248046);
    for (int i = 0; i < 64; i++)
        full += config.layers[i] == ASSAY_LAYER_FULL;
    cr_assert(full == 16 && config.layers[3] == ASSAY_LAYER_FULL);
    small_write(dir, "config.json", moe, strlen(moe));
    cr_assert(assay_config_read(dir, &config, NULL) == ASSAY_OK);
    cr_assert(config.is_moe && config.num_experts == 256 && config.experts_per_token == 8);
    cr_assert(config.expert_size == 512 && config.shared_expert_size == 512);
    cr_assert(config.hidden_size == 2048 && config.num_layers == 40);
    small_delete(dir, "generation_config.json");
}

Test(config, rules)
{
    char *dir = small_folder();
    struct assay_model_config config;

    for (size_t i = 0; i < sizeof good_rules / sizeof *good_rules; i++) {
        check_good(dir, &good_rules[i], false);
        if (!is_flat_only(good_rules[i].changes))
            check_good(dir, &good_rules[i], true);
    }
    for (size_t i = 0; i < sizeof bad_rules / sizeof *bad_rules; i++) {
        check_bad(dir, &bad_rules[i], false);
        if (!is_flat_only(bad_rules[i].changes))
            check_bad(dir, &bad_rules[i], true);
    }
    check_levels(dir);
    check_reals(dir);
    check_layer_kinds(dir);
    check_generation(dir);
    check_official(dir);
    cr_assert(assay_config_read(NULL, &config, NULL) == ASSAY_E_ARG);
    cr_assert(assay_config_read(dir, NULL, NULL) == ASSAY_E_ARG);
    small_remove(dir);
}
