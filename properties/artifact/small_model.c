/* SPDX-License-Identifier: MIT
 *
 * A model of a few kilobytes: see small_model.h.
 */
#include "small_model.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

/* ---- files ---------------------------------------------------------------------------------- */

static void full_path(const char *dir, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s", dir, name);
    cr_assert(length > 0 && (size_t)length < size, "path too long");
}

char *small_folder(void)
{
    const char *base = getenv("TMPDIR");
    char path[512];

    full_path(base != NULL ? base : "/tmp", "assay-model-XXXXXX", path, sizeof path);
    cr_assert(mkdtemp(path) != NULL, "cannot make %s", path);
    return strdup(path);
}

void small_delete(const char *dir, const char *name)
{
    char path[1024];

    full_path(dir, name, path, sizeof path);
    if (unlink(path) != 0)
        rmdir(path);
}

void small_remove(char *dir)
{
    DIR *stream = opendir(dir);

    cr_assert(stream != NULL);
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            small_delete(dir, entry->d_name);
    closedir(stream);
    rmdir(dir);
    free(dir);
}

void small_write(const char *dir, const char *name, const void *bytes, size_t size)
{
    char path[1024];

    full_path(dir, name, path, sizeof path);
    unlink(path); /* some file systems flush a file that is cut to nothing and written again */
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL, "cannot write %s", path);
    cr_assert(fwrite(bytes, 1, size, file) == size);
    cr_assert(fclose(file) == 0);
}

void small_unmapped(const char *dir, const char *label)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];

    if (maps == NULL)
        return; /* not Linux */
    while (fgets(line, sizeof line, maps) != NULL)
        cr_assert(strstr(line, dir) == NULL, "%s: still mapped: %s", label, line);
    fclose(maps);
}

/* ---- tensors -------------------------------------------------------------------------------- */

