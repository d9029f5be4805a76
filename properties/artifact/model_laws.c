/* SPDX-License-Identifier: MIT
 *
 * Opening models: the trained tiny-hybrid model against facts read from its files by other means,
 * and a small model against each rule of qwen3_5.md sections 2.3 and 3.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>
#include <assay/testing.h>

#include "small_model.h"

#define SINGLE "model.safetensors"

/* ---- tiny-hybrid ----------------------------------------------------------------------------- */

/* Words were read with Python's struct module: first two, last two, sum of all words mod 2^32. */
static const struct {
    const char *name;
    int rank;
    int64_t extent[3];
    uint16_t first[2], last[2];
    uint32_t sum;
} stored[] = {
    {"lm_head.weight", 2, {2048, 256}, {0x3d1c, 0xbce8}, {0x3e55, 0x3ddd}, 0xe8dd18dd},
    {"model.embed_tokens.weight", 2, {2048, 256}, {0xbd96, 0xbd3b}, {0x3dc3, 0xbc90}, 0xe91ce20b},
    {"model.layers.0.linear_attn.A_log", 1, {2}, {0x4035, 0x4039}, {0x4035, 0x4039}, 0x806e},
    {"model.layers.3.self_attn.q_proj.weight",
     2,
     {1024, 256},
     {0x3deb, 0x3b2d},
     {0x3df3, 0xbe12},
     0xf46a98bd},
    {"model.layers.7.self_attn.v_proj.weight",
     2,
     {256, 256},
     {0xbd8c, 0x3da4},
     {0xbcc5, 0x3d80},
     0x7d7815d5},
    {"model.layers.0.linear_attn.conv1d.weight",
     3,
     {512, 1, 4},
     {0xbb7f, 0xba3f},
     {0xbd8f, 0xbcc7},
     0x3f654f4},
    {"model.norm.weight", 1, {256}, {0x3f4f, 0x3f3a}, {0x3f49, 0x3f50}, 0x3f45c3},
    {"mtp.fc.weight", 2, {256, 512}, {0x3e50, 0x3d19}, {0x3d33, 0x3df4}, 0xf8bc642a},
    {"mtp.pre_fc_norm_hidden.weight", 1, {256}, {0xbe3f, 0xbe52}, {0xbe32, 0xbe6f}, 0xbe5871},
};

static void check_stored(const assay_model *model)
{
    struct assay_tensor tensor;

    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        const char *name = stored[i].name;
        uint32_t sum = 0;
        cr_assert(assay_model_tensor(model, name, &tensor), "%s", name);
        cr_assert(tensor.dtype == ASSAY_BF16 && tensor.rank == stored[i].rank, "%s", name);
        for (int j = 0; j < tensor.rank; j++)
            cr_assert(tensor.extent[j] == stored[i].extent[j], "%s", name);
        cr_assert(tensor.stride[tensor.rank - 1] == 1, "%s", name);
        const uint16_t *words = tensor.data;
        int64_t count = assay_tensor_count(&tensor);
        for (int64_t j = 0; j < count; j++)
            sum += words[j];
        cr_assert(words[0] == stored[i].first[0] && words[1] == stored[i].first[1], "%s", name);
        cr_assert(words[count - 2] == stored[i].last[0], "%s", name);
        cr_assert(words[count - 1] == stored[i].last[1], "%s", name);
        cr_assert(sum == stored[i].sum, "%s", name);
    }
}

static void check_list(const assay_model *model)
{
    const char *name = "", *before = "";

    cr_assert(assay_model_num_tensors(model) == 124);
    for (int64_t i = 0; i < 124; i++) {
        struct assay_tensor tensor = assay_model_tensor_at(model, i, &name), same;
        cr_assert(strcmp(before, name) < 0, "%s is not after %s", name, before);
        cr_assert(assay_model_tensor(model, name, &same) && assay_tensor_same(&tensor, &same));
        before = name;
    }
    assay_model_tensor_at(model, 0, &name);
    cr_assert_str_eq(name, "lm_head.weight");
    assay_model_tensor_at(model, 124, &name);
    cr_assert_null(name);
    cr_assert(assay_model_tensor_at(model, -1, NULL).data == NULL);
}

