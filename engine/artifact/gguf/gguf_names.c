/* SPDX-License-Identifier: MIT
 *
 * A GGUF file's tensors under the names of the safetensors release, with the transforms to undo
 * (qwen3_5.md section 8.3). Every tensor of the file must be asked for, as with safetensors: what
 * is left over means that metadata and tensors describe different models.
 */
#include "artifact/gguf/gguf.h"

#include <inttypes.h>
#include <string.h>

#include "formats/gguf_blocks.h"

enum { LAYER_TENSORS = 20, OTHER_TENSORS = 10 };

/* One tensor of the release. */
struct role {
    const char *name, *gguf_name; /* after the layer's prefix */
    const char *other_name;       /* of older files; NULL: none */
    int64_t rows, columns;        /* rows 0: a vector */
    struct gguf_view view;        /* transforms; the listing sets the rest */
    bool is_convolution;          /* [rows, 1, columns] */
    int64_t experts;              /* > 0: a bank [experts, rows, columns] */
    int64_t file_rows;            /* of a fused tensor; 0: rows */
};

#define MATRIX(name, gguf_name, n, k, transform)                    \
    {                                                               \
        name, gguf_name, .rows = n, .columns = k, .view = transform \
    }
/* A bank of the file. */
#define BANK(name, gguf_name, n, k)                                  \
    {                                                                \
        name, gguf_name, .rows = n, .columns = k, .experts = experts \
    }
/* Rows of [all, hidden] from `first` on. */
#define PART(name, gguf_name, n, first)                                              \
    {                                                                                \
        name, gguf_name, .rows = n, .columns = hidden, .view = {.first_row = first}, \
                         .file_rows = all                                            \
    }

int64_t gguf_list_capacity(const struct assay_model_config *config)
{
    return (config->num_layers + config->num_mtp_layers) * LAYER_TENSORS + OTHER_TENSORS;
}

/* Innermost extent `columns`, and `rows` in the others together: a vector may be {n} or {n, 1} or
 * {1, n}, a convolution may keep its axis of 1. A bank has exactly its three extents. */
static bool has_shape(const struct gguf_tensor *tensor, int64_t experts, int64_t rows,
                      int64_t columns)
{
    int64_t others = 1;

    if (experts > 0)
        return tensor->ne[0] == columns && tensor->ne[1] == rows && tensor->ne[2] == experts &&
               tensor->ne[3] == 1;
    for (int i = 1; i < GGUF_MAX_RANK; i++)
        others *= tensor->ne[i]; /* below 2^63: the file's sizes were checked */
    if (rows == 0)
        return (tensor->ne[0] == columns && others == 1) ||
               (tensor->ne[0] == 1 && others == columns);
    return tensor->ne[0] == columns && others == rows;
}

static assay_status refuse_shape(const struct gguf_listing *listing,
                                 const struct gguf_tensor *tensor, const struct role *role)
{
    const int64_t rows = role->file_rows > 0 ? role->file_rows : role->rows;
    char experts[32] = "";

    if (role->experts > 0)
        snprintf(experts, sizeof experts, ", %" PRId64, role->experts);
    return assay_fail(listing->error, ASSAY_E_SHAPE, listing->file->name, tensor->name,
                      "extents are {%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                      "}, the metadata demands {%" PRId64 ", %" PRId64 "%s}",
                      tensor->ne[0], tensor->ne[1], tensor->ne[2], tensor->ne[3], role->columns,
                      rows > 0 ? rows : 1, experts);
}

static uint64_t bytes_of_rows(uint32_t type, int64_t rows, int64_t columns)
{
    const struct gguf_block *block = gguf_block_find(type);
    return (uint64_t)(rows * (columns / block->values * block->bytes));
}

/* second: of a bank whose rows are in two tensors by turns; else NULL. Should their formats differ,
 * the first one's is named. */
