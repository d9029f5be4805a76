/* SPDX-License-Identifier: MIT
 *
 * Reads and widens the weights of a model by their names (qwen3_5.md section 3); every shape
 * is compared with the configuration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_model_private.h"

struct binder {
    const struct oracle_archive *archive;
    const char *prefix; /* "model.layers.3." */
    char *message;
    size_t size;
    assay_status status; /* the first failure; later calls do nothing */
};

/* Takes prefix + name as [rows, cols]. First and last extent are compared, and the count: a middle
 * extent of 1 may be stored (conv1d [Cc, 1, Kc]), and of a bank of `first` matrices the rows of
 * each. */
static double *take_bank(struct binder *b, const char *name, int64_t first, int64_t rows,
                         int64_t cols)
{
    if (b->status != ASSAY_OK)
        return NULL;
    char full[256];
    (void)snprintf(full, sizeof full, "%s%s", b->prefix, name);
    struct oracle_stored stored;
    b->status = oracle_archive_find(b->archive, full, &stored, b->message, b->size);
    if (b->status != ASSAY_OK)
        return NULL;
    int64_t last = stored.extent[stored.rank > 0 ? stored.rank - 1 : 0];
    bool floating = strchr("BF", stored.dtype[0]) != NULL;
    if (!floating || stored.count != rows * cols || last != (cols > 1 ? cols : rows) ||
        (cols > 1 && stored.extent[0] != first)) {
        b->status = oracle_model_fail(ASSAY_E_SHAPE, b->message, b->size,
                                      "%s: %s, %d dimensions, %lld elements; expected [%lld, %lld]",
                                      full, stored.dtype, stored.rank, (long long)stored.count,
                                      (long long)rows, (long long)cols);
        return NULL;
    }
    double *values;
    int64_t count;
    b->status = oracle_archive_read(b->archive, full, &values, &count, b->message, b->size);
    return values;
}

static double *take(struct binder *b, const char *name, int64_t rows, int64_t cols)
{
    return take_bank(b, name, rows, rows, cols);
}

static double *take_vector(struct binder *b, const char *name, int64_t length)
{
    return take(b, name, length, 1);
}

static void take_full_attention(struct binder *b, const struct oracle_config *c,
                                struct oracle_layer *layer)
{
    int64_t q_rows = c->heads * c->head_dim, kv_rows = c->kv_heads * c->head_dim;
    layer->q_proj = take(b, "self_attn.q_proj.weight", 2 * q_rows, c->hidden);
    layer->k_proj = take(b, "self_attn.k_proj.weight", kv_rows, c->hidden);
    layer->v_proj = take(b, "self_attn.v_proj.weight", kv_rows, c->hidden);
    layer->o_proj = take(b, "self_attn.o_proj.weight", c->hidden, q_rows);
    layer->q_norm = take_vector(b, "self_attn.q_norm.weight", c->head_dim);
    layer->k_norm = take_vector(b, "self_attn.k_norm.weight", c->head_dim);
}

static void take_gdn(struct binder *b, const struct oracle_config *c, struct oracle_layer *layer)
{
    int64_t channels = oracle_conv_channels(c), values = c->value_heads * c->value_dim;
    layer->qkv = take(b, "linear_attn.in_proj_qkv.weight", channels, c->hidden);
    layer->z = take(b, "linear_attn.in_proj_z.weight", values, c->hidden);
    layer->b = take(b, "linear_attn.in_proj_b.weight", c->value_heads, c->hidden);
    layer->a = take(b, "linear_attn.in_proj_a.weight", c->value_heads, c->hidden);
    layer->conv = take(b, "linear_attn.conv1d.weight", channels, c->taps);
    layer->out_proj = take(b, "linear_attn.out_proj.weight", c->hidden, values);
    layer->a_log = take_vector(b, "linear_attn.A_log", c->value_heads);
    layer->dt_bias = take_vector(b, "linear_attn.dt_bias", c->value_heads);
    layer->norm = take_vector(b, "linear_attn.norm.weight", c->value_dim);
}

static bool has(const struct oracle_archive *archive, const char *name)
{
    struct oracle_stored stored;
    return oracle_archive_find(archive, name, &stored, NULL, 0) == ASSAY_OK;
}

