/* SPDX-License-Identifier: MIT
 *
 * Model folders of chosen sizes: see sized_model.h.
 */
#include "sized_model.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "small_model.h"

const struct model_sizes sized_small = {.vocab = 16,
                                        .hidden = 8,
                                        .inner = 12,
                                        .heads = 2,
                                        .kv_heads = 1,
                                        .head_dim = 8,
                                        .key_heads = 2,
                                        .value_heads = 6,
                                        .state = 4};
const struct model_sizes sized_wide = {.vocab = 32,
                                       .hidden = 256,
                                       .inner = 512,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .head_dim = 128,
                                       .key_heads = 2,
                                       .value_heads = 6,
                                       .state = 128};
const struct model_sizes sized_small_mixture = {.vocab = 16,
                                                .hidden = 8,
                                                .inner = 12,
                                                .heads = 2,
                                                .kv_heads = 1,
                                                .head_dim = 8,
                                                .key_heads = 2,
                                                .value_heads = 6,
                                                .state = 4,
                                                .experts = 3,
                                                .width = 4};
const struct model_sizes sized_wide_mixture = {.vocab = 32,
                                               .hidden = 256,
                                               .inner = 256,
                                               .heads = 2,
                                               .kv_heads = 1,
                                               .head_dim = 128,
                                               .key_heads = 2,
                                               .value_heads = 6,
                                               .state = 128,
                                               .experts = 3,
                                               .width = 256};

static void add(struct small_model *model, const char *prefix, const char *suffix, int64_t rows,
                int64_t columns)
{
    char name[128];

    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    small_add(model, name, "BF16", columns > 0 ? 2 : 1, rows, columns, 0);
}

static void add_mlp(struct small_model *model, const char *prefix, const struct model_sizes *s)
{
    const bool is_moe = s->experts > 0;
    char name[64];

    snprintf(name, sizeof name, "%smlp.%s", prefix, is_moe ? "shared_expert." : "");
    add(model, name, "gate_proj.weight", s->inner, s->hidden);
    add(model, name, "up_proj.weight", s->inner, s->hidden);
    add(model, name, "down_proj.weight", s->hidden, s->inner);
    if (!is_moe)
        return;
    add(model, prefix, "mlp.gate.weight", s->experts, s->hidden);
    add(model, prefix, "mlp.shared_expert_gate.weight", 1, s->hidden);
    snprintf(name, sizeof name, "%smlp.experts.gate_up_proj", prefix);
    small_add(model, name, "BF16", 3, s->experts, 2 * s->width, s->hidden);
    snprintf(name, sizeof name, "%smlp.experts.down_proj", prefix);
    small_add(model, name, "BF16", 3, s->experts, s->hidden, s->width);
}

static void add_layer(struct small_model *model, const char *prefix, const struct model_sizes *s,
                      int is_full)
{
    const int64_t query = s->heads * s->head_dim, key = s->kv_heads * s->head_dim;
    const int64_t values = s->value_heads * s->state;
    const int64_t channels = 2 * s->key_heads * s->state + values;
    char name[128];

    add(model, prefix, "input_layernorm.weight", s->hidden, 0);
    add(model, prefix, "post_attention_layernorm.weight", s->hidden, 0);
    add_mlp(model, prefix, s);
    if (is_full) {
        add(model, prefix, "self_attn.q_proj.weight", 2 * query, s->hidden);
        add(model, prefix, "self_attn.k_proj.weight", key, s->hidden);
        add(model, prefix, "self_attn.v_proj.weight", key, s->hidden);
        add(model, prefix, "self_attn.o_proj.weight", s->hidden, query);
        add(model, prefix, "self_attn.q_norm.weight", s->head_dim, 0);
        add(model, prefix, "self_attn.k_norm.weight", s->head_dim, 0);
        return;
    }
    add(model, prefix, "linear_attn.in_proj_qkv.weight", channels, s->hidden);
    add(model, prefix, "linear_attn.in_proj_z.weight", values, s->hidden);
    add(model, prefix, "linear_attn.in_proj_b.weight", s->value_heads, s->hidden);
    add(model, prefix, "linear_attn.in_proj_a.weight", s->value_heads, s->hidden);
    snprintf(name, sizeof name, "%slinear_attn.conv1d.weight", prefix);
    small_add(model, name, "BF16", 3, channels, 1, 4);
    add(model, prefix, "linear_attn.A_log", s->value_heads, 0);
    add(model, prefix, "linear_attn.dt_bias", s->value_heads, 0);
    add(model, prefix, "linear_attn.norm.weight", s->state, 0);
    add(model, prefix, "linear_attn.out_proj.weight", s->hidden, values);
}

