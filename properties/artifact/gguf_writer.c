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
    for (int64_t o = 0; o < outer && fault != GGUF_FAULT_NO_TILE; o++) {
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
    put_text(writer, key);
    put_field(writer, GGUF_FIELD_TYPE, type, 4);
}

static void put_u32(struct writer *writer, const char *key, int64_t value)
{
    char name[96];

    snprintf(name, sizeof name, "qwen35.%s", key);
    put_key(writer, name, TYPE_U32);
    put(writer, (uint64_t)value, 4);
}

static void put_f32(struct writer *writer, const char *key, double value)
{
    const float narrow = (float)value;
    char name[96];
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    snprintf(name, sizeof name, "qwen35.%s", key);
    put_key(writer, name, TYPE_F32);
    put(writer, bits, 4);
}

enum { NUM_KEYS = 23 };

static void put_metadata(struct writer *writer)
{
    const struct assay_model_config *c = writer->config;
    const uint32_t alignment = writer->style->alignment;
    const bool no_mtp = writer->style->fault == GGUF_FAULT_COUNT_MTP;
    int64_t interval = 1;

    while (c->layers[interval - 1] != ASSAY_LAYER_FULL)
        interval++;
    put_key(writer, "general.architecture", TYPE_STRING);
    put_text(writer, "qwen35");
    put_key(writer, "general.alignment", TYPE_U32);
    put_field(writer, GGUF_FIELD_ALIGNMENT, alignment > 0 ? alignment : DEFAULT_ALIGNMENT, 4);
    put_u32(writer, "block_count", c->num_layers + (no_mtp ? 0 : c->num_mtp_layers));
    put_u32(writer, "nextn_predict_layers", c->num_mtp_layers);
    put_u32(writer, "context_length", c->max_positions);
    put_u32(writer, "embedding_length", c->hidden_size);
    put_u32(writer, "feed_forward_length", c->intermediate_size);
    put_u32(writer, "attention.head_count", c->num_heads);
    put_u32(writer, "attention.head_count_kv", c->num_kv_heads);
    put_u32(writer, "attention.key_length", c->head_dim);
    put_u32(writer, "attention.value_length", c->head_dim);
    put_f32(writer, "attention.layer_norm_rms_epsilon", c->rms_eps);
    put_u32(writer, "rope.dimension_count", c->rotary_dim);
    put_key(writer, "qwen35.rope.dimension_sections", TYPE_ARRAY);
    put_field(writer, GGUF_FIELD_TYPE, TYPE_I32, 4);
    put_field(writer, GGUF_FIELD_COUNT, 4, 8);
    for (int i = 0; i < 4; i++)
        put(writer, i < 3 ? (uint64_t)c->mrope_section[i] : 0, 4);
    put_f32(writer, "rope.freq_base", c->rope_theta);
    put_u32(writer, "full_attention_interval", interval);
    put_u32(writer, "ssm.conv_kernel", c->conv_taps);
    put_u32(writer, "ssm.state_size", c->linear_key_dim);
    put_u32(writer, "ssm.group_count", c->linear_key_heads);
    put_u32(writer, "ssm.time_step_rank", c->linear_value_heads);
    put_u32(writer, "ssm.inner_size", c->linear_value_heads * c->linear_value_dim);
    put_key(writer, "tokenizer.ggml.tokens", TYPE_ARRAY);
    put_field(writer, GGUF_FIELD_TYPE, TYPE_STRING, 4);
    put_field(writer, GGUF_FIELD_COUNT, 3, 8);
    put_text(writer, "a");
    put_text(writer, "");
    put_text(writer, "bcd");
    put_key(writer, "tokenizer.ggml.eos_token_id", TYPE_U32);
    put(writer, (uint64_t)(c->num_stop_tokens > 0 ? c->stop_tokens[0] : 1), 4);
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

/* The model's tensor, transformed; the caller frees it. */
static float *take_values(const struct writer *writer, const assay_model *model, int64_t index,
                          struct gguf_written *written)
{
    struct assay_stored stored;

    cr_assert(assay_model_stored_at(model, index, &stored));
    float *values = malloc((size_t)(stored.rows * stored.columns) * sizeof *values);
    cr_assert(values != NULL);
    for (int64_t row = 0; row < stored.rows; row++)
        cr_assert(assay_model_read_row(model, index, row, values + row * stored.columns, NULL) ==
                  ASSAY_OK);
    const enum part part = find_name(writer, stored.name, written->name);
    const char *stem = strrchr(written->name, '.') - 1;
    while (stem > written->name && stem[-1] != '.')
        stem--;
    transform(writer, part, stem, values, stored.rows, stored.columns);
    written->rank = stored.rank == 1 ? 1 : 2;
    written->ne[0] = (uint64_t)stored.columns;
    written->ne[1] = (uint64_t)stored.rows;
    written->type = stored.rank == 2 ? writer->style->matrix_type : TENSOR_F32;
    if (writer->style->fault == GGUF_FAULT_SWAP_EXTENTS && written->rank == 2) {
        written->ne[0] = (uint64_t)stored.rows;
        written->ne[1] = (uint64_t)stored.columns;
    }
    return values;
}

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

static void put_header(struct writer *writer, int64_t num_tensors)
{
    fputs("GGUF", writer->stream);
    put_field(writer, GGUF_FIELD_TYPE, 3, 4);
    put_field(writer, GGUF_FIELD_COUNT, (uint64_t)num_tensors, 8);
    put_field(writer, GGUF_FIELD_COUNT, NUM_KEYS, 8);
    put_metadata(writer);
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

static void put_data(struct writer *writer, float *const *values, size_t alignment)
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
        put_values(writer, t->type, values[i], t->ne[0] * (t->rank > 1 ? t->ne[1] : 1));
    }
}

void gguf_write(const assay_model *model, const struct gguf_style *style, struct gguf_image *image)
{
    struct writer writer = {.config = assay_model_config(model), .style = style, .image = image};
    const size_t alignment = style->alignment > 0 ? style->alignment : DEFAULT_ALIGNMENT;
    const int64_t count = assay_model_num_tensors(model);
    float *values[GGUF_MAX_WRITTEN];
    char *bytes = NULL;
    size_t end = 0;

    memset(image, 0, sizeof *image);
    cr_assert(count <= GGUF_MAX_WRITTEN);
    writer.stream = open_memstream(&bytes, &image->size);
    cr_assert(writer.stream != NULL);
    for (int64_t i = 0; i < count; i++) {
        struct gguf_written *t = &image->tensors[image->num_tensors++];
        values[i] = take_values(&writer, model, i, t);
        const struct oracle_gguf_block block = oracle_gguf_block(t->type);
        t->at = aligned(end, alignment); /* from the start of the data until put_data */
        t->bytes = (size_t)(t->ne[0] * (t->rank > 1 ? t->ne[1] : 1)) / (size_t)block.values *
                   (size_t)block.bytes;
        end = t->at + t->bytes;
    }
    put_header(&writer, count);
    put_tensor_list(&writer);
    put_data(&writer, values, alignment);
    for (int64_t i = 0; i < count; i++)
        free(values[i]);
    cr_assert(fclose(writer.stream) == 0);
    image->bytes = (uint8_t *)bytes;
}

void gguf_free(struct gguf_image *image)
{
    free(image->bytes);
    free(image->fields);
    *image = (struct gguf_image){.bytes = NULL};
}
