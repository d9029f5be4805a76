/* SPDX-License-Identifier: MIT
 *
 * Names to weights: every tensor of qwen3_5.md sections 3.2 to 3.4 is found under one of the
 * prefix variants of section 3.1 and checked against the config. A stored tensor that nothing
 * asks for is an error: it means that config and weights describe different models.
 */
#include "model/bind.h"

#include <inttypes.h>
#include <string.h>

#include "model/model_state.h"

enum { NAME_SIZE = 160 };

struct binder {
    const struct assay_model_config *config;
    const struct safetensors_set *files;
    bool *used; /* [num_entries] */
    struct assay_error *error;
};

struct variant {
    const char *text; /* P. of section 3.1 */
    const char *head;
};

static const struct variant variants[] = {
    {"model.language_model.", "lm_head.weight"},
    {"model.", "lm_head.weight"},
    {"language_model.model.", "language_model.lm_head.weight"},
};

/* One tensor that the model needs. */
struct role {
    const char *suffix; /* after the prefix */
    struct assay_tensor *view;
    int64_t extent[2]; /* second 0: rank 1 */
    bool may_be_f32;
};

/* The file to name when a tensor is in none. */
static const char *tensor_list_name(const struct safetensors_set *files)
{
    return files->num_files == 1 ? files->files[0].name : SAFETENSORS_INDEX;
}

static const char *file_of(const struct binder *binder, const struct safetensors_entry *entry)
{
    return binder->files->files[entry->file].name;
}

static void shape_text(int rank, const int64_t *extent, char *text, size_t size)
{
    size_t length = 0;

    for (int i = 0; i < rank && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%" PRId64, i > 0 ? "," : "",
                                   extent[i]);
    if (rank == 0)
        snprintf(text, size, "scalar");
}

static assay_status find_entry(const struct binder *binder, const char *name,
                               const struct safetensors_entry **entry)
{
    int64_t index = assay_safetensors_find(binder->files, name);

    if (index < 0)
        return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->files), name,
                          "the tensor is missing; fetch all weight files again, or compare "
                          "config.json with the weights");
    binder->used[index] = true;
    *entry = &binder->files->entries[index];
    return ASSAY_OK;
}

static assay_status check_dtype(const struct binder *binder, const struct safetensors_entry *entry,
                                bool may_be_f32)
{
    if (entry->format == ASSAY_BF16 || (may_be_f32 && entry->format == ASSAY_F32))
        return ASSAY_OK;
    return assay_fail(binder->error, ASSAY_E_FORMAT, file_of(binder, entry), entry->name,
                      "dtype is %s, expected %s; use the model's BF16 release", entry->dtype,
                      may_be_f32 ? "BF16 or F32" : "BF16");
}

static assay_status check_shape(const struct binder *binder, const struct safetensors_entry *entry,
                                int rank, const int64_t *extent)
{
    char found[160], expected[64];
    bool same = entry->rank == rank;

    for (int i = 0; same && i < rank; i++)
        same = entry->extent[i] == extent[i];
    if (same)
        return ASSAY_OK;
    shape_text(entry->rank, entry->extent, found, sizeof found);
    shape_text(rank, extent, expected, sizeof expected);
    return assay_fail(binder->error, ASSAY_E_SHAPE, file_of(binder, entry), entry->name,
                      "shape is [%s], config.json demands [%s]", found, expected);
}

static struct assay_tensor view_of(const struct safetensors_entry *entry)
{
    struct assay_tensor view = {
        .data = (void *)(uintptr_t)entry->data, .dtype = entry->format, .rank = entry->rank};
    int64_t stride = 1;

    for (int i = entry->rank - 1; i >= 0; i--) {
        view.extent[i] = entry->extent[i];
        view.stride[i] = stride;
        stride *= entry->extent[i];
    }
    return view;
}

