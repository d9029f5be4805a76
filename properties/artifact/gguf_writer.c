/* SPDX-License-Identifier: MIT
 *
 * Models to GGUF files: see gguf_writer.h.
 */
#include "gguf_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "oracle_formats.h"
#include "words.h"

enum { TYPE_U32 = 4, TYPE_F32 = 6, TYPE_STRING = 8, TYPE_ARRAY = 9, TYPE_I32 = 5 };
enum { TENSOR_F32 = 0, TENSOR_F16 = 1, TENSOR_BF16 = 30, DEFAULT_ALIGNMENT = 32 };

const char *gguf_fault_meaning(enum gguf_fault fault)
{
    static const char *const meanings[] = {
#define GGUF_FAULT_MEANING(enumerator, meaning) meaning,
        GGUF_FAULT_TABLE(GGUF_FAULT_MEANING)
#undef GGUF_FAULT_MEANING
    };
    return meanings[fault];
}

/* ---- transforms ------------------------------------------------------------------------------ */

enum part {
    MATRIX,
    BANK,
    ROUTER,
    VECTOR,
    OFFSET_NORM,
    GATED_NORM,
    QKV,
    VALUE_ROWS,
    HEAD_ROWS,
    DECAY,
    BIAS,
    CONV,
    OUT
};

static const struct {
    const char *suffix, *gguf;
    enum part part;
} names[] = {
    {"input_layernorm.weight", "attn_norm.weight", OFFSET_NORM},
    {"post_attention_layernorm.weight", "post_attention_norm.weight", OFFSET_NORM},
    {"mlp.gate.weight", "ffn_gate_inp.weight", ROUTER},
    {"mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight", BANK},
    {"mlp.experts.down_proj", "ffn_down_exps.weight", BANK},
    {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight", ROUTER},
    {"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight", MATRIX},
    {"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight", MATRIX},
    {"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight", MATRIX},
    {"mlp.gate_proj.weight", "ffn_gate.weight", MATRIX},
    {"mlp.up_proj.weight", "ffn_up.weight", MATRIX},
    {"mlp.down_proj.weight", "ffn_down.weight", MATRIX},
    {"self_attn.q_proj.weight", "attn_q.weight", MATRIX},
    {"self_attn.k_proj.weight", "attn_k.weight", MATRIX},
    {"self_attn.v_proj.weight", "attn_v.weight", MATRIX},
    {"self_attn.o_proj.weight", "attn_output.weight", MATRIX},
    {"self_attn.q_norm.weight", "attn_q_norm.weight", OFFSET_NORM},
    {"self_attn.k_norm.weight", "attn_k_norm.weight", OFFSET_NORM},
    {"linear_attn.in_proj_qkv.weight", "attn_qkv.weight", QKV},
    {"linear_attn.in_proj_z.weight", "attn_gate.weight", VALUE_ROWS},
    {"linear_attn.in_proj_b.weight", "ssm_beta.weight", HEAD_ROWS},
    {"linear_attn.in_proj_a.weight", "ssm_alpha.weight", HEAD_ROWS},
    {"linear_attn.A_log", "ssm_a", DECAY},
    {"linear_attn.dt_bias", "ssm_dt.bias", BIAS},
    {"linear_attn.conv1d.weight", "ssm_conv1d.weight", CONV},
    {"linear_attn.norm.weight", "ssm_norm.weight", GATED_NORM},
    {"linear_attn.out_proj.weight", "ssm_out.weight", OUT},
};

static const struct {
    const char *name, *gguf;
    enum part part;
} others[] = {
    {"model.embed_tokens.weight", "token_embd.weight", MATRIX},
    {"lm_head.weight", "output.weight", MATRIX},
    {"model.norm.weight", "output_norm.weight", OFFSET_NORM},
    {"mtp.fc.weight", "nextn.eh_proj.weight", MATRIX},
    {"mtp.pre_fc_norm_embedding.weight", "nextn.enorm.weight", OFFSET_NORM},
    {"mtp.pre_fc_norm_hidden.weight", "nextn.hnorm.weight", OFFSET_NORM},
    {"mtp.norm.weight", "nextn.shared_head_norm.weight", OFFSET_NORM},
};

struct writer {
    const struct assay_model_config *config;
    const struct gguf_style *style;
    struct gguf_image *image;
    FILE *stream;
    size_t room; /* for fields */
    const char *architecture;
    int num_keys;
    float *values[GGUF_MAX_WRITTEN]; /* of image->tensors */
};

/* Heads of `run` values, `outer` times: the one of key head g and number j goes to j * Hk + g. */
static void tile(const struct writer *writer, float *values, int64_t outer, int64_t run)
{
    const int64_t keys = writer->config->linear_key_heads;
    const int64_t count = writer->config->linear_value_heads, ratio = count / keys;
    const enum gguf_fault fault = writer->style->fault;
    const size_t bytes = (size_t)(count * run) * sizeof *values;
    float *copy = malloc(bytes);

    cr_assert(copy != NULL);
    for (int64_t o = 0; o < outer && !writer->style->is_next && fault != GGUF_FAULT_NO_TILE; o++) {
        float *heads = values + o * count * run;
        memcpy(copy, heads, bytes);
        for (int64_t g = 0; g < keys; g++)
            for (int64_t j = 0; j < ratio; j++) {
                const int64_t grouped = g * ratio + j, tiled = j * keys + g;
                const bool backwards = fault == GGUF_FAULT_TILE_BACKWARDS;
                memcpy(heads + (backwards ? grouped : tiled) * run,
                       copy + (backwards ? tiled : grouped) * run, (size_t)run * sizeof *values);
            }
    }
    free(copy);
}

static void add_to_all(float *values, int64_t count, float term)
{
    for (int64_t i = 0; i < count; i++)
        values[i] += term;
}

static void decay(const struct writer *writer, float *values, int64_t count)
{
    const enum gguf_fault fault = writer->style->fault;

    if (fault != GGUF_FAULT_TILE_DECAY_NOT)
        tile(writer, values, 1, 1);
    for (int64_t i = 0; i < count && fault != GGUF_FAULT_DECAY_RAW; i++)
        values[i] = fault == GGUF_FAULT_DECAY_POSITIVE ? expf(values[i]) : -expf(values[i]);
}

static void reverse_taps(float *values, int64_t rows, int64_t taps)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < taps / 2; t++) {
            const float kept = values[r * taps + t];
            values[r * taps + t] = values[r * taps + taps - 1 - t];
            values[r * taps + taps - 1 - t] = kept;
        }
}