static void add(struct gguf_listing *listing, const char *prefix, const struct role *role,
                const struct gguf_tensor *tensor, const struct gguf_tensor *second)
{
    char *name = listing->names + listing->count * GGUF_KEY_SIZE;
    struct stored_tensor *stored = &listing->tensors[listing->count];
    struct gguf_view *view = &listing->views[listing->count];
    const int64_t rows = role->rows > 0 ? role->rows : 1;
    const int64_t experts = role->experts > 0 ? role->experts : 1;

    snprintf(name, GGUF_KEY_SIZE, "%s%s", prefix, role->name);
    *view = role->view;
    view->tensor = tensor - listing->file->tensors;
    view->rows = experts * rows;
    view->columns = role->columns;
    *stored = (struct stored_tensor){
        .name = name,
        .format_name = gguf_block_find(tensor->type)->name,
        .rank = role->rows > 0 ? 2 : 1,
        .extent = {role->rows > 0 ? rows : role->columns, role->rows > 0 ? role->columns : 0},
        .bytes = bytes_of_rows(tensor->type, view->rows, role->columns),
        .dtype = ASSAY_NUM_DTYPES,
        .encoder = ASSAY_NUM_WEIGHT_ENCODERS,
        .view = listing->count};
    if (role->is_convolution || role->experts > 0) {
        stored->rank = 3;
        stored->extent[0] = role->experts > 0 ? experts : rows;
        stored->extent[1] = role->experts > 0 ? rows : 1;
        stored->extent[2] = role->columns;
    }
    if (second != NULL) {
        view->half = rows / 2;
        view->second = second - listing->file->tensors;
        stored->bytes = tensor->bytes + second->bytes;
        listing->used[view->second] = true;
    }
    listing->used[view->tensor] = true;
    listing->count++;
}

static const struct gguf_tensor *find(const struct gguf_listing *listing, const char *gguf_prefix,
                                      const char *suffix)
{
    char name[GGUF_KEY_SIZE];

    snprintf(name, sizeof name, "%s%s", gguf_prefix, suffix);
    return gguf_find(listing->file, name);
}

/* The file's tensor of the role, of its shape. */
static assay_status find_role(struct gguf_listing *listing, const char *gguf_prefix,
                              const struct role *role, const struct gguf_tensor **tensor)
{
    char name[GGUF_KEY_SIZE];

    *tensor = find(listing, gguf_prefix, role->gguf_name);
    if (*tensor == NULL && role->other_name != NULL)
        *tensor = find(listing, gguf_prefix, role->other_name);
    if (*tensor == NULL) {
        snprintf(name, sizeof name, "%s%s", gguf_prefix, role->gguf_name);
        return assay_fail(
            listing->error, ASSAY_E_NOT_FOUND, listing->file->name, name,
            "the tensor is missing; is the file complete, and its layer kinds right?");
    }
    const int64_t rows = role->file_rows > 0 ? role->file_rows : role->rows;
    if (!has_shape(*tensor, role->experts, rows, role->columns))
        return refuse_shape(listing, *tensor, role);
    return ASSAY_OK;
}

static assay_status take_roles(struct gguf_listing *listing, const char *prefix,
                               const char *gguf_prefix, const struct role *roles, size_t num_roles)
{
    const struct gguf_tensor *tensor = NULL;

    for (size_t i = 0; i < num_roles; i++) {
        ASSAY_TRY(find_role(listing, gguf_prefix, &roles[i], &tensor));
        add(listing, prefix, &roles[i], tensor, NULL);
    }
    return ASSAY_OK;
}

#define TAKE(listing, prefix, gguf_prefix, roles) \
    take_roles(listing, prefix, gguf_prefix, roles, sizeof(roles) / sizeof *(roles))

/* Three tensors, or parts of one fused tensor [q and gate | k | v]. */
static assay_status take_attention(struct gguf_listing *listing, const char *prefix,
                                   const char *gguf_prefix)
{
    const struct assay_model_config *c = listing->config;
    const int64_t hidden = c->hidden_size, query = c->num_heads * c->head_dim;
    const int64_t key = c->num_kv_heads * c->head_dim, all = 2 * query + 2 * key;
    const struct role separate[] = {
        {"self_attn.q_proj.weight", "attn_q.weight", .rows = 2 * query, .columns = hidden},
        {"self_attn.k_proj.weight", "attn_k.weight", .rows = key, .columns = hidden},
        {"self_attn.v_proj.weight", "attn_v.weight", .rows = key, .columns = hidden},
    };
    const struct role fused[] = {
        PART("self_attn.q_proj.weight", "attn_qkv.weight", 2 * query, 0),
        PART("self_attn.k_proj.weight", "attn_qkv.weight", key, 2 * query),
        PART("self_attn.v_proj.weight", "attn_qkv.weight", key, 2 * query + key),
    };
    const struct role others[] = {
        {"self_attn.o_proj.weight", "attn_output.weight", .rows = hidden, .columns = query},
        {"self_attn.q_norm.weight", "attn_q_norm.weight", .columns = c->head_dim},
        {"self_attn.k_norm.weight", "attn_k_norm.weight", .columns = c->head_dim},
    };

    if (find(listing, gguf_prefix, "attn_q.weight") != NULL)
        ASSAY_TRY(TAKE(listing, prefix, gguf_prefix, separate));
    else
        ASSAY_TRY(TAKE(listing, prefix, gguf_prefix, fused));
    return TAKE(listing, prefix, gguf_prefix, others);
}