static assay_status bind_roles(const struct binder *binder, const char *prefix,
                               const struct role *roles, size_t num_roles)
{
    for (size_t i = 0; i < num_roles; i++) {
        const struct safetensors_entry *entry = NULL;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%s%s", prefix, roles[i].suffix);
        ASSAY_TRY(find_entry(binder, name, &entry));
        ASSAY_TRY(check_dtype(binder, entry, roles[i].may_be_f32));
        ASSAY_TRY(check_shape(binder, entry, roles[i].extent[1] > 0 ? 2 : 1, roles[i].extent));
        *roles[i].view = view_of(entry);
    }
    return ASSAY_OK;
}

#define BIND(binder, prefix, roles) \
    bind_roles(binder, prefix, roles, sizeof(roles) / sizeof *(roles))

static assay_status bind_attention(const struct binder *binder, const char *prefix,
                                   struct attention_weights *weights)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        {"self_attn.q_proj.weight",
         &weights->q_proj,
         {2 * c->num_heads * c->head_dim, c->hidden_size},
         false},
        {"self_attn.k_proj.weight",
         &weights->k_proj,
         {c->num_kv_heads * c->head_dim, c->hidden_size},
         false},
        {"self_attn.v_proj.weight",
         &weights->v_proj,
         {c->num_kv_heads * c->head_dim, c->hidden_size},
         false},
        {"self_attn.o_proj.weight",
         &weights->o_proj,
         {c->hidden_size, c->num_heads * c->head_dim},
         false},
        {"self_attn.q_norm.weight", &weights->q_norm, {c->head_dim, 0}, false},
        {"self_attn.k_norm.weight", &weights->k_norm, {c->head_dim, 0}, false},
    };

    return BIND(binder, prefix, roles);
}

/* [Cc, 1, Kc] as PyTorch stores a depthwise convolution. [Cc, Kc, 1] is the one trustworthy sign
 * of weights converted for MLX, whose norms already have 1 added (section 3.1, trap 2). */
static assay_status bind_conv(const struct binder *binder, const char *prefix, int64_t channels,
                              struct assay_tensor *view)
{
    const struct safetensors_entry *entry = NULL;
    const int64_t taps = binder->config->conv_taps;
    const int64_t expected[3] = {channels, 1, taps};
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%slinear_attn.conv1d.weight", prefix);
    ASSAY_TRY(find_entry(binder, name, &entry));
    ASSAY_TRY(check_dtype(binder, entry, false));
    if (entry->rank == 3 && entry->extent[1] == taps && entry->extent[2] == 1)
        return assay_fail(binder->error, ASSAY_E_UNSUPPORTED, file_of(binder, entry), name,
                          "shape is [%" PRId64 ",%" PRId64 ",1], expected [%" PRId64 ",1,%" PRId64
                          "]: these weights were converted for MLX, where norm weights have 1 "
                          "added already; use the model's original release",
                          entry->extent[0], taps, channels, taps);
    ASSAY_TRY(check_shape(binder, entry, 3, expected));
    *view = assay_tensor_2d((void *)(uintptr_t)entry->data, entry->format, channels, taps);
    return ASSAY_OK;
}

static assay_status bind_gdn(const struct binder *binder, const char *prefix,
                             struct gdn_weights *weights)
{
    const struct assay_model_config *c = binder->config;
    const int64_t hidden = c->hidden_size, value_heads = c->linear_value_heads;
    const int64_t key_rows = c->linear_key_heads * c->linear_key_dim;
    const int64_t value_rows = value_heads * c->linear_value_dim;
    const int64_t channels = 2 * key_rows + value_rows;
    const struct role roles[] = {
        {"linear_attn.in_proj_qkv.weight", &weights->in_proj_qkv, {channels, hidden}, false},
        {"linear_attn.in_proj_z.weight", &weights->in_proj_z, {value_rows, hidden}, false},
        {"linear_attn.in_proj_b.weight", &weights->in_proj_b, {value_heads, hidden}, false},
        {"linear_attn.in_proj_a.weight", &weights->in_proj_a, {value_heads, hidden}, false},
        {"linear_attn.A_log", &weights->a_log, {value_heads, 0}, true},
        {"linear_attn.dt_bias", &weights->dt_bias, {value_heads, 0}, false},
        {"linear_attn.norm.weight", &weights->norm, {c->linear_value_dim, 0}, true},
        {"linear_attn.out_proj.weight", &weights->out_proj, {hidden, value_rows}, false},
    };