/* Queries of all heads, then gates of all heads. */
static void halve(const struct writer *writer, float *values, int64_t columns)
{
    const int64_t heads = writer->config->num_heads, dim = writer->config->head_dim;
    const size_t run = (size_t)(dim * columns) * sizeof *values;
    float *copy = malloc(2 * (size_t)heads * run);

    cr_assert(copy != NULL);
    memcpy(copy, values, 2 * (size_t)heads * run);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t half = 0; half < 2; half++)
            memcpy(values + (half * heads + h) * dim * columns,
                   copy + (2 * h + half) * dim * columns, run);
    free(copy);
}

static void transform(const struct writer *writer, enum part part, const char *gguf, float *values,
                      int64_t rows, int64_t columns)
{
    const struct assay_model_config *c = writer->config;
    const enum gguf_fault fault = writer->style->fault;
    const int64_t key_rows = 2 * c->linear_key_heads * c->linear_key_dim;
    const int64_t dv = c->linear_value_dim;

    if (part == OFFSET_NORM && fault != GGUF_FAULT_NORM_NEVER)
        add_to_all(values, rows * columns, fault == GGUF_FAULT_NORM_TWICE ? 2 : 1);
    else if (part == GATED_NORM && fault == GGUF_FAULT_GATED_NORM)
        add_to_all(values, rows * columns, 1);
    else if (part == QKV || (part == CONV && fault != GGUF_FAULT_TILE_CONV_NOT))
        tile(writer, values + key_rows * columns, 1, dv * columns);
    else if (part == VALUE_ROWS)
        tile(writer, values, 1, dv * columns);
    else if (part == HEAD_ROWS)
        tile(writer, values, 1, columns);
    else if (part == BIAS)
        tile(writer, values, 1, 1);
    else if (part == DECAY)
        decay(writer, values, columns);
    else if (part == OUT && fault != GGUF_FAULT_TILE_OUT_ROWS)
        tile(writer, values, rows, dv);
    else if (part == OUT && rows % c->linear_value_heads == 0)
        tile(writer, values, 1, rows / c->linear_value_heads * columns);
    if (part == QKV && fault == GGUF_FAULT_TILE_KEYS)
        for (int64_t i = 0; i + columns < key_rows * columns / 2; i++)
            values[i] = values[i + columns];
    if (part == CONV && fault == GGUF_FAULT_CONV_REVERSED)
        reverse_taps(values, rows, columns);
    if (fault == GGUF_FAULT_HALVES && strcmp(gguf, "attn_q.weight") == 0)
        halve(writer, values, columns);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void put(struct writer *writer, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 0xff), writer->stream);
}

