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
    const struct weight_store *store;
    bool rows_only;
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

/* One tensor that the model needs: a vector, or a matrix or a bank of matrices in any format of
 * weights.h. */
struct role {
    const char *suffix; /* after the prefix */
    struct assay_tensor *view;
    struct assay_weights *matrix;
    int rank;
    int64_t extent[3];
    bool may_be_f32;
};

#define VECTOR(suffix, view, length)           \
    {                                          \
        suffix, view, NULL, 1, {length}, false \
    }
#define VECTOR_OR_F32(suffix, view, length)   \
    {                                         \
        suffix, view, NULL, 1, {length}, true \
    }
#define MATRIX(suffix, view, rows, columns)           \
    {                                                 \
        suffix, NULL, view, 2, {rows, columns}, false \
    }
#define BANK(suffix, view, count, rows, columns)             \
    {                                                        \
        suffix, NULL, view, 3, {count, rows, columns}, false \
    }

/* The file to name when a tensor is in none. */
static const char *tensor_list_name(const struct weight_store *store)
{
    return store->num_files == 1 ? store->files[0].name : store->kind->list_name;
}

static const char *file_of(const struct binder *binder, const struct stored_tensor *entry)
{
    return binder->store->files[entry->file].name;
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
                               const struct stored_tensor **entry)
{
    int64_t index = weight_store_find(binder->store, name);

    if (index < 0)
        return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->store), name,
                          "the tensor is missing; fetch all weight files again, or compare "
                          "config.json with the weights");
    binder->used[index] = true;
    *entry = &binder->store->tensors[index];
    return ASSAY_OK;
}

static assay_status check_format(const struct binder *binder, const struct stored_tensor *entry,
                                 const struct role *role)
{
    const bool f32 = role->matrix == NULL && (role->may_be_f32 || binder->store->f32_vectors);

    if (entry->dtype == ASSAY_BF16 || (f32 && entry->dtype == ASSAY_F32) ||
        (role->matrix != NULL && entry->grouped))
        return ASSAY_OK;
    if (binder->rows_only && weight_store_has_rows(binder->store, entry))
        return ASSAY_OK;
    return assay_fail(binder->error, ASSAY_E_FORMAT, file_of(binder, entry), entry->name,
                      "dtype is %s, expected %s; %s", entry->format_name,
                      f32 ? "BF16 or F32" : "BF16", binder->store->kind->remedy);
}