/* What Qwen3-Next packs into blocks of a key head each (section 3.5), and qwen3next files keep so:
 * always b and a (ssm_ba), in older files also q, k, v and z (ssm_in). The converter writes heads
 * in tiled order for the other architectures only (llama.cpp, conversion/qwen.py), which have
 * separate tensors: what tiled heads in such blocks would mean is not known. */
static assay_status take_gdn_blocks(struct gguf_listing *listing, const char *prefix,
                                    const char *gguf_prefix, bool is_input)
{
    const struct assay_model_config *c = listing->config;
    const int64_t hidden = c->hidden_size, keys = c->linear_key_heads, dk = c->linear_key_dim;
    const int64_t ratio = c->linear_value_heads / keys, values = ratio * c->linear_value_dim;
    const int64_t wide = 2 * dk + 2 * values;
    const struct gguf_view qkv = {
        .block_rows = wide,
        .sections = {{0, dk, 0}, {keys * dk, dk, dk}, {2 * keys * dk, values, 2 * dk}}};
    const struct gguf_view z = {.block_rows = wide, .sections = {{0, values, 2 * dk + values}}};
    const struct gguf_view b = {.block_rows = 2 * ratio, .sections = {{0, ratio, 0}}};
    const struct gguf_view a = {.block_rows = 2 * ratio, .sections = {{0, ratio, ratio}}};
    const struct role input[] = {
        {"linear_attn.in_proj_qkv.weight", "ssm_in.weight", .rows = keys * (2 * dk + values),
         .columns = hidden, .view = qkv, .file_rows = keys * wide},
        {"linear_attn.in_proj_z.weight", "ssm_in.weight", .rows = keys * values, .columns = hidden,
         .view = z, .file_rows = keys * wide},
    };
    const struct role heads[] = {
        {"linear_attn.in_proj_b.weight", "ssm_ba.weight", .rows = keys * ratio, .columns = hidden,
         .view = b, .file_rows = 2 * keys * ratio},
        {"linear_attn.in_proj_a.weight", "ssm_ba.weight", .rows = keys * ratio, .columns = hidden,
         .view = a, .file_rows = 2 * keys * ratio},
    };

    if (listing->tiled && keys > 1 && ratio > 1)
        return assay_fail(
            listing->error, ASSAY_E_UNSUPPORTED, listing->file->name,
            is_input ? "ssm_in.weight" : "ssm_ba.weight",
            "blocks of a key head each (%s), in a file whose metadata says that value "
            "heads are in tiled order; expected separate tensors",
            gguf_prefix);
    return is_input ? TAKE(listing, prefix, gguf_prefix, input)
                    : TAKE(listing, prefix, gguf_prefix, heads);
}