static void put_field(struct writer *writer, enum gguf_field_kind kind, uint64_t value, int bytes)
{
    struct gguf_image *image = writer->image;

    if (image->num_fields == writer->room) {
        writer->room = writer->room > 0 ? 2 * writer->room : 256;
        image->fields = realloc(image->fields, writer->room * sizeof *image->fields);
        cr_assert(image->fields != NULL);
    }
    image->fields[image->num_fields++] =
        (struct gguf_field){kind, (size_t)ftello(writer->stream), (size_t)bytes};
    put(writer, value, bytes);
}

static void put_text(struct writer *writer, const char *text)
{
    put_field(writer, GGUF_FIELD_LENGTH, strlen(text), 8);
    fputs(text, writer->stream);
}

static void put_key(struct writer *writer, const char *key, uint32_t type)
{
    writer->num_keys++;
    put_text(writer, key);
    put_field(writer, GGUF_FIELD_TYPE, type, 4);
}

static void put_u32(struct writer *writer, const char *key, int64_t value)
{
    char name[96];

    snprintf(name, sizeof name, "%s.%s", writer->architecture, key);
    put_key(writer, name, TYPE_U32);
    put(writer, (uint64_t)value, 4);
}

static void put_f32(struct writer *writer, const char *key, double value)
{
    const float narrow = (float)value;
    char name[96];
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    snprintf(name, sizeof name, "%s.%s", writer->architecture, key);
    put_key(writer, name, TYPE_F32);
    put(writer, bits, 4);
}

static void put_sections(struct writer *writer)
{
    char name[96];

    snprintf(name, sizeof name, "%s.rope.dimension_sections", writer->architecture);
    put_key(writer, name, TYPE_ARRAY);
    put_field(writer, GGUF_FIELD_TYPE, TYPE_I32, 4);
    put_field(writer, GGUF_FIELD_COUNT, 4, 8);
    for (int i = 0; i < 4; i++)
        put(writer, i < 3 ? (uint64_t)writer->config->mrope_section[i] : 0, 4);
}

static void put_experts(struct writer *writer)
{
    const struct assay_model_config *c = writer->config;
    const bool too_many = writer->style->fault == GGUF_FAULT_USED_COUNT;

    put_u32(writer, "expert_count", c->num_experts);
    put_u32(writer, "expert_used_count", too_many ? c->num_experts + 1 : c->experts_per_token);
    put_u32(writer, "expert_feed_forward_length", c->expert_size);
    put_u32(writer, "expert_shared_feed_forward_length", c->shared_expert_size);
    if (writer->style->fault == GGUF_FAULT_SIGMOID)
        put_u32(writer, "expert_gating_func", 2);
    if (writer->style->fault == GGUF_FAULT_NOT_ONE)
        put_u32(writer, "expert_weights_norm", 0);
}