static assay_status check_shape(const struct binder *binder, const struct stored_tensor *entry,
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

struct assay_tensor model_plain_view(const struct stored_tensor *entry)
{
    struct assay_tensor view = {
        .data = (void *)(uintptr_t)entry->data, .dtype = entry->dtype, .rank = entry->rank};
    int64_t stride = 1;

    for (int i = entry->rank - 1; i >= 0; i--) {
        view.extent[i] = entry->extent[i];
        view.stride[i] = stride;
        stride *= entry->extent[i];
    }
    return view;
}

struct assay_weights model_weights_view(const struct stored_tensor *entry)
{
    if (entry->grouped)
        return entry->planes;
    const int64_t rows = stored_rows(entry), columns = stored_columns(entry);
    return (struct assay_weights){
        .format = ASSAY_WEIGHT_BF16,
        .rows = rows,
        .columns = columns,
        .base = assay_tensor_2d((void *)(uintptr_t)entry->data, entry->dtype, rows, columns)};
}

static assay_status bind_roles(const struct binder *binder, const char *prefix,
                               const struct role *roles, size_t num_roles)
{
    for (size_t i = 0; i < num_roles; i++) {
        const struct role *role = &roles[i];
        const struct stored_tensor *entry = NULL;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%s%s", prefix, role->suffix);
        ASSAY_TRY(find_entry(binder, name, &entry));
        ASSAY_TRY(check_format(binder, entry, role));
        ASSAY_TRY(check_shape(binder, entry, role->rank, role->extent));
        if (role->matrix != NULL)
            *role->matrix = model_weights_view(entry);
        else
            *role->view = model_plain_view(entry);
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
        MATRIX("self_attn.q_proj.weight", &weights->q_proj, 2 * c->num_heads * c->head_dim,
               c->hidden_size),
        MATRIX("self_attn.k_proj.weight", &weights->k_proj, c->num_kv_heads * c->head_dim,
               c->hidden_size),
        MATRIX("self_attn.v_proj.weight", &weights->v_proj, c->num_kv_heads * c->head_dim,
               c->hidden_size),
        MATRIX("self_attn.o_proj.weight", &weights->o_proj, c->hidden_size,
               c->num_heads * c->head_dim),
        VECTOR("self_attn.q_norm.weight", &weights->q_norm, c->head_dim),
        VECTOR("self_attn.k_norm.weight", &weights->k_norm, c->head_dim),
    };

    return BIND(binder, prefix, roles);
}

/* [Cc, 1, Kc] as PyTorch stores a depthwise convolution. [Cc, Kc, 1] is the one trustworthy sign
 * of weights converted for MLX, whose norms already have 1 added (section 3.1, trap 2). */
static assay_status bind_conv(const struct binder *binder, const char *prefix, int64_t channels,
                              struct assay_tensor *view)
{
    const struct stored_tensor *entry = NULL;
    const int64_t taps = binder->config->conv_taps;
    const int64_t expected[3] = {channels, 1, taps};
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%slinear_attn.conv1d.weight", prefix);
    ASSAY_TRY(find_entry(binder, name, &entry));
    ASSAY_TRY(check_format(binder, entry, &(struct role){.rank = 1}));
    if (entry->rank == 3 && entry->extent[1] == taps && entry->extent[2] == 1)
        return assay_fail(binder->error, ASSAY_E_UNSUPPORTED, file_of(binder, entry), name,
                          "shape is [%" PRId64 ",%" PRId64 ",1], expected [%" PRId64 ",1,%" PRId64
                          "]: these weights were converted for MLX, where norm weights have 1 "
                          "added already; use the model's original release",
                          entry->extent[0], taps, channels, taps);
    ASSAY_TRY(check_shape(binder, entry, 3, expected));
    *view = assay_tensor_2d((void *)(uintptr_t)entry->data, entry->dtype, channels, taps);
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
        MATRIX("linear_attn.in_proj_qkv.weight", &weights->in_proj_qkv, channels, hidden),
        MATRIX("linear_attn.in_proj_z.weight", &weights->in_proj_z, value_rows, hidden),
        MATRIX("linear_attn.in_proj_b.weight", &weights->in_proj_b, value_heads, hidden),
        MATRIX("linear_attn.in_proj_a.weight", &weights->in_proj_a, value_heads, hidden),
        VECTOR_OR_F32("linear_attn.A_log", &weights->a_log, value_heads),
        VECTOR("linear_attn.dt_bias", &weights->dt_bias, value_heads),
        VECTOR_OR_F32("linear_attn.norm.weight", &weights->norm, c->linear_value_dim),
        MATRIX("linear_attn.out_proj.weight", &weights->out_proj, hidden, value_rows),
    };

    ASSAY_TRY(bind_conv(binder, prefix, channels, &weights->conv));
    return BIND(binder, prefix, roles);
}

static assay_status bind_mlp(const struct binder *binder, const char *prefix, const char *part,
                             int64_t inner, struct mlp_weights *mlp)
{
    const int64_t hidden = binder->config->hidden_size;
    const struct role roles[] = {
        MATRIX("gate_proj.weight", &mlp->gate_proj, inner, hidden),
        MATRIX("up_proj.weight", &mlp->up_proj, inner, hidden),
        MATRIX("down_proj.weight", &mlp->down_proj, hidden, inner),
    };
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%s%s", prefix, part);
    return BIND(binder, name, roles);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A tensor whose name begins so. */
static bool has_any(const struct binder *binder, const char *prefix, const char *part)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%s%s", prefix, part);
    const int64_t first = weight_store_lower_bound(binder->store, name);
    return first < binder->store->num_tensors &&
           starts_with(binder->store->tensors[first].name, name);
}

/* Section 3.3: the fused banks, whose names have a suffix in some exports. */
static assay_status bind_banks(const struct binder *binder, const char *prefix,
                               struct moe_weights *moe)
{
    const struct assay_model_config *c = binder->config;
    const int64_t experts = c->num_experts, hidden = c->hidden_size, inner = c->expert_size;
    const bool is_long = has_any(binder, prefix, "mlp.experts.gate_up_proj.weight");
    const struct role roles[] = {
        BANK(is_long ? "mlp.experts.gate_up_proj.weight" : "mlp.experts.gate_up_proj",
             &moe->gate_up, experts, 2 * inner, hidden),
        BANK(is_long ? "mlp.experts.down_proj.weight" : "mlp.experts.down_proj", &moe->down,
             experts, hidden, inner),
    };