static assay_status take_gdn(struct gguf_listing *listing, const char *prefix,
                             const char *gguf_prefix)
{
    const struct assay_model_config *c = listing->config;
    const int64_t hidden = c->hidden_size, heads = c->linear_value_heads;
    const int64_t key_rows = c->linear_key_heads * c->linear_key_dim, dv = c->linear_value_dim;
    const int64_t value_rows = heads * dv, channels = 2 * key_rows + value_rows;
    const struct gguf_view order = {.key_heads = c->linear_key_heads,
                                    .ratio = heads / c->linear_key_heads};
    const int64_t head = listing->tiled ? 1 : 0, wide = listing->tiled ? dv : 0;
    struct gguf_view tail = order, blocks = order, rows = order, entries = order, inner = order;

    tail.tiled_from = 2 * key_rows;
    tail.tile_rows = blocks.tile_rows = inner.tile_columns = wide;
    rows.tile_rows = entries.tile_columns = head;
    struct gguf_view decay = entries;
    decay.is_decay = true;
    const struct role input[] = {
        MATRIX("linear_attn.in_proj_qkv.weight", "attn_qkv.weight", channels, hidden, tail),
        MATRIX("linear_attn.in_proj_z.weight", "attn_gate.weight", value_rows, hidden, blocks),
    };
    const struct role rates[] = {
        MATRIX("linear_attn.in_proj_b.weight", "ssm_beta.weight", heads, hidden, rows),
        MATRIX("linear_attn.in_proj_a.weight", "ssm_alpha.weight", heads, hidden, rows),
    };
    const struct role others[] = {
        MATRIX("linear_attn.out_proj.weight", "ssm_out.weight", hidden, value_rows, inner),
        {"linear_attn.A_log", "ssm_a", "ssm_a.weight", .columns = heads, .view = decay},
        {"linear_attn.dt_bias", "ssm_dt.bias", "ssm_dt", .columns = heads, .view = entries},
        {"linear_attn.conv1d.weight", "ssm_conv1d.weight", .rows = channels,
         .columns = c->conv_taps, .view = tail, .is_convolution = true},
        {"linear_attn.norm.weight", "ssm_norm.weight", .columns = dv},
    };

    if (find(listing, gguf_prefix, "ssm_in.weight") != NULL)
        ASSAY_TRY(take_gdn_blocks(listing, prefix, gguf_prefix, true));
    else
        ASSAY_TRY(TAKE(listing, prefix, gguf_prefix, input));
    if (find(listing, gguf_prefix, "ssm_ba.weight") != NULL)
        ASSAY_TRY(take_gdn_blocks(listing, prefix, gguf_prefix, false));
    else
        ASSAY_TRY(TAKE(listing, prefix, gguf_prefix, rates));
    return TAKE(listing, prefix, gguf_prefix, others);
}

/* Gate and up of all experts: one bank with an expert's gate rows before its up rows, or a bank of
 * each, which become one. */
static assay_status take_gate_up(struct gguf_listing *listing, const char *prefix,
                                 const char *gguf_prefix)
{
    const struct assay_model_config *c = listing->config;
    const int64_t experts = c->num_experts, inner = c->expert_size, hidden = c->hidden_size;
    static const char name[] = "mlp.experts.gate_up_proj";
    const struct role fused[] = {BANK(name, "ffn_gate_up_exps.weight", 2 * inner, hidden)};
    const struct role gate = BANK("", "ffn_gate_exps.weight", inner, hidden);
    const struct role up = BANK("", "ffn_up_exps.weight", inner, hidden);
    const struct gguf_tensor *gates = NULL, *ups = NULL;

    if (find(listing, gguf_prefix, "ffn_gate_up_exps.weight") != NULL)
        return TAKE(listing, prefix, gguf_prefix, fused);
    ASSAY_TRY(find_role(listing, gguf_prefix, &gate, &gates));
    ASSAY_TRY(find_role(listing, gguf_prefix, &up, &ups));
    add(listing, prefix, &fused[0], gates, ups);
    return ASSAY_OK;
}

static assay_status take_mlp(struct gguf_listing *listing, const char *prefix,
                             const char *gguf_prefix)
{
    const struct assay_model_config *c = listing->config;
    const int64_t hidden = c->hidden_size, inner = c->intermediate_size;
    const int64_t experts = c->num_experts, shared = c->shared_expert_size;
    const struct role dense[] = {
        {"mlp.gate_proj.weight", "ffn_gate.weight", .rows = inner, .columns = hidden},
        {"mlp.up_proj.weight", "ffn_up.weight", .rows = inner, .columns = hidden},
        {"mlp.down_proj.weight", "ffn_down.weight", .rows = hidden, .columns = inner},
    };
    const struct role mixture[] = {
        {"mlp.gate.weight", "ffn_gate_inp.weight", .rows = experts, .columns = hidden},
        BANK("mlp.experts.down_proj", "ffn_down_exps.weight", hidden, c->expert_size),
        {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight", .rows = 1,
         .columns = hidden},
        {"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight", .rows = shared,
         .columns = hidden},
        {"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight", .rows = shared,
         .columns = hidden},
        {"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight", .rows = hidden,
         .columns = shared},
    };

    if (!c->is_moe)
        return TAKE(listing, prefix, gguf_prefix, dense);
    ASSAY_TRY(take_gate_up(listing, prefix, gguf_prefix));
    return TAKE(listing, prefix, gguf_prefix, mixture);
}