static void list_tensors(struct small_model *model, const struct model_sizes *s)
{
    memset(model, 0, sizeof *model);
    add(model, "model.", "embed_tokens.weight", s->vocab, s->hidden);
    add_layer(model, "model.layers.0.", s, 0);
    add_layer(model, "model.layers.1.", s, 1);
    add(model, "model.", "norm.weight", s->hidden, 0);
    add(model, "", "lm_head.weight", s->vocab, s->hidden);
    add(model, "mtp.", "pre_fc_norm_embedding.weight", s->hidden, 0);
    add(model, "mtp.", "pre_fc_norm_hidden.weight", s->hidden, 0);
    add(model, "mtp.", "fc.weight", s->hidden, 2 * s->hidden);
    add(model, "mtp.", "norm.weight", s->hidden, 0);
    add_layer(model, "mtp.layers.0.", s, 1);
}

/* Words of bf16 with magnitudes from 2^-7 to 2, of both signs. */
static uint16_t random_word(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const unsigned draw = (unsigned)(*state >> 40);
    return (uint16_t)((draw & 0x8000u) | (0x3c00u + draw % 0x400u));
}

static void write_weights(const char *dir, const struct small_model *model)
{
    struct small_text header = small_header(model, 0, model->num_tensors), file = {NULL, 0};
    FILE *stream = open_memstream(&file.bytes, &file.size);
    const size_t padded = (header.size + 7) / 8 * 8;
    uint64_t state = 1;

    cr_assert(stream != NULL);
    for (int i = 0; i < 8; i++)
        fputc((int)(padded >> 8 * i & 0xff), stream);
    fprintf(stream, "%-*s", (int)padded, header.bytes);
    for (int i = 0; i < model->num_tensors; i++)
        for (size_t j = 0; j < small_tensor_bytes(&model->tensors[i]); j += 2) {
            const uint16_t word = random_word(&state);
            fputc(word & 0xff, stream);
            fputc(word >> 8, stream);
        }
    cr_assert(fclose(stream) == 0);
    small_write(dir, "model.safetensors", file.bytes, file.size);
    free(file.bytes);
    free(header.bytes);
}

void sized_write(const char *dir, const struct model_sizes *s)
{
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"vocab_size", s->vocab},
                 {"hidden_size", s->hidden},
                 {"intermediate_size", s->inner},
                 {"num_attention_heads", s->heads},
                 {"num_key_value_heads", s->kv_heads},
                 {"head_dim", s->head_dim},
                 {"linear_key_head_dim", s->state},
                 {"linear_value_head_dim", s->state},
                 {"linear_num_key_heads", s->key_heads},
                 {"linear_num_value_heads", s->value_heads},
                 {"num_experts", s->experts},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", s->width},
                 {"shared_expert_intermediate_size", s->inner}};
    enum { NUM_SIZES = sizeof sizes / sizeof *sizes, NUM_KIND = 2 };
    static const struct small_pair kind[NUM_KIND] = {
        {"model_type", "\"qwen3_5_moe_text\""}, {"architectures", "[\"Qwen3_5MoeForCausalLM\"]"}};
    struct small_pair changes[NUM_SIZES + 1 + NUM_KIND];
    char texts[NUM_SIZES][24], rope[160];
    const int64_t pairs = s->head_dim / 4; /* half of the dimensions are rotated */
    struct small_model model;

    for (size_t i = 0; i < NUM_SIZES; i++) {
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)sizes[i].value);
        changes[i] = (struct small_pair){sizes[i].key, texts[i]};
    }
    snprintf(rope, sizeof rope,
             "{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,\"mrope_section\":[%lld,1,0]}",
             (long long)(pairs - 1));
    changes[NUM_SIZES] = (struct small_pair){"rope_parameters", rope};
    memcpy(changes + NUM_SIZES + 1, kind, sizeof kind);
    small_write_config(dir, changes, NUM_SIZES + 1 + (s->experts > 0 ? NUM_KIND : 0));
    list_tensors(&model, s);
    write_weights(dir, &model);
}