    ASSAY_TRY(BIND(binder, prefix, roles));
    if ((moe->gate_up.format == ASSAY_WEIGHT_BF16) == (moe->down.format == ASSAY_WEIGHT_BF16))
        return ASSAY_OK;
    return assay_fail(binder->error, ASSAY_E_UNSUPPORTED, tensor_list_name(binder->store), prefix,
                      "%smlp.experts has gate_up_proj in %s and down_proj in %s, expected both in "
                      "bf16 or both in grouped formats: convert the model by another recipe",
                      prefix, assay_weight_format_name(moe->gate_up.format),
                      assay_weight_format_name(moe->down.format));
}

/* The other form, a tensor for each expert and matrix: of safetensors the store has joined them, so
 * they are those of an .assay folder. Checked only, no view of them is a bank. */
static assay_status check_experts(const struct binder *binder, const char *prefix)
{
    struct mlp_weights expert;
    char part[64];

    for (int64_t e = 0; e < binder->config->num_experts; e++) {
        snprintf(part, sizeof part, "mlp.experts.%" PRId64 ".", e);
        ASSAY_TRY(bind_mlp(binder, prefix, part, binder->config->expert_size, &expert));
    }
    return ASSAY_OK;
}

/* is_run: the layer is one that passes use. */
static assay_status bind_moe(const struct binder *binder, const char *prefix, bool is_run,
                             struct moe_weights *moe)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        MATRIX("mlp.gate.weight", &moe->router, c->num_experts, c->hidden_size),
        MATRIX("mlp.shared_expert_gate.weight", &moe->shared_gate, 1, c->hidden_size),
    };

    ASSAY_TRY(BIND(binder, prefix, roles));
    if (has_any(binder, prefix, "mlp.experts.gate_up_proj") ||
        !has_any(binder, prefix, "mlp.experts.0."))
        return bind_banks(binder, prefix, moe);
    if (is_run)
        return assay_fail(binder->error, ASSAY_E_UNSUPPORTED, tensor_list_name(binder->store),
                          prefix,
                          "the layer's experts are stored one by one (%smlp.experts.0. and on), "
                          "expected the banks mlp.experts.gate_up_proj and mlp.experts.down_proj; "
                          "convert the model again from its release",
                          prefix);
    return check_experts(binder, prefix);
}

static assay_status bind_layer(const struct binder *binder, const char *prefix,
                               enum assay_layer_kind kind, bool is_run, struct layer_weights *layer)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        VECTOR("input_layernorm.weight", &layer->input_norm, c->hidden_size),
        VECTOR("post_attention_layernorm.weight", &layer->post_attention_norm, c->hidden_size),
    };

    layer->kind = kind;
    ASSAY_TRY(BIND(binder, prefix, roles));
    if (c->is_moe)
        ASSAY_TRY(bind_moe(binder, prefix, is_run, &layer->moe));
    ASSAY_TRY(bind_mlp(binder, prefix, c->is_moe ? "mlp.shared_expert." : "mlp.",
                       c->is_moe ? c->shared_expert_size : c->intermediate_size, &layer->mlp));
    if (kind == ASSAY_LAYER_FULL)
        return bind_attention(binder, prefix, &layer->mixer.attention);
    return bind_gdn(binder, prefix, &layer->mixer.gdn);
}

static bool same_plane(const struct assay_tensor *a, const struct assay_tensor *b)
{
    return a->data == NULL || b->data == NULL ||
           memcmp(a->data, b->data, assay_tensor_span(a)) == 0;
}

/* Of matrices of one shape. */
static bool same_bytes(const struct assay_weights *a, const struct assay_weights *b)
{
    return a->format == b->format && same_plane(&a->base, &b->base) &&
           same_plane(&a->high, &b->high) && same_plane(&a->scales, &b->scales);
}

/* Section 2.3. A head of its own beside a declared tie must be a copy of the embedding, or the two
 * statements contradict each other. */
static assay_status bind_head(const struct binder *binder, const char *name,
                              struct model_weights *weights)
{
    const struct assay_model_config *c = binder->config;
    const struct role roles[] = {
        MATRIX("", &weights->lm_head, c->vocab_size, c->hidden_size),
    };