static void put_vocabulary(struct writer *writer)
{
    const struct assay_model_config *c = writer->config;

    put_key(writer, "tokenizer.ggml.tokens", TYPE_ARRAY);
    put_field(writer, GGUF_FIELD_TYPE, TYPE_STRING, 4);
    put_field(writer, GGUF_FIELD_COUNT, 3, 8);
    put_text(writer, "a");
    put_text(writer, "");
    put_text(writer, "bcd");
    put_key(writer, "tokenizer.ggml.eos_token_id", TYPE_U32);
    put(writer, (uint64_t)(c->num_stop_tokens > 0 ? c->stop_tokens[0] : 1), 4);
}

/* The stock converter writes rope.dimension_sections where positions have three axes. */
static void put_metadata(struct writer *writer)
{
    const struct assay_model_config *c = writer->config;
    const uint32_t alignment = writer->style->alignment;
    const bool is_next = writer->style->is_next;
    const bool no_mtp = writer->style->fault == GGUF_FAULT_COUNT_MTP;
    const int64_t mtp = is_next ? 0 : c->num_mtp_layers;
    int64_t interval = 1;

    while (c->layers[interval - 1] != ASSAY_LAYER_FULL)
        interval++;
    put_key(writer, "general.architecture", TYPE_STRING);
    put_text(writer, writer->architecture);
    put_key(writer, "general.alignment", TYPE_U32);
    put_field(writer, GGUF_FIELD_ALIGNMENT, alignment > 0 ? alignment : DEFAULT_ALIGNMENT, 4);
    put_u32(writer, "block_count", c->num_layers + (no_mtp ? 0 : mtp));
    put_u32(writer, "nextn_predict_layers", mtp);
    put_u32(writer, "context_length", c->max_positions);
    put_u32(writer, "embedding_length", c->hidden_size);
    put_u32(writer, "feed_forward_length", c->intermediate_size);
    put_u32(writer, "attention.head_count", c->num_heads);
    put_u32(writer, "attention.head_count_kv", c->num_kv_heads);
    put_u32(writer, "attention.key_length", c->head_dim);
    put_u32(writer, "attention.value_length", c->head_dim);
    put_f32(writer, "attention.layer_norm_rms_epsilon", c->rms_eps);
    put_u32(writer, "rope.dimension_count", c->rotary_dim);
    if (!is_next)
        put_sections(writer);
    put_f32(writer, "rope.freq_base", c->rope_theta);
    put_u32(writer, "full_attention_interval", interval);
    put_u32(writer, "ssm.conv_kernel", c->conv_taps);
    put_u32(writer, "ssm.state_size", c->linear_key_dim);
    put_u32(writer, "ssm.group_count", c->linear_key_heads);
    put_u32(writer, "ssm.time_step_rank", c->linear_value_heads);
    put_u32(writer, "ssm.inner_size", c->linear_value_heads * c->linear_value_dim);
    if (writer->style->fault == GGUF_FAULT_SAYS_TILED)
        put_u32(writer, "ssm.v_head_reordered", 1);
    if (c->is_moe)
        put_experts(writer);
    put_vocabulary(writer);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *suffix)
{
    const size_t length = strlen(text), wanted = strlen(suffix);
    return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

static enum part find_name(const struct writer *writer, const char *name, char gguf[64])
{
    const char *layer = strstr(name, "layers.");
    const long main_layers = (long)writer->config->num_layers;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0) {
            if (strncmp(others[i].gguf, "nextn.", 6) == 0)
                snprintf(gguf, 64, "blk.%ld.%s", main_layers, others[i].gguf);
            else
                snprintf(gguf, 64, "%s", others[i].gguf);
            return others[i].part;
        }
    cr_assert(layer != NULL, "%s", name);
    const long index = strncmp(name, "mtp.", 4) == 0 ? main_layers : strtol(layer + 7, NULL, 10);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ends_in(name, names[i].suffix)) {
            const char *stem = names[i].gguf;
            if (writer->style->fault == GGUF_FAULT_GATE_UP && strstr(stem, "ffn_gate") != NULL)
                stem = "ffn_up.weight";
            else if (writer->style->fault == GGUF_FAULT_GATE_UP && strstr(stem, "ffn_up") != NULL)
                stem = "ffn_gate.weight";
            snprintf(gguf, 64, "blk.%ld.%s", index, stem);
            return names[i].part;
        }
    cr_assert(false, "%s has no name in GGUF", name);
    return MATRIX;
}