    ASSAY_TRY(bind_conv(binder, prefix, channels, &weights->conv));
    return BIND(binder, prefix, roles);
}

static assay_status bind_layer(const struct binder *binder, const char *prefix,
                               enum assay_layer_kind kind, struct layer_weights *layer)
{
    const int64_t hidden = binder->config->hidden_size;
    const int64_t inner = binder->config->intermediate_size;
    const struct role roles[] = {
        {"input_layernorm.weight", &layer->input_norm, {hidden, 0}, false},
        {"post_attention_layernorm.weight", &layer->post_attention_norm, {hidden, 0}, false},
        {"mlp.gate_proj.weight", &layer->mlp.gate_proj, {inner, hidden}, false},
        {"mlp.up_proj.weight", &layer->mlp.up_proj, {inner, hidden}, false},
        {"mlp.down_proj.weight", &layer->mlp.down_proj, {hidden, inner}, false},
    };

    layer->kind = kind;
    ASSAY_TRY(BIND(binder, prefix, roles));
    if (kind == ASSAY_LAYER_FULL)
        return bind_attention(binder, prefix, &layer->mixer.attention);
    return bind_gdn(binder, prefix, &layer->mixer.gdn);
}

/* Section 2.3. A head of its own beside a declared tie must be a copy of the embedding, or the two
 * statements contradict each other. */
static assay_status bind_head(const struct binder *binder, const char *name,
                              struct model_weights *weights)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        {"", &weights->lm_head, {c->vocab_size, c->hidden_size}, false},
    };

    if (assay_safetensors_find(binder->files, name) < 0 && !c->tie_embeddings)
        return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->files), name,
                          "the tensor is missing, and config.json does not tie it to the "
                          "embedding; fetch all weight files, or set tie_word_embeddings to true "
                          "if the model was trained so");
    if (assay_safetensors_find(binder->files, name) >= 0) {
        ASSAY_TRY(BIND(binder, name, roles));
        if (c->tie_embeddings && memcmp(weights->lm_head.data, weights->embed.data,
                                        assay_tensor_span(&weights->embed)) != 0)
            return assay_fail(binder->error, ASSAY_E_CORRUPT, tensor_list_name(binder->files), name,
                              "differs from the embedding, to which config.json ties it; set "
                              "tie_word_embeddings to false if the model was trained so");
    }
    if (c->tie_embeddings)
        weights->lm_head = weights->embed;
    return ASSAY_OK;
}

static assay_status bind_text(const struct binder *binder, const struct variant *variant,
                              struct model_weights *weights)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        {"embed_tokens.weight", &weights->embed, {c->vocab_size, c->hidden_size}, false},
        {"norm.weight", &weights->final_norm, {c->hidden_size, 0}, false},
    };
    char prefix[NAME_SIZE];

    ASSAY_TRY(BIND(binder, variant->text, roles));
    ASSAY_TRY(bind_head(binder, variant->head, weights));
    for (int64_t i = 0; i < c->num_layers; i++) {
        snprintf(prefix, sizeof prefix, "%slayers.%" PRId64 ".", variant->text, i);
        ASSAY_TRY(bind_layer(binder, prefix, c->layers[i], &weights->layers[i]));
    }
    return ASSAY_OK;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Section 3.4. Whether there is an MTP block is decided by the tensors: text-only saves drop it
 * and keep the config key. This version checks the block and does not use it. */