    if (weight_store_find(binder->store, name) < 0 && !c->tie_embeddings)
        return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->store), name,
                          "the tensor is missing, and config.json does not tie it to the "
                          "embedding; fetch all weight files, or set tie_word_embeddings to true "
                          "if the model was trained so");
    if (weight_store_find(binder->store, name) >= 0) {
        ASSAY_TRY(BIND(binder, name, roles));
        if (c->tie_embeddings && !same_bytes(&weights->lm_head, &weights->embed))
            return assay_fail(binder->error, ASSAY_E_CORRUPT, tensor_list_name(binder->store), name,
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
        MATRIX("embed_tokens.weight", &weights->embed, c->vocab_size, c->hidden_size),
        VECTOR("norm.weight", &weights->final_norm, c->hidden_size),
    };
    char prefix[NAME_SIZE];

    ASSAY_TRY(BIND(binder, variant->text, roles));
    ASSAY_TRY(bind_head(binder, variant->head, weights));
    for (int64_t i = 0; i < c->num_layers; i++) {
        snprintf(prefix, sizeof prefix, "%slayers.%" PRId64 ".", variant->text, i);
        ASSAY_TRY(bind_layer(binder, prefix, c->layers[i], true, &weights->layers[i]));
    }
    return ASSAY_OK;
}

/* Section 3.4. Whether there is an MTP block is decided by the tensors: text-only saves drop it
 * and keep the config key. This version checks the block and does not use it. */
static assay_status check_mtp(const struct binder *binder, int64_t *num_layers)
{
    static const char *const prefixes[] = {"mtp.", "model.mtp.", "language_model.mtp."};
    const int64_t hidden = binder->config->hidden_size;
    struct assay_tensor view;
    struct assay_weights matrix;
    struct layer_weights layer;
    const struct role roles[] = {
        VECTOR("pre_fc_norm_embedding.weight", &view, hidden),
        VECTOR("pre_fc_norm_hidden.weight", &view, hidden),
        MATRIX("fc.weight", &matrix, hidden, 2 * hidden),
        VECTOR("norm.weight", &view, hidden),
    };
    char name[NAME_SIZE];

    *num_layers = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        int64_t first = weight_store_lower_bound(binder->store, prefixes[i]);
        if (first == binder->store->num_tensors ||
            !starts_with(binder->store->tensors[first].name, prefixes[i]))
            continue;
        ASSAY_TRY(BIND(binder, prefixes[i], roles));
        snprintf(name, sizeof name, "%slayers.0.", prefixes[i]);
        ASSAY_TRY(bind_layer(binder, name, ASSAY_LAYER_FULL, false, &layer));
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
    const struct weight_store *store = binder->store;

    model->tensors = assay_alloc_zero((size_t)store->num_tensors, sizeof *model->tensors);
    if (model->tensors == NULL)
        return assay_fail(binder->error, ASSAY_E_MEMORY, store->path, "",
                          "no memory for the list of tensors");
    for (int64_t i = 0; i < store->num_tensors; i++) {
        const struct stored_tensor *entry = &store->tensors[i];
        if (binder->used[i])
            model->tensors[model->num_tensors++] = i;
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
        return assay_fail(binder->error, ASSAY_E_MEMORY, model->store.path, "",
                          "no memory for the list of layers");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        snprintf(name, sizeof name, "%sembed_tokens.weight", variants[i].text);
        if (weight_store_find(binder->store, name) < 0)
            continue;
        ASSAY_TRY(bind_text(binder, &variants[i], weights));
        ASSAY_TRY(check_mtp(binder, &model->config.num_mtp_layers));
        return list_tensors(binder, model);
    }
    return assay_fail(binder->error, ASSAY_E_NOT_FOUND, tensor_list_name(binder->store),
                      "embed_tokens.weight",
                      "no tensor of this name under model.language_model., model. or "
                      "language_model.model.; are these the weights of a qwen3_5 text model?");
}

assay_status model_bind(assay_model *model, struct assay_error *error)
{
    struct binder binder = {.config = &model->config,
                            .store = &model->store,
                            .rows_only = model->rows_only,
                            .error = error};

    model->weights.final_norms = model->store.final_norms;
    binder.used = assay_alloc_zero((size_t)model->store.num_tensors, sizeof *binder.used);
    if (binder.used == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, model->store.path, "",
                          "no memory to bind tensors");
    assay_status status = bind_all(&binder, model);
    assay_free(binder.used);
    return status;
}