/* rows x cols of expert e into its place; the stored matrices one by one. */
static void take_expert(struct binder *b, const char *matrix, int64_t e, int64_t rows, int64_t cols,
                        double *to)
{
    char name[96];
    (void)snprintf(name, sizeof name, "mlp.experts.%lld.%s.weight", (long long)e, matrix);
    double *values = take(b, name, rows, cols);
    if (values != NULL && to != NULL)
        memcpy(to, values, (size_t)(rows * cols) * sizeof *to);
    free(values);
}

/* The banks from one tensor an expert and matrix. */
static void take_experts(struct binder *b, const struct oracle_config *c,
                         struct oracle_layer *layer)
{
    const int64_t h = c->hidden, wide = c->expert_width, size = wide * h;
    layer->experts_gate_up = oracle_model_alloc(2 * c->experts * size);
    layer->experts_down = oracle_model_alloc(c->experts * size);
    if (b->status == ASSAY_OK && (layer->experts_gate_up == NULL || layer->experts_down == NULL))
        b->status = oracle_model_fail(ASSAY_E_MEMORY, b->message, b->size, "out of memory");
    for (int64_t e = 0; e < c->experts && b->status == ASSAY_OK; e++) {
        take_expert(b, "gate_proj", e, wide, h, layer->experts_gate_up + 2 * e * size);
        take_expert(b, "up_proj", e, wide, h, layer->experts_gate_up + (2 * e + 1) * size);
        take_expert(b, "down_proj", e, h, wide, layer->experts_down + e * size);
    }
}

static void take_mixture(struct binder *b, const struct oracle_config *c,
                         struct oracle_layer *layer)
{
    const int64_t h = c->hidden, wide = c->expert_width;
    char fused[256];
    (void)snprintf(fused, sizeof fused, "%smlp.experts.gate_up_proj", b->prefix);
    layer->router = take(b, "mlp.gate.weight", c->experts, h);
    layer->shared_gate = take(b, "mlp.shared_expert_gate.weight", 1, h);
    if (!has(b->archive, fused)) {
        take_experts(b, c, layer);
        return;
    }
    layer->experts_gate_up =
        take_bank(b, "mlp.experts.gate_up_proj", c->experts, 2 * c->experts * wide, h);
    layer->experts_down = take_bank(b, "mlp.experts.down_proj", c->experts, c->experts * h, wide);
}

static void take_ffn(struct binder *b, const struct oracle_config *c, struct oracle_layer *layer)
{
    const char *prefix = c->experts > 0 ? "mlp.shared_expert." : "mlp.";
    const struct {
        const char *name;
        double **to;
        int64_t rows, cols;
    } matrices[] = {{"gate_proj.weight", &layer->gate_proj, c->intermediate, c->hidden},
                    {"up_proj.weight", &layer->up_proj, c->intermediate, c->hidden},
                    {"down_proj.weight", &layer->down_proj, c->hidden, c->intermediate}};
    for (int i = 0; i < 3; i++) {
        char name[96];
        (void)snprintf(name, sizeof name, "%s%s", prefix, matrices[i].name);
        *matrices[i].to = take(b, name, matrices[i].rows, matrices[i].cols);
    }
    if (c->experts > 0)
        take_mixture(b, c, layer);
}

static void take_layer(struct binder *b, const struct oracle_config *c, bool full,
                       struct oracle_layer *layer)
{
    layer->input_norm = take_vector(b, "input_layernorm.weight", c->hidden);
    layer->post_norm = take_vector(b, "post_attention_layernorm.weight", c->hidden);
    if (full)
        take_full_attention(b, c, layer);
    else
        take_gdn(b, c, layer);
    take_ffn(b, c, layer);
}

static void take_head(struct binder *b, const struct oracle_config *c, struct oracle_model *model)
{
    if (b->status != ASSAY_OK)
        return;
    b->prefix = "";
    if (!c->tied && !has(b->archive, "lm_head.weight"))
        b->status = oracle_model_fail(ASSAY_E_NOT_FOUND, b->message, b->size,
                                      "no lm_head.weight, and embeddings are not tied");
    else if (!c->tied)
        model->head = take(b, "lm_head.weight", c->vocab, c->hidden);
    else
        model->head = model->embed;
}