static assay_status take_layer(struct gguf_listing *listing, const char *prefix, int64_t block,
                               enum assay_layer_kind kind)
{
    const int64_t hidden = listing->config->hidden_size;
    const struct role roles[] = {
        {"input_layernorm.weight", "attn_norm.weight", .columns = hidden},
        {"post_attention_layernorm.weight", "post_attention_norm.weight", .columns = hidden},
    };
    char gguf_prefix[32];

    snprintf(gguf_prefix, sizeof gguf_prefix, "blk.%" PRId64 ".", block);
    ASSAY_TRY(TAKE(listing, prefix, gguf_prefix, roles));
    ASSAY_TRY(take_mlp(listing, prefix, gguf_prefix));
    if (kind == ASSAY_LAYER_FULL)
        return take_attention(listing, prefix, gguf_prefix);
    return take_gdn(listing, prefix, gguf_prefix);
}

/* The block after the last layer. Its own embedding and head, which older producers repeat, are
 * those of the model; its norm may be the model's. */
static assay_status take_mtp(struct gguf_listing *listing)
{
    const int64_t hidden = listing->config->hidden_size, block = listing->config->num_layers;
    const struct role roles[] = {
        {"mtp.fc.weight", "nextn.eh_proj.weight", .rows = hidden, .columns = 2 * hidden},
        {"mtp.pre_fc_norm_embedding.weight", "nextn.enorm.weight", .columns = hidden},
        {"mtp.pre_fc_norm_hidden.weight", "nextn.hnorm.weight", .columns = hidden},
    };
    const struct role norm[] = {
        {"mtp.norm.weight", "nextn.shared_head_norm.weight", .columns = hidden}};
    const struct role fallback[] = {{"mtp.norm.weight", "output_norm.weight", .columns = hidden}};
    static const char *const repeated[] = {"nextn.embed_tokens.weight",
                                           "nextn.shared_head_head.weight"};
    char prefix[32];

    snprintf(prefix, sizeof prefix, "blk.%" PRId64 ".", block);
    ASSAY_TRY(TAKE(listing, "", prefix, roles));
    if (find(listing, prefix, "nextn.shared_head_norm.weight") != NULL)
        ASSAY_TRY(TAKE(listing, "", prefix, norm));
    else
        ASSAY_TRY(TAKE(listing, "", "", fallback));
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        const struct gguf_tensor *tensor = find(listing, prefix, repeated[i]);
        if (tensor != NULL)
            listing->used[tensor - listing->file->tensors] = true;
    }
    return take_layer(listing, "mtp.layers.0.", block, ASSAY_LAYER_FULL);
}

/* Of the vision tower, and tables that follow from the metadata. */
static bool is_skipped(const char *name)
{
    return strncmp(name, "v.", 2) == 0 || strncmp(name, "mm.", 3) == 0 ||
           strncmp(name, "rope_freqs.", 11) == 0;
}

static assay_status check_all_used(const struct gguf_listing *listing)
{
    for (int64_t i = 0; i < listing->file->num_tensors; i++)
        if (!listing->used[i] && !is_skipped(listing->file->tensors[i].name))
            return assay_fail(listing->error, ASSAY_E_UNSUPPORTED, listing->file->name,
                              listing->file->tensors[i].name,
                              "no part of the model that the metadata describes has this tensor");
    return ASSAY_OK;
}

assay_status gguf_list(struct gguf_listing *listing)
{
    const struct assay_model_config *c = listing->config;
    const struct role model[] = {
        {"model.embed_tokens.weight", "token_embd.weight", .rows = c->vocab_size,
         .columns = c->hidden_size},
        {"model.norm.weight", "output_norm.weight", .columns = c->hidden_size},
    };
    const struct role head[] = {
        {"lm_head.weight", "output.weight", .rows = c->vocab_size, .columns = c->hidden_size}};
    char prefix[48];

    ASSAY_TRY(TAKE(listing, "", "", model));
    if (!c->tie_embeddings)
        ASSAY_TRY(TAKE(listing, "", "", head));
    for (int64_t i = 0; i < c->num_layers; i++) {
        snprintf(prefix, sizeof prefix, "model.layers.%" PRId64 ".", i);
        ASSAY_TRY(take_layer(listing, prefix, i, c->layers[i]));
    }
    if (c->num_mtp_layers > 0)
        ASSAY_TRY(take_mtp(listing));
    return check_all_used(listing);
}