/* ---- tensors of the file --------------------------------------------------------------------- */

static struct gguf_written *append(struct writer *writer, const char *name, uint32_t type,
                                   float *values)
{
    struct gguf_image *image = writer->image;

    cr_assert(image->num_tensors < GGUF_MAX_WRITTEN);
    writer->values[image->num_tensors] = values;
    struct gguf_written *written = &image->tensors[image->num_tensors++];
    *written = (struct gguf_written){.type = type, .rank = 1, .ne = {1, 1, 1, 1}};
    snprintf(written->name, sizeof written->name, "%s", name);
    return written;
}

static uint64_t count_of(const struct gguf_written *t)
{
    return t->ne[0] * t->ne[1] * t->ne[2];
}

/* The tensor `suffix` of the layer that `name` is of; the caller frees it. */
static float *read_values(const assay_model *model, const char *name, const char *suffix,
                          struct assay_stored *stored)
{
    const char *layer = strstr(name, "layers.");
    char other[128];

    if (suffix != NULL)
        snprintf(other, sizeof other, "%.*s%s", (int)(strchr(layer + 7, '.') + 1 - name), name,
                 suffix);
    const int64_t index = assay_model_find(model, suffix != NULL ? other : name);
    cr_assert(assay_model_stored_at(model, index, stored), "%s", name);
    float *values = calloc((size_t)(stored->rows * stored->columns), sizeof *values);
    cr_assert(values != NULL);
    for (int64_t row = 0; row < stored->rows; row++)
        cr_assert(assay_model_read_row(model, index, row, values + row * stored->columns, NULL) ==
                  ASSAY_OK);
    return values;
}

/* Groups of `run` values of each of `count` experts, from one array to another. */
static void copy_experts(float *to, int64_t to_step, const float *from, int64_t from_step,
                         int64_t run, int64_t count)
{
    for (int64_t e = 0; e < count; e++)
        memcpy(to + e * to_step, from + e * from_step, (size_t)run * sizeof *to);
}

static void reverse_experts(float *values, int64_t experts, int64_t size)
{
    float *copy = malloc((size_t)(experts * size) * sizeof *copy);

    cr_assert(copy != NULL);
    for (int64_t e = 0; e < experts; e++)
        memcpy(copy + (experts - 1 - e) * size, values + e * size, (size_t)size * sizeof *copy);
    memcpy(values, copy, (size_t)(experts * size) * sizeof *copy);
    free(copy);
}

/* Within each expert: the first gate row, the first up row, the second gate row and so on. */
static void pair_rows(float *values, int64_t experts, int64_t rows, int64_t columns)
{
    float *copy = malloc((size_t)(rows * columns) * sizeof *copy);

    cr_assert(copy != NULL);
    for (int64_t e = 0; e < experts; e++, values += rows * columns) {
        memcpy(copy, values, (size_t)(rows * columns) * sizeof *copy);
        for (int64_t row = 0; row < rows; row++)
            memcpy(values + row * columns, copy + (row / 2 + row % 2 * (rows / 2)) * columns,
                   (size_t)columns * sizeof *copy);
    }
    free(copy);
}

static void append_bank(struct writer *writer, const char *name, uint32_t type, float *values,
                        int64_t rows, int64_t columns)
{
    const int64_t experts = writer->config->num_experts;
    const bool wrong = writer->style->fault == GGUF_FAULT_EXPERT_EXTENTS;
    struct gguf_written *t = append(writer, name, type, values);

    t->rank = 3;
    t->ne[0] = (uint64_t)columns;
    t->ne[1] = (uint64_t)(wrong ? experts : rows);
    t->ne[2] = (uint64_t)(wrong ? rows : experts);
}