static void check_config(const struct assay_model_config *config)
{
    cr_assert(config->vocab_size == 2048 && config->hidden_size == 256);
    cr_assert(config->intermediate_size == 640 && config->num_layers == 8);
    cr_assert(config->num_heads == 2 && config->num_kv_heads == 1 && config->head_dim == 256);
    cr_assert(config->rotary_dim == 64 && config->rope_theta == 1e7 && config->rms_eps == 1e-6);
    cr_assert(config->mrope_section[0] == 11 && config->mrope_section[1] == 11 &&
              config->mrope_section[2] == 10);
    cr_assert(config->linear_key_dim == 128 && config->linear_value_dim == 128);
    cr_assert(config->linear_key_heads == 1 && config->linear_value_heads == 2);
    cr_assert(config->conv_taps == 4 && config->max_positions == 8192);
    cr_assert(config->num_mtp_layers == 1 && !config->is_moe && !config->tie_embeddings);
    for (int i = 0; i < 8; i++)
        cr_assert((config->layers[i] == ASSAY_LAYER_FULL) == (i == 3 || i == 7));
    cr_assert(config->num_stop_tokens == 2);
    cr_assert(config->stop_tokens[0] == 2045 && config->stop_tokens[1] == 2043);
}

Test(model, tiny_hybrid)
{
    /* hashlib.blake2b(digest_size=32) over name, 0, length (u64), bytes of the three files */
    static const char expected[] =
        "f5199f46e26e7e5c5f40b94b35b80497902dcee960ed694461a316cfff74554a";
    static const char dir[] = ASSAY_GOLDEN_DIR "/models/tiny-hybrid";
    struct assay_error error = {.status = ASSAY_OK};
    struct assay_tensor tensor;
    assay_model *model = NULL;
    char digest[65];

    cr_assert(assay_model_open(dir, &model, &error) == ASSAY_OK, "%s: %s: %s", error.where,
              error.what, error.message);
    cr_assert_str_eq(assay_model_dir(model), dir);
    check_config(assay_model_config(model));
    check_stored(model);
    check_list(model);
    cr_assert_not(assay_model_tensor(model, "model.norm", &tensor));
    cr_assert_not(assay_model_tensor(model, "", &tensor));
    for (int i = 0; i < 2; i++) { /* computed, then remembered */
        cr_assert(assay_model_digest(model, digest, &error) == ASSAY_OK);
        cr_assert_str_eq(digest, expected);
    }
    cr_assert(assay_model_digest(NULL, digest, NULL) == ASSAY_E_ARG);
    cr_assert(assay_model_digest(model, NULL, NULL) == ASSAY_E_ARG);
    cr_assert(assay_model_open(dir, NULL, NULL) == ASSAY_E_ARG);
    assay_model_close(model);
    cr_assert(assay_model_open(NULL, &model, NULL) == ASSAY_E_ARG);
    cr_assert_null(model);
    assay_model_close(NULL);
    cr_assert(assay_live_allocations() == 0);
}

/* ---- the small model ------------------------------------------------------------------------- */

static struct assay_error last_error;

/* Writes the model and opens it; *opened may be NULL: closed again. */
static assay_status open_small(const char *dir, const struct small_model *small,
                               assay_model **opened)
{
    assay_model *model = NULL;

    small_write_file(dir, SINGLE, small, 0, small->num_tensors);
    assay_error_clear(&last_error);
    assay_status status = assay_model_open(dir, &model, &last_error);
    cr_assert((status == ASSAY_OK) == (model != NULL));
    if (opened != NULL)
        *opened = model;
    else
        assay_model_close(model);
    if (model == NULL || opened == NULL) {
        cr_assert(assay_live_allocations() == 0);
        small_unmapped(dir, "a closed model");
    }
    return status;
}

static void expect(const char *dir, const struct small_model *small, assay_status expected,
                   const char *tensor)
{
    assay_status status = open_small(dir, small, NULL);

    cr_assert(status == expected, "%s: %s, expected %s (%s: %s)", tensor, assay_status_name(status),
              assay_status_name(expected), last_error.what, last_error.message);
    if (status == ASSAY_OK)
        return;
    cr_assert_str_eq(last_error.where, SINGLE);
    cr_assert(strcmp(last_error.what, tensor) == 0, "names %s, expected %s", last_error.what,
              tensor);
}