static assay_status check_mtp(const struct binder *binder, int64_t *num_layers)
{
    static const char *const prefixes[] = {"mtp.", "model.mtp.", "language_model.mtp."};
    const int64_t hidden = binder->config->hidden_size;
    struct assay_tensor view;
    struct layer_weights layer;
    const struct role roles[] = {
        {"pre_fc_norm_embedding.weight", &view, {hidden, 0}, false},
        {"pre_fc_norm_hidden.weight", &view, {hidden, 0}, false},
        {"fc.weight", &view, {hidden, 2 * hidden}, false},
        {"norm.weight", &view, {hidden, 0}, false},
    };
    char name[NAME_SIZE];

    *num_layers = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        int64_t first = assay_safetensors_lower_bound(binder->files, prefixes[i]);
        if (first == binder->files->num_entries ||
            !starts_with(binder->files->entries[first].name, prefixes[i]))
            continue;
        ASSAY_TRY(BIND(binder, prefixes[i], roles));
        snprintf(name, sizeof name, "%slayers.0.", prefixes[i]);
        ASSAY_TRY(bind_layer(binder, name, ASSAY_LAYER_FULL, &layer));
        *num_layers = 1;
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

/* Tensors that are known and that a text model does not need: the vision tower and tables that
 * follow from the config. */
static bool is_skipped(const char *name)
{
    static const char *const vision[] = {"model.visual.", "visual.", "vision_tower."};
    static const char table[] = ".rotary_emb.inv_freq";
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof vision / sizeof *vision; i++)
        if (starts_with(name, vision[i]))
            return true;
    return length >= strlen(table) && strcmp(name + length - strlen(table), table) == 0;
}

static assay_status list_tensors(const struct binder *binder, assay_model *model)
{
    model->tensors = assay_alloc_zero((size_t)binder->files->num_entries, sizeof *model->tensors);
    if (model->tensors == NULL)
        return assay_fail(binder->error, ASSAY_E_MEMORY, model->dir, "",
                          "no memory for the list of tensors");
    for (int64_t i = 0; i < binder->files->num_entries; i++) {
        const struct safetensors_entry *entry = &binder->files->entries[i];
        if (binder->used[i])
            model->tensors[model->num_tensors++] =
                (struct model_tensor){entry->name, view_of(entry)};
        else if (!is_skipped(entry->name))
            return assay_fail(binder->error, ASSAY_E_UNSUPPORTED, file_of(binder, entry),
                              entry->name,
                              "no part of the model that config.json describes has this tensor; "
                              "compare config.json with the weights");
    }
    return ASSAY_OK;
}

static assay_status bind_all(const struct binder *binder, assay_model *model)
{
    struct model_weights *weights = &model->weights;
    char name[NAME_SIZE];

    weights->layers = assay_alloc_zero((size_t)model->config.num_layers, sizeof *weights->layers);
    if (weights->layers == NULL)
        return assay_fail(binder->error, ASSAY_E_MEMORY, model->dir, "",
                          "no memory for the list of layers");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        snprintf(name, sizeof name, "%sembed_tokens.weight", variants[i].text);
        if (assay_safetensors_find(binder->files, name) < 0)
            continue;
        ASSAY_TRY(bind_text(binder, &variants[i], weights));
        ASSAY_TRY(check_mtp(binder, &model->config.num_mtp_layers));
        return list_tensors(binder, model);
    }
    return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->files),
                      "embed_tokens.weight",
                      "no tensor of this name under model.language_model., model. or "
                      "language_model.model.; are these the weights of a qwen3_5 text model?");
}

assay_status model_bind(assay_model *model, struct assay_error *error)
{
    struct binder binder = {.config = &model->config, .files = &model->files, .error = error};

    binder.used = assay_alloc_zero((size_t)model->files.num_entries, sizeof *binder.used);
    if (binder.used == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, model->dir, "", "no memory to bind tensors");
    assay_status status = bind_all(&binder, model);
    assay_free(binder.used);
    return status;
}