/* A bank of gate and one of up, of one of both; values is taken. */
static void append_gate_up(struct writer *writer, const char *fused, float *values)
{
    const struct assay_model_config *c = writer->config;
    const struct gguf_style *style = writer->style;
    const int64_t experts = c->num_experts, half = c->expert_size * c->hidden_size;
    const size_t bytes = (size_t)(experts * half) * sizeof(float);
    const bool exchanged = style->fault == GGUF_FAULT_EXPERT_GATE_UP;
    float *gate = malloc(bytes), *up = malloc(bytes);
    char name[64];

    cr_assert(gate != NULL && up != NULL);
    copy_experts(gate, half, values + (exchanged ? half : 0), 2 * half, half, experts);
    copy_experts(up, half, values + (exchanged ? 0 : half), 2 * half, half, experts);
    if (style->fused_experts) {
        copy_experts(values, 2 * half, gate, half, half, experts);
        copy_experts(values + half, 2 * half, up, half, half, experts);
        free(gate);
        free(up);
        append_bank(writer, fused, style->matrix_type, values, 2 * c->expert_size, c->hidden_size);
        return;
    }
    free(values);
    const int stem = (int)(strstr(fused, "ffn_") - fused);
    snprintf(name, sizeof name, "%.*sffn_gate_exps.weight", stem, fused);
    append_bank(writer, name, style->matrix_type, gate, c->expert_size, c->hidden_size);
    snprintf(name, sizeof name, "%.*sffn_up_exps.weight", stem, fused);
    if (style->fault == GGUF_FAULT_NO_UP_EXPERTS)
        free(up);
    else
        append_bank(writer, name, style->up_type != 0 ? style->up_type : style->matrix_type, up,
                    c->expert_size, c->hidden_size);
}

/* `count` runs of rows a key head from each of two tensors, after one another in the head's block.
 */
static void put_blocks_of(const struct writer *writer, float *to, const float *const from[],
                          const int64_t run[], int num_parts)
{
    const int64_t keys = writer->config->linear_key_heads;
    const bool flat = writer->style->fault == GGUF_FAULT_BLOCKS_FLAT;

    for (int p = 0; p < num_parts && flat; to += keys * run[p], p++)
        memcpy(to, from[p], (size_t)(keys * run[p]) * sizeof *to);
    for (int64_t g = 0; g < keys && !flat; g++)
        for (int p = 0; p < num_parts; to += run[p], p++)
            memcpy(to, from[p] + g * run[p], (size_t)run[p] * sizeof *to);
}

/* b and a, or q, k, v and z, in blocks of a key head (3.5). */
static void append_packed(struct writer *writer, const assay_model *model, const char *name,
                          bool is_input)
{
    const struct assay_model_config *c = writer->config;
    const int64_t keys = c->linear_key_heads, ratio = c->linear_value_heads / keys;
    const int64_t hidden = c->hidden_size, dk = c->linear_key_dim * hidden;
    const int64_t heads = is_input ? ratio * c->linear_value_dim * hidden : ratio * hidden;
    const int64_t block = is_input ? 2 * dk + 2 * heads : 2 * heads;
    struct assay_stored stored;
    char gguf[64];

    float *first = read_values(
        model, name, is_input ? "linear_attn.in_proj_qkv.weight" : "linear_attn.in_proj_b.weight",
        &stored);
    float *last = read_values(
        model, name, is_input ? "linear_attn.in_proj_z.weight" : "linear_attn.in_proj_a.weight",
        &stored);
    float *values = malloc((size_t)(keys * block) * sizeof *values);
    cr_assert(values != NULL);
    const float *const input[] = {first, first + keys * dk, first + 2 * keys * dk, last};
    const float *const rates[] = {first, last};
    put_blocks_of(writer, values, is_input ? input : rates,
                  is_input ? (const int64_t[]){dk, dk, heads, heads}
                           : (const int64_t[]){heads, heads},
                  is_input ? 4 : 2);
    free(first);
    free(last);
    snprintf(gguf, sizeof gguf, "blk.%ld.%s", strtol(strstr(name, "layers.") + 7, NULL, 10),
             is_input ? "ssm_in.weight" : "ssm_ba.weight");
    struct gguf_written *t = append(writer, gguf, writer->style->matrix_type, values);
    t->rank = 2;
    t->ne[0] = (uint64_t)hidden;
    t->ne[1] = (uint64_t)(keys * block / hidden);
}