/* Sections 3.2 to 3.4: every tensor is needed, in its dtype and its shape. */
static void check_each_tensor(const char *dir, const struct small_model *whole)
{
    for (int i = 0; i < whole->num_tensors; i++) {
        struct small_model changed = *whole;
        struct small_tensor *tensor = &changed.tensors[i];
        const char *name = whole->tensors[i].name;
        bool may_be_f32 = strstr(name, "A_log") != NULL || strstr(name, "linear_attn.norm") != NULL;
        bool is_embed = strstr(name, "embed_tokens") != NULL;

        memmove(tensor, tensor + 1, (size_t)(whole->num_tensors - i - 1) * sizeof *tensor);
        changed.num_tensors--;
        expect(dir, &changed, ASSAY_E_NOT_FOUND, is_embed ? "embed_tokens.weight" : name);

        changed = *whole;
        tensor->dtype = "F16";
        expect(dir, &changed, ASSAY_E_FORMAT, name);
        tensor->dtype = "F32";
        expect(dir, &changed, may_be_f32 ? ASSAY_OK : ASSAY_E_FORMAT, name);
        tensor->dtype = "I8";
        expect(dir, &changed, ASSAY_E_FORMAT, name);

        changed = *whole;
        tensor->extent[tensor->rank - 1] += 2;
        expect(dir, &changed, ASSAY_E_SHAPE, name);
        changed = *whole;
        tensor->extent[tensor->rank++] = 1;
        expect(dir, &changed, ASSAY_E_SHAPE, name);
        changed = *whole;
        tensor->extent[0] = 0;
        expect(dir, &changed, ASSAY_E_SHAPE, name);
    }
}

/* Section 3.1: prefix variants, MTP prefixes, what is skipped and what is not. */
static void check_variants(const char *dir)
{
    static const struct {
        const char *prefix, *head, *mtp;
    } variants[] = {
        {"model.language_model.", "lm_head.weight", "mtp."},
        {"model.", "lm_head.weight", "mtp."},
        {"model.", "lm_head.weight", "model.mtp."},
        {"language_model.model.", "language_model.lm_head.weight", "language_model.mtp."},
        {"language_model.model.", "language_model.lm_head.weight", NULL},
    };
    static const char *const skipped[] = {"model.visual.patch_embed.proj.weight", "visual.x",
                                          "vision_tower.blocks.0.weight",
                                          "model.layers.0.rotary_emb.inv_freq"};
    static const char *const unknown[] = {"model.layers.2.input_layernorm.weight",
                                          "model.layers.0.mlp.gate_proj.bias",
                                          "model.layers.0.self_attn.q_proj.weight",
                                          "model.layers.01.input_layernorm.weight",
                                          "mtp.layers.1.input_layernorm.weight",
                                          "model.layers.0.mlp.gate_proj.weight_scale_inv",
                                          "extra",
                                          "model.visuals.x",
                                          "lm_head.bias"};
    struct small_model small;
    struct assay_tensor tensor;
    assay_model *model = NULL;

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        small_tensors(&small, variants[i].prefix, variants[i].head, variants[i].mtp);
        cr_assert(open_small(dir, &small, &model) == ASSAY_OK, "%s: %s", last_error.what,
                  last_error.message);
        cr_assert(assay_model_num_tensors(model) == small.num_tensors);
        cr_assert(assay_model_config(model)->num_mtp_layers == (variants[i].mtp != NULL));
        assay_model_close(model);
    }
    small_tensors(&small, "transformer.", "lm_head.weight", NULL);
    expect(dir, &small, ASSAY_E_NOT_FOUND, "embed_tokens.weight");
    small_tensors(&small, "language_model.model.", "lm_head.weight", NULL);
    expect(dir, &small, ASSAY_E_NOT_FOUND, "language_model.lm_head.weight");
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) {
        small_tensors(&small, "model.", "lm_head.weight", "mtp.");
        int num_bound = small.num_tensors;
        small_add(&small, skipped[i], "F16", 1, 4, 0, 0);
        cr_assert(open_small(dir, &small, &model) == ASSAY_OK, "%s", skipped[i]);
        cr_assert(assay_model_num_tensors(model) == num_bound);
        cr_assert_not(assay_model_tensor(model, skipped[i], &tensor));
        assay_model_close(model);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        small_tensors(&small, "model.", "lm_head.weight", "mtp.");
        small_add(&small, unknown[i], "BF16", 1, 8, 0, 0);
        expect(dir, &small, ASSAY_E_UNSUPPORTED, unknown[i]);
    }
}