void small_add(struct small_model *model, const char *name, const char *dtype, int rank, int64_t e0,
               int64_t e1, int64_t e2)
{
    cr_assert(model->num_tensors < SMALL_MAX_TENSORS);
    struct small_tensor *tensor = &model->tensors[model->num_tensors++];
    *tensor = (struct small_tensor){.dtype = dtype,
                                    .rank = rank,
                                    .extent = {e0, e1, e2, 1},
                                    .seed = (unsigned)model->num_tensors};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

static void add_bf16(struct small_model *model, const char *prefix, const char *suffix, int64_t e0,
                     int64_t e1)
{
    char name[128];

    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    small_add(model, name, "BF16", e1 > 0 ? 2 : 1, e0, e1, 0);
}

static void add_shared_parts(struct small_model *model, const char *prefix)
{
    add_bf16(model, prefix, "input_layernorm.weight", 8, 0);
    add_bf16(model, prefix, "post_attention_layernorm.weight", 8, 0);
    add_bf16(model, prefix, "mlp.gate_proj.weight", 12, 8);
    add_bf16(model, prefix, "mlp.up_proj.weight", 12, 8);
    add_bf16(model, prefix, "mlp.down_proj.weight", 8, 12);
}

/* Nq = 2, Nkv = 1, D = 8 */
static void add_attention_layer(struct small_model *model, const char *prefix)
{
    add_shared_parts(model, prefix);
    add_bf16(model, prefix, "self_attn.q_proj.weight", 32, 8);
    add_bf16(model, prefix, "self_attn.k_proj.weight", 8, 8);
    add_bf16(model, prefix, "self_attn.v_proj.weight", 8, 8);
    add_bf16(model, prefix, "self_attn.o_proj.weight", 8, 16);
    add_bf16(model, prefix, "self_attn.q_norm.weight", 8, 0);
    add_bf16(model, prefix, "self_attn.k_norm.weight", 8, 0);
}

/* Hk = 1, Hv = 2, dk = 4, dv = 6: Kd = 4, Vd = 12, Cc = 20, Kc = 4 */
static void add_gdn_layer(struct small_model *model, const char *prefix)
{
    char name[128];

    add_shared_parts(model, prefix);
    add_bf16(model, prefix, "linear_attn.in_proj_qkv.weight", 20, 8);
    add_bf16(model, prefix, "linear_attn.in_proj_z.weight", 12, 8);
    add_bf16(model, prefix, "linear_attn.in_proj_b.weight", 2, 8);
    add_bf16(model, prefix, "linear_attn.in_proj_a.weight", 2, 8);
    snprintf(name, sizeof name, "%slinear_attn.conv1d.weight", prefix);
    small_add(model, name, "BF16", 3, 20, 1, 4);
    add_bf16(model, prefix, "linear_attn.A_log", 2, 0);
    add_bf16(model, prefix, "linear_attn.dt_bias", 2, 0);
    add_bf16(model, prefix, "linear_attn.norm.weight", 6, 0);
    add_bf16(model, prefix, "linear_attn.out_proj.weight", 8, 12);
}

void small_tensors(struct small_model *model, const char *prefix, const char *head, const char *mtp)
{
    char layer[64];

    memset(model, 0, sizeof *model);
    add_bf16(model, prefix, "embed_tokens.weight", SMALL_VOCAB, SMALL_HIDDEN);
    snprintf(layer, sizeof layer, "%slayers.0.", prefix);
    add_gdn_layer(model, layer);
    snprintf(layer, sizeof layer, "%slayers.1.", prefix);
    add_attention_layer(model, layer);
    add_bf16(model, prefix, "norm.weight", 8, 0);
    if (head != NULL)
        add_bf16(model, "", head, SMALL_VOCAB, SMALL_HIDDEN);
    if (mtp == NULL)
        return;
    add_bf16(model, mtp, "pre_fc_norm_embedding.weight", 8, 0);
    add_bf16(model, mtp, "pre_fc_norm_hidden.weight", 8, 0);
    add_bf16(model, mtp, "fc.weight", 8, 16);
    add_bf16(model, mtp, "norm.weight", 8, 0);
    snprintf(layer, sizeof layer, "%slayers.0.", mtp);
    add_attention_layer(model, layer);
}

struct small_tensor *small_find(struct small_model *model, const char *suffix)
{
    struct small_tensor *found = NULL;

    for (int i = 0; found == NULL && i < model->num_tensors; i++) {
        const char *name = model->tensors[i].name;
        if (strlen(name) >= strlen(suffix) &&
            strcmp(name + strlen(name) - strlen(suffix), suffix) == 0)
            found = &model->tensors[i];
    }
    cr_assert(found != NULL, "no tensor %s", suffix);
    return found;
}

size_t small_tensor_bytes(const struct small_tensor *tensor)
{
    size_t bytes = 1;

    if (strcmp(tensor->dtype, "F64") == 0 || strcmp(tensor->dtype, "I64") == 0)
        bytes = 8;
    else if (strcmp(tensor->dtype, "F32") == 0 || strcmp(tensor->dtype, "I32") == 0)
        bytes = 4;
    else if (strcmp(tensor->dtype, "BF16") == 0 || strcmp(tensor->dtype, "F16") == 0)
        bytes = 2;
    for (int i = 0; i < tensor->rank; i++)
        bytes *= (size_t)tensor->extent[i];
    return bytes;
}

/* ---- safetensors ---------------------------------------------------------------------------- */

struct small_text small_header(const struct small_model *model, int first, int last)
{
    struct small_text text = {NULL, 0};
    FILE *stream = open_memstream(&text.bytes, &text.size);
    size_t begin = 0;

    cr_assert(stream != NULL);
    fprintf(stream, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = first; i < last; i++) {
        const struct small_tensor *tensor = &model->tensors[i];
        size_t end = begin + small_tensor_bytes(tensor);
        fprintf(stream, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensor->name, tensor->dtype);
        for (int j = 0; j < tensor->rank; j++)
            fprintf(stream, "%s%lld", j > 0 ? "," : "", (long long)tensor->extent[j]);
        fprintf(stream, "],\"data_offsets\":[%zu,%zu]}", begin, end);
        begin = end;
    }
    fprintf(stream, "}");
    cr_assert(fclose(stream) == 0);
    return text;
}

struct small_text small_file(const char *header, size_t header_size, int64_t stated_length,
                             const struct small_model *model, int first, int last)
{
    struct small_text file = {NULL, 0};
    FILE *stream = open_memstream(&file.bytes, &file.size);
    size_t padded = (header_size + 7) / 8 * 8;
    uint64_t stated = stated_length < 0 ? padded : (uint64_t)stated_length;

    cr_assert(stream != NULL);
    for (int i = 0; i < 8; i++)
        fputc((int)(stated >> 8 * i & 0xff), stream);
    fwrite(header, 1, header_size, stream);
    for (size_t i = header_size; i < padded; i++)
        fputc(' ', stream);
    for (int i = first; i < last; i++)
        for (size_t j = 0; j < small_tensor_bytes(&model->tensors[i]); j++)
            fputc((int)((model->tensors[i].seed * 31 + j * 7) & 0x3f), stream);
    cr_assert(fclose(stream) == 0);
    return file;
}

void small_write_file(const char *dir, const char *name, const struct small_model *model, int first,
                      int last)
{
    struct small_text header = small_header(model, first, last);
    struct small_text file = small_file(header.bytes, header.size, -1, model, first, last);

    small_write(dir, name, file.bytes, file.size);
    free(header.bytes);
    free(file.bytes);
}

/* ---- mixture of experts --------------------------------------------------------------------- */

static void add_bank(struct small_model *model, const char *prefix, const char *suffix,
                     int64_t rows, int64_t columns)
{
    char name[128];

    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    small_add(model, name, "BF16", 3, SMALL_EXPERTS, rows, columns);
}

static void add_experts(struct small_model *model, const char *prefix, bool is_fused)
{
    char suffix[64];

    add_bf16(model, prefix, "mlp.gate.weight", SMALL_EXPERTS, SMALL_HIDDEN);
    add_bf16(model, prefix, "mlp.shared_expert_gate.weight", 1, SMALL_HIDDEN);
    if (is_fused) {
        add_bank(model, prefix, "mlp.experts.gate_up_proj", 2 * SMALL_EXPERT_WIDTH, SMALL_HIDDEN);
        add_bank(model, prefix, "mlp.experts.down_proj", SMALL_HIDDEN, SMALL_EXPERT_WIDTH);
        return;
    }
    for (int e = 0; e < SMALL_EXPERTS; e++) {
        snprintf(suffix, sizeof suffix, "mlp.experts.%d.gate_proj.weight", e);
        add_bf16(model, prefix, suffix, SMALL_EXPERT_WIDTH, SMALL_HIDDEN);
        snprintf(suffix, sizeof suffix, "mlp.experts.%d.up_proj.weight", e);
        add_bf16(model, prefix, suffix, SMALL_EXPERT_WIDTH, SMALL_HIDDEN);
        snprintf(suffix, sizeof suffix, "mlp.experts.%d.down_proj.weight", e);
        add_bf16(model, prefix, suffix, SMALL_HIDDEN, SMALL_EXPERT_WIDTH);
    }
}

void small_mixture(struct small_model *model)
{
    const int num_dense = model->num_tensors;

    for (int i = 0; i < num_dense; i++) {
        char *name = model->tensors[i].name, *mlp = strstr(name, "mlp."), prefix[48], rest[32];
        if (mlp == NULL)
            continue;
        snprintf(prefix, sizeof prefix, "%.*s", (int)(mlp - name), name);
        snprintf(rest, sizeof rest, "%s", mlp + strlen("mlp."));
        snprintf(name, sizeof model->tensors[i].name, "%smlp.shared_expert.%s", prefix, rest);
        if (strcmp(rest, "gate_proj.weight") == 0)
            add_experts(model, prefix, strncmp(prefix, "mtp.", 4) != 0);
    }
}

void small_split_banks(struct small_model *model)
{
    struct small_model split = {.num_tensors = 0};

    for (int i = 0; i < model->num_tensors; i++) {
        const struct small_tensor *tensor = &model->tensors[i];
        const char *mlp = strstr(tensor->name, "mlp.gate.weight");
        char prefix[48];
        if (strstr(tensor->name, "mlp.experts.") != NULL ||
            strstr(tensor->name, "mlp.shared_expert_gate") != NULL)
            continue;
        if (mlp == NULL) {
            split.tensors[split.num_tensors++] = *tensor;
            continue;
        }
        snprintf(prefix, sizeof prefix, "%.*s", (int)(mlp - tensor->name), tensor->name);
        add_experts(&split, prefix, false);
    }
    *model = split;
}

const struct small_pair small_mixture_config[SMALL_MIXTURE_CHANGES] = {
    {"model_type", "\"qwen3_5_moe_text\""},
    {"architectures", "[\"Qwen3_5MoeForCausalLM\"]"},
    {"num_experts", "3"},
    {"num_experts_per_tok", "2"},
    {"moe_intermediate_size", "4"},
    {"shared_expert_intermediate_size", "12"}};

/* ---- config --------------------------------------------------------------------------------- */

static const struct small_pair base[] = {
    {"model_type", "\"qwen3_5_text\""},
    {"architectures", "[\"Qwen3_5ForCausalLM\"]"},
    {"vocab_size", "16"},
    {"hidden_size", "8"},
    {"intermediate_size", "12"},
    {"num_hidden_layers", "2"},
    {"num_attention_heads", "2"},
    {"num_key_value_heads", "1"},
    {"head_dim", "8"},
    {"full_attention_interval", "2"},
    {"linear_key_head_dim", "4"},
    {"linear_value_head_dim", "6"},
    {"linear_num_key_heads", "1"},
    {"linear_num_value_heads", "2"},
    {"linear_conv_kernel_dim", "4"},
    {"rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,"
                        "\"mrope_section\":[1,1,0],\"rope_type\":\"default\"}"},
};

enum { NUM_BASE = sizeof base / sizeof *base };

static const struct small_pair *find_change(const char *key, const struct small_pair *changes,
                                            size_t num_changes)
{
    for (size_t i = 0; i < num_changes; i++)
        if (strcmp(changes[i].key, key) == 0)
            return &changes[i];
    return NULL;
}

/* Keys of the base set with their changes, then changes to keys that are not in it; only those
 * whose key begins with '^' or only the others. */
static void print_pairs(FILE *stream, const struct small_pair *pairs, size_t num_pairs, bool outer,
                        const struct small_pair *changes, size_t num_changes)
{
    const char *separator = "";

    for (size_t i = 0; i < num_pairs + num_changes; i++) {
        struct small_pair pair = i < num_pairs ? pairs[i] : changes[i - num_pairs];
        if ((pair.key[0] == '^') != outer)
            continue;
        const struct small_pair *change = find_change(pair.key, changes, num_changes);
        if (i >= num_pairs && find_change(pair.key, pairs, num_pairs) != NULL)
            continue;
        const char *value = change != NULL ? change->value : pair.value;
        if (value == NULL)
            continue;
        fprintf(stream, "%s\"%s\":%s", separator, pair.key + outer, value);
        separator = ",";
    }
}

struct small_text small_config(const struct small_pair *changes, size_t num_changes)
{
    struct small_text text = {NULL, 0};
    FILE *stream = open_memstream(&text.bytes, &text.size);

    cr_assert(stream != NULL);
    fputc('{', stream);
    print_pairs(stream, base, NUM_BASE, false, changes, num_changes);
    fputc('}', stream);
    cr_assert(fclose(stream) == 0);
    return text;
}

struct small_text small_nested_config(const struct small_pair *changes, size_t num_changes)
{
    static const struct small_pair outer[] = {
        {"^model_type", "\"qwen3_5\""},
        {"^architectures", "[\"Qwen3_5ForConditionalGeneration\"]"},
        {"^vision_config", "{\"hidden_size\":1152}"},
    };
    struct small_text text = {NULL, 0};
    FILE *stream = open_memstream(&text.bytes, &text.size);

    cr_assert(stream != NULL);
    fputc('{', stream);
    print_pairs(stream, outer, sizeof outer / sizeof *outer, true, changes, num_changes);
    fprintf(stream, ",\"text_config\":{");
    print_pairs(stream, base + 2, NUM_BASE - 2, false, changes, num_changes);
    fprintf(stream, ",\"model_type\":\"qwen3_5_text\"}}");
    cr_assert(fclose(stream) == 0);
    return text;
}

void small_write_config(const char *dir, const struct small_pair *changes, size_t num_changes)
{
    struct small_text text = small_config(changes, num_changes);

    small_write(dir, "config.json", text.bytes, text.size);
    free(text.bytes);
}