static void take_mtp(struct binder *b, const struct oracle_config *c, struct oracle_model *model)
{
    if (b->status != ASSAY_OK || !has(b->archive, "mtp.fc.weight"))
        return;
    model->has_mtp = true;
    b->prefix = "mtp.";
    model->mtp_embedding_norm = take_vector(b, "pre_fc_norm_embedding.weight", c->hidden);
    model->mtp_hidden_norm = take_vector(b, "pre_fc_norm_hidden.weight", c->hidden);
    model->mtp_fc = take(b, "fc.weight", c->hidden, 2 * c->hidden);
    model->mtp_norm = take_vector(b, "norm.weight", c->hidden);
    b->prefix = "mtp.layers.0.";
    take_layer(b, c, true, &model->mtp_layer);
}

static assay_status take_all(struct oracle_model *model, const struct oracle_archive *archive,
                             char *message, size_t size)
{
    const struct oracle_config *c = &model->config;
    const char *text = has(archive, "model.language_model.embed_tokens.weight")
                           ? "model.language_model."
                           : "model.";
    struct binder b = {archive, text, message, size, ASSAY_OK};
    model->embed = take(&b, "embed_tokens.weight", c->vocab, c->hidden);
    model->final_norm = take_vector(&b, "norm.weight", c->hidden);
    for (int64_t i = 0; i < c->num_layers; i++) {
        char prefix[64];
        (void)snprintf(prefix, sizeof prefix, "%slayers.%lld.", text, (long long)i);
        b.prefix = prefix;
        take_layer(&b, c, c->full[i], &model->layer[i]);
    }
    take_head(&b, c, model);
    take_mtp(&b, c, model);
    return b.status;
}

static void free_layer(struct oracle_layer *layer)
{
    double *const owned[] = {layer->input_norm,
                             layer->post_norm,
                             layer->gate_proj,
                             layer->up_proj,
                             layer->down_proj,
                             layer->q_proj,
                             layer->k_proj,
                             layer->v_proj,
                             layer->o_proj,
                             layer->q_norm,
                             layer->k_norm,
                             layer->qkv,
                             layer->z,
                             layer->b,
                             layer->a,
                             layer->conv,
                             layer->out_proj,
                             layer->a_log,
                             layer->dt_bias,
                             layer->norm,
                             layer->router,
                             layer->shared_gate,
                             layer->experts_gate_up,
                             layer->experts_down};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

assay_status oracle_model_open(const char *dir, struct oracle_model **model, char *message,
                               size_t size)
{
    *model = NULL;
    struct oracle_archive *archive = NULL;
    struct oracle_model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory");
    assay_status status = oracle_config_read(dir, &m->config, message, size);
    if (status == ASSAY_OK)
        status = oracle_archive_open_model(dir, &archive, message, size);
    if (status == ASSAY_OK) {
        m->layer = calloc((size_t)m->config.num_layers, sizeof *m->layer);
        status = m->layer != NULL
                     ? take_all(m, archive, message, size)
                     : oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory");
    }
    oracle_archive_close(archive); /* everything was widened into memory of its own */
    if (status != ASSAY_OK) {
        oracle_model_close(m);
        return status;
    }
    *model = m;
    return ASSAY_OK;
}

void oracle_model_close(struct oracle_model *model)
{
    if (model == NULL)
        return;
    for (int64_t i = 0; model->layer != NULL && i < model->config.num_layers; i++)
        free_layer(&model->layer[i]);
    free(model->layer);
    free_layer(&model->mtp_layer);
    if (model->head != model->embed)
        free(model->head);
    free(model->embed);
    free(model->final_norm);
    free(model->mtp_embedding_norm);
    free(model->mtp_hidden_norm);
    free(model->mtp_fc);
    free(model->mtp_norm);
    free(model);
}

struct oracle_model_extents oracle_model_extents(const struct oracle_model *model)
{
    const struct oracle_config *c = &model->config;
    return (struct oracle_model_extents){.vocab_size = c->vocab,
                                         .hidden_size = c->hidden,
                                         .num_layers = c->num_layers,
                                         .key_heads = c->key_heads,
                                         .value_heads = c->value_heads,
                                         .key_dim = c->key_dim,
                                         .value_dim = c->value_dim,
                                         .has_mtp = model->has_mtp};
}