/* True when the tensor is part of another one, or left out. */
static bool is_elsewhere(struct writer *writer, const assay_model *model, const char *name)
{
    const struct gguf_style *style = writer->style;

    if (!style->is_next)
        return false;
    if (ends_in(name, "in_proj_b.weight"))
        append_packed(writer, model, name, false);
    if (style->is_old_next && ends_in(name, "in_proj_qkv.weight"))
        append_packed(writer, model, name, true);
    return strncmp(name, "mtp.", 4) == 0 || ends_in(name, "in_proj_b.weight") ||
           ends_in(name, "in_proj_a.weight") ||
           (style->is_old_next &&
            (ends_in(name, "in_proj_qkv.weight") || ends_in(name, "in_proj_z.weight")));
}

/* The model's tensor, transformed, as one of the file, or as two. */
static void append_tensor(struct writer *writer, const assay_model *model, int64_t index)
{
    const enum gguf_fault fault = writer->style->fault;
    const int64_t experts = writer->config->num_experts;
    struct assay_stored stored;
    char name[64];

    cr_assert(assay_model_stored_at(model, index, &stored));
    if (is_elsewhere(writer, model, stored.name))
        return;
    const enum part part = find_name(writer, stored.name, name);
    float *values = read_values(model, stored.name, NULL, &stored);
    const char *stem = strrchr(name, '.') - 1;
    while (stem > name && stem[-1] != '.')
        stem--;
    transform(writer, part, stem, values, stored.rows, stored.columns);
    if (part == BANK && fault == GGUF_FAULT_EXPERTS_REVERSED)
        reverse_experts(values, experts, stored.rows / experts * stored.columns);
    if (part == BANK && ends_in(stored.name, "gate_up_proj")) {
        if (fault == GGUF_FAULT_EXPERT_PAIRS)
            pair_rows(values, experts, stored.rows / experts, stored.columns);
        append_gate_up(writer, name, values);
        return;
    }
    if (part == BANK) {
        append_bank(writer, name, writer->style->matrix_type, values, stored.rows / experts,
                    stored.columns);
        return;
    }
    const bool is_matrix = stored.rank == 2 && part != ROUTER;
    struct gguf_written *t =
        append(writer, name, is_matrix ? writer->style->matrix_type : TENSOR_F32, values);
    const bool swap = fault == GGUF_FAULT_SWAP_EXTENTS;
    t->rank = stored.rank == 1 || (part == ROUTER && stored.rows == 1) ? 1 : 2;
    t->ne[0] = (uint64_t)(swap && t->rank == 2 ? stored.rows : stored.columns);
    t->ne[1] = (uint64_t)(swap && t->rank == 2 ? stored.columns : stored.rows);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Any bytes are valid blocks but for scales, which are kept finite and moderate. */
static void put_blocks(struct writer *writer, uint32_t type, uint64_t count)
{
    const struct oracle_gguf_block block = oracle_gguf_block(type);
    static uint64_t state = 1;

    for (uint64_t b = 0; b < count / (uint64_t)block.values; b++)
        for (int i = 0; i < block.bytes; i++) {
            const bool last_scale = type == 14 && i == 209, scale = type != 14 && i == 1;
            const bool second = (type == 12 || type == 13) && i == 3;
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            unsigned byte = (unsigned)(state >> 40) & 0xff;
            if (last_scale || scale || second)
                byte = 0x20 | (byte & 0x8f); /* binary16 of 2^-7 to 2^-4, either sign */
            if (type == 8 && i >= 2 && byte == 0x80)
                byte = 0x81;
            fputc((int)byte, writer->stream);
        }
}

static void put_values(struct writer *writer, uint32_t type, const float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count && (type == TENSOR_F32 || type == TENSOR_BF16); i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put(writer, type == TENSOR_F32 ? bits : bits >> 16, type == TENSOR_F32 ? 4 : 2);
    }
    for (uint64_t i = 0; i < count && type == TENSOR_F16; i++)
        put(writer, oracle_f16_word(values[i]), 2);
    if (type != TENSOR_F32 && type != TENSOR_F16 && type != TENSOR_BF16)
        put_blocks(writer, type, count);
}