/* Trap 2: a convolution in MLX order is refused with the reason, a wrong one plainly. */
static void check_convolution(const char *dir)
{
    struct small_model small;

    small_tensors(&small, "model.", "lm_head.weight", NULL);
    struct small_tensor *conv = small_find(&small, "conv1d.weight");
    conv->extent[1] = 4;
    conv->extent[2] = 1;
    expect(dir, &small, ASSAY_E_UNSUPPORTED, conv->name);
    cr_assert(strstr(last_error.message, "MLX") != NULL, "%s", last_error.message);
    conv->rank = 2;
    expect(dir, &small, ASSAY_E_SHAPE, conv->name);
}

/* Section 2.3. */
static void check_tying(const char *dir)
{
    static const struct small_pair tied = {"tie_word_embeddings", "true"};
    struct small_model with, without;

    small_tensors(&with, "model.", "lm_head.weight", NULL);
    small_tensors(&without, "model.", NULL, NULL);
    expect(dir, &with, ASSAY_OK, "lm_head.weight");
    expect(dir, &without, ASSAY_E_NOT_FOUND, "lm_head.weight");
    small_write_config(dir, &tied, 1);
    expect(dir, &without, ASSAY_OK, "lm_head.weight");
    expect(dir, &with, ASSAY_E_CORRUPT, "lm_head.weight");
    small_find(&with, "lm_head.weight")->seed = small_find(&with, "embed_tokens.weight")->seed;
    expect(dir, &with, ASSAY_OK, "lm_head.weight");
    small_write_config(dir, NULL, 0);
}

/* A mixture of experts: what it must have; the banks' other names; experts that are stored one by
 * one, but not beside a bank of them. */
static void check_moe(const char *dir)
{
    struct small_model whole, changed;

    small_tensors(&whole, "model.", "lm_head.weight", "mtp.");
    small_mixture(&whole);
    small_write_config(dir, small_mixture_config, SMALL_MIXTURE_CHANGES);
    expect(dir, &whole, ASSAY_OK, "the whole mixture");
    check_each_tensor(dir, &whole);
    changed = whole;
    strcat(small_find(&changed, "layers.0.mlp.experts.gate_up_proj")->name, ".weight");
    strcat(small_find(&changed, "layers.0.mlp.experts.down_proj")->name, ".weight");
    expect(dir, &changed, ASSAY_OK, "the banks' long names");
    small_find(&changed, "layers.0.mlp.experts.down_proj.weight")->dtype = "F32";
    expect(dir, &changed, ASSAY_E_FORMAT, "model.layers.0.mlp.experts.down_proj.weight");
    changed = whole;
    strcpy(small_find(&changed, "layers.0.mlp.experts.gate_up_proj")->name,
           "model.layers.0.mlp.experts.0.gate_proj.weight");
    expect(dir, &changed, ASSAY_E_CORRUPT, "model.layers.0.mlp.experts.down_proj");
    changed = whole;
    small_split_banks(&changed);
    expect(dir, &changed, ASSAY_OK, "experts one by one");
    check_each_tensor(dir, &changed);
    small_write_config(dir, NULL, 0);
}

/* The digest sees one changed bit of a weight and of the config, and nothing else of the folder. */
static void check_digest(const char *dir)
{
    struct small_model small;
    char digests[4][65];

    small_tensors(&small, "model.", "lm_head.weight", "mtp.");
    for (int i = 0; i < 4; i++) {
        assay_model *model = NULL;
        static const struct small_pair change = {"use_cache", "true"};
        if (i == 1)
            small_write(dir, "README.md", "x", 1);
        small_find(&small, "norm.weight")->seed = i == 2 ? 3 : 2;
        small_write_config(dir, &change, i == 3);
        cr_assert(open_small(dir, &small, &model) == ASSAY_OK);
        cr_assert(assay_model_digest(model, digests[i], NULL) == ASSAY_OK);
        cr_assert(strlen(digests[i]) == 64);
        assay_model_close(model);
    }
    cr_assert_str_eq(digests[0], digests[1]);
    cr_assert_str_neq(digests[0], digests[2]);
    cr_assert_str_neq(digests[0], digests[3]);
    small_write_config(dir, NULL, 0);
}

Test(model, rules)
{
    char *dir = small_folder();
    struct small_model whole;

    small_write_config(dir, NULL, 0);
    small_tensors(&whole, "model.", "lm_head.weight", "mtp.");
    expect(dir, &whole, ASSAY_OK, "the whole model");
    check_each_tensor(dir, &whole);
    check_variants(dir);
    check_convolution(dir);
    check_tying(dir);
    check_moe(dir);
    check_digest(dir);
    small_remove(dir);
}