static size_t aligned(size_t at, size_t alignment)
{
    return (at + alignment - 1) / alignment * alignment;
}

static void put_header(struct writer *writer)
{
    fputs("GGUF", writer->stream);
    put_field(writer, GGUF_FIELD_TYPE, 3, 4);
    put_field(writer, GGUF_FIELD_COUNT, (uint64_t)writer->image->num_tensors, 8);
    const off_t place = ftello(writer->stream);
    put_field(writer, GGUF_FIELD_COUNT, 0, 8);
    put_metadata(writer);
    /* How many keys there are is known now. */
    const off_t end = ftello(writer->stream);
    cr_assert(fseeko(writer->stream, place, SEEK_SET) == 0);
    put(writer, (uint64_t)writer->num_keys, 8);
    cr_assert(fseeko(writer->stream, end, SEEK_SET) == 0);
}

static void put_tensor_list(struct writer *writer)
{
    struct gguf_image *image = writer->image;

    for (int i = 0; i < image->num_tensors; i++) {
        const struct gguf_written *t = &image->tensors[i];
        const bool off = writer->style->fault == GGUF_FAULT_MISALIGNED && i > 0;
        put_text(writer, t->name);
        put_field(writer, GGUF_FIELD_RANK, (uint64_t)t->rank, 4);
        for (int d = 0; d < t->rank; d++)
            put_field(writer, GGUF_FIELD_EXTENT, t->ne[d], 8);
        put_field(writer, GGUF_FIELD_TYPE, t->type, 4);
        put_field(writer, GGUF_FIELD_OFFSET, t->at + (off ? 8 : 0), 8);
    }
}

static void put_data(struct writer *writer, size_t alignment)
{
    struct gguf_image *image = writer->image;
    const size_t end = (size_t)ftello(writer->stream);

    image->data = aligned(end, alignment);
    for (size_t at = end; at < image->data; at++)
        fputc(0, writer->stream);
    for (int i = 0; i < image->num_tensors; i++) {
        struct gguf_written *t = &image->tensors[i];
        t->at += image->data;
        while ((size_t)ftello(writer->stream) < t->at)
            fputc(0, writer->stream);
        put_values(writer, t->type, writer->values[i], count_of(t));
    }
}

static const char *architecture_of(const struct assay_model_config *config,
                                   const struct gguf_style *style)
{
    if (!config->is_moe)
        return "qwen35";
    return style->is_next ? "qwen3next" : "qwen35moe";
}

void gguf_write(const assay_model *model, const struct gguf_style *style, struct gguf_image *image)
{
    struct writer writer = {.config = assay_model_config(model), .style = style, .image = image};
    const size_t alignment = style->alignment > 0 ? style->alignment : DEFAULT_ALIGNMENT;
    char *bytes = NULL;
    size_t end = 0;

    memset(image, 0, sizeof *image);
    writer.architecture = architecture_of(writer.config, style);
    writer.stream = open_memstream(&bytes, &image->size);
    cr_assert(writer.stream != NULL);
    for (int64_t i = 0; i < assay_model_num_tensors(model); i++)
        append_tensor(&writer, model, i);
    for (int i = 0; i < image->num_tensors; i++) {
        struct gguf_written *t = &image->tensors[i];
        const struct oracle_gguf_block block = oracle_gguf_block(t->type);
        t->at = aligned(end, alignment); /* from the start of the data until put_data */
        t->bytes = (size_t)count_of(t) / (size_t)block.values * (size_t)block.bytes;
        end = t->at + t->bytes;
    }
    put_header(&writer);
    put_tensor_list(&writer);
    put_data(&writer, alignment);
    for (int i = 0; i < image->num_tensors; i++)
        free(writer.values[i]);
    cr_assert(fclose(writer.stream) == 0);
    image->bytes = (uint8_t *)bytes;
}

void gguf_free(struct gguf_image *image)
{
    free(image->bytes);
    free(image->fields);
    *image = (struct gguf_image){.bytes = NULL};
}
