/* SPDX-License-Identifier: MIT
 *
 * Experts that are stored one by one, and projections in blocks of a key head, as Qwen3-Next has
 * both: the same network, bit by bit, as of a release with banks, and the same artifact; and what
 * is refused, with the tensor that is to blame.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include <assay/convert.h>
#include <assay/model.h>
#include <assay/session.h>
#include <assay/testing.h>

#include "sized_model.h"
#include "small_model.h"

#define TINY_MOE ASSAY_GOLDEN_DIR "/models/tiny-hybrid-moe"
#define SINGLE   "model.safetensors"

enum { E = 16, IM = 128, H = 256, LAYERS = 4 }; /* of tiny-hybrid-moe */

static struct assay_error last_error;

/* ---- a model with its banks taken apart ------------------------------------------------------ */

struct piece {
    char name[96];
    int64_t rows, columns, depth; /* columns 0: a vector; depth 1: [rows, 1, columns] */
    const uint8_t *data;
    size_t bytes;
    uint8_t *memory; /* data of its own; NULL: the model's */
};

struct pieces {
    struct piece *list;
    int count;
};

static void add(struct pieces *pieces, const char *name, int64_t rows, int64_t columns,
                const void *data)
{
    pieces->list = realloc(pieces->list, (size_t)(pieces->count + 1) * sizeof *pieces->list);
    cr_assert(pieces->list != NULL);
    struct piece *piece = &pieces->list[pieces->count++];
    *piece = (struct piece){.rows = rows,
                            .columns = columns,
                            .depth = strstr(name, "conv1d") != NULL,
                            .data = data,
                            .bytes = 2 * (size_t)rows * (size_t)(columns > 0 ? columns : 1)};
    snprintf(piece->name, sizeof piece->name, "%s", name);
}

/* A bank's matrices: of an expert gate before up. */
static void take_apart(struct pieces *pieces, const char *name, const struct assay_tensor *bank)
{
    static const char *const gate_up[] = {"gate_proj", "up_proj"}, *const down[] = {"down_proj"};
    const bool is_down = strstr(name, "down_proj") != NULL;
    const char *const *parts = is_down ? down : gate_up;
    const int num_parts = is_down ? 1 : 2;
    const int64_t rows = bank->extent[1] / num_parts, columns = bank->extent[2];
    const uint8_t *data = bank->data;
    char text[96];

    for (int64_t e = 0; e < bank->extent[0]; e++)
        for (int p = 0; p < num_parts; p++) {
            snprintf(text, sizeof text, "%.*s%" PRId64 ".%s.weight",
                     (int)(strrchr(name, '.') - name + 1), name, e, parts[p]);
            add(pieces, text, rows, columns, data);
            data += 2 * rows * columns;
        }
}

static void write_pieces(const char *dir, const struct pieces *pieces)
{
    char *header = NULL, path[1024];
    size_t size = 0, at = 0;
    FILE *text = open_memstream(&header, &size);

    cr_assert(text != NULL);
    fputc('{', text);
    for (int i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->list[i];
        fprintf(text, "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%" PRId64, i > 0 ? "," : "",
                piece->name, piece->rows);
        if (piece->columns > 0)
            fprintf(text, "%s,%" PRId64, piece->depth != 0 ? ",1" : "", piece->columns);
        fprintf(text, "],\"data_offsets\":[%zu,%zu]}", at, at + piece->bytes);
        at += piece->bytes;
    }
    fputc('}', text);
    while ((size_t)ftello(text) % 8 != 0)
        fputc(' ', text);
    cr_assert(fclose(text) == 0);
    snprintf(path, sizeof path, "%s/%s", dir, SINGLE);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL);
    for (int i = 0; i < 8; i++)
        fputc((int)(size >> 8 * i & 0xff), file);
    fwrite(header, 1, size, file);
    for (int i = 0; i < pieces->count; i++)
        fwrite(pieces->list[i].data, 1, pieces->list[i].bytes, file);
    cr_assert(fclose(file) == 0);
    free(header);
}

/* The bytes of a file; the caller frees them. */
static char *slurp(const char *dir, const char *name, size_t *size)
{
    char path[2048], *bytes;
    struct stat info;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL && stat(path, &info) == 0, "%s", path);
    *size = (size_t)info.st_size;
    bytes = malloc(*size + 1);
    cr_assert(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

/* Replaces all, in place; the new text is not longer. */
static size_t replace(char *text, size_t size, const char *from, const char *to)
{
    const size_t old = strlen(from), new = strlen(to);

    for (char *at = text; (at = memmem(at, (size_t)(text + size - at), from, old)) != NULL;) {
        memmove(at + new, at + old, (size_t)(text + size - at) - old);
        memcpy(at, to, new);
        size -= old - new;
    }
    return size;
}

static void write_config(const char *from, const char *dir, bool is_next)
{
    size_t size;
    char *config = slurp(from, "config.json", &size);

    if (is_next) {
        size = replace(config, size, "qwen3_5_moe_text", "qwen3_next");
        size = replace(config, size, "Qwen3_5MoeForCausalLM", "Qwen3NextForCausalLM");
    }
    small_write(dir, "config.json", config, size);
    free(config);
}

/* `rows` rows of a matrix from `first` on. */
static uint8_t *copy_rows(uint8_t *to, const struct assay_tensor *from, int64_t first, int64_t rows)
{
    const size_t row = 2 * (size_t)from->extent[1];

    memcpy(to, (const uint8_t *)from->data + (size_t)first * row, (size_t)rows * row);
    return to + (size_t)rows * row;
}

/* For each key head the rows of q, k, v and z that belong to it, or of b and a (3.5). */
static void pack(struct pieces *pieces, const assay_model *model, const char *layer, bool is_input)
{
    const struct assay_model_config *c = assay_model_config(model);
    const int64_t keys = c->linear_key_heads, dk = c->linear_key_dim;
    const int64_t ratio = c->linear_value_heads / keys, values = ratio * c->linear_value_dim;
    const int64_t rows = is_input ? keys * (2 * dk + 2 * values) : 2 * keys * ratio;
    const char *const names[] = {is_input ? "in_proj_qkv.weight" : "in_proj_b.weight",
                                 is_input ? "in_proj_z.weight" : "in_proj_a.weight"};
    struct assay_tensor first, second;
    char name[96];

    snprintf(name, sizeof name, "%slinear_attn.%s", layer, names[0]);
    cr_assert(assay_model_tensor(model, name, &first), "%s", name);
    snprintf(name, sizeof name, "%slinear_attn.%s", layer, names[1]);
    cr_assert(assay_model_tensor(model, name, &second), "%s", name);
    uint8_t *memory = malloc(2 * (size_t)(rows * c->hidden_size)), *at = memory;
    cr_assert(memory != NULL);
    for (int64_t g = 0; g < keys; g++) {
        if (is_input) {
            at = copy_rows(at, &first, g * dk, dk);
            at = copy_rows(at, &first, (keys + g) * dk, dk);
            at = copy_rows(at, &first, 2 * keys * dk + g * values, values);
        } else {
            at = copy_rows(at, &first, g * ratio, ratio);
        }
        at = copy_rows(at, &second, g * (is_input ? values : ratio), is_input ? values : ratio);
    }
    snprintf(name, sizeof name, "%slinear_attn.%s", layer,
             is_input ? "in_proj_qkvz.weight" : "in_proj_ba.weight");
    add(pieces, name, rows, c->hidden_size, memory);
    pieces->list[pieces->count - 1].memory = memory;
}

/* True when the tensor is in a packed one. */
static bool is_packed(struct pieces *pieces, const assay_model *model, const char *name)
{
    const char *at = strstr(name, "linear_attn.in_proj_");
    char layer[64];

    if (at == NULL)
        return false;
    snprintf(layer, sizeof layer, "%.*s", (int)(at - name), name);
    if (strstr(name, "in_proj_qkv.") != NULL || strstr(name, "in_proj_b.") != NULL)
        pack(pieces, model, layer, strstr(name, "in_proj_qkv.") != NULL);
    return true;
}

/* Writes the model, which was opened from the folder `from`, with its banks taken apart. */
static void split_model(const assay_model *model, const char *from, const char *dir, bool is_next)
{
    struct pieces pieces = {.count = 0};

    write_config(from, dir, is_next);
    for (int64_t i = 0; i < assay_model_num_tensors(model); i++) {
        const char *name;
        const struct assay_tensor t = assay_model_tensor_at(model, i, &name);
        cr_assert(t.dtype == ASSAY_BF16, "%s", name);
        if (strstr(name, ".mlp.experts.") != NULL)
            take_apart(&pieces, name, &t);
        else if (!is_next || !is_packed(&pieces, model, name))
            add(&pieces, name, t.extent[0], t.rank > 1 ? t.extent[t.rank - 1] : 0, t.data);
    }
    write_pieces(dir, &pieces);
    for (int i = 0; i < pieces.count; i++)
        free(pieces.list[i].memory);
    free(pieces.list);
}

/* ---- the same -------------------------------------------------------------------------------- */

static assay_model *open_model(const char *path, bool rows_only)
{
    assay_model *model = NULL;

    assay_error_clear(&last_error);
    const assay_status status = rows_only ? assay_model_open_rows(path, &model, &last_error)
                                          : assay_model_open(path, &model, &last_error);
    cr_assert(status == ASSAY_OK, "%s: %s: %s", path, last_error.what, last_error.message);
    return model;
}

static void check_tensors(const assay_model *banks, const assay_model *split)
{
    cr_assert(assay_model_num_tensors(banks) == assay_model_num_tensors(split));
    for (int64_t i = 0; i < assay_model_num_tensors(banks); i++) {
        const char *name, *other;
        const struct assay_tensor a = assay_model_tensor_at(banks, i, &name);
        const struct assay_tensor b = assay_model_tensor_at(split, i, &other);
        struct assay_stored x, y;
        cr_assert_str_eq(name, other);
        cr_assert(a.dtype == b.dtype && a.rank == b.rank, "%s", name);
        cr_assert(memcmp(a.extent, b.extent, sizeof a.extent) == 0, "%s", name);
        cr_assert(memcmp(a.data, b.data, assay_tensor_span(&a)) == 0, "%s", name);
        cr_assert(assay_model_stored_at(banks, i, &x) && assay_model_stored_at(split, i, &y));
        cr_assert(x.bytes == y.bytes && strcmp(x.format, y.format) == 0, "%s", name);
    }
}

/* Rows are read where they lie. */
static void check_rows(const assay_model *banks, const assay_model *rows)
{
    float x[H], y[H];

    for (int64_t i = 0; i < assay_model_num_tensors(banks); i++) {
        struct assay_stored stored;
        cr_assert(assay_model_stored_at(banks, i, &stored));
        if (strstr(stored.name, ".mlp.experts.") == NULL &&
            strstr(stored.name, "linear_attn.in_proj_") == NULL)
            continue;
        cr_assert(stored.columns <= H);
        for (int64_t row = 0; row < stored.rows; row += 7) {
            cr_assert(assay_model_read_row(banks, i, row, x, NULL) == ASSAY_OK);
            cr_assert(assay_model_read_row(rows, i, row, y, NULL) == ASSAY_OK);
            cr_assert(memcmp(x, y, (size_t)stored.columns * sizeof *x) == 0, "%s, row %lld",
                      stored.name, (long long)row);
        }
    }
}

enum { NUM_IDS = 24 };

static float *logits_of(assay_context *context, const assay_model *model,
                        struct assay_session_memory *memory)
{
    const size_t vocab = (size_t)assay_model_config(model)->vocab_size;
    assay_session *session = NULL;
    int32_t ids[NUM_IDS];
    float *logits = malloc(NUM_IDS * vocab * sizeof *logits);

    for (int i = 0; i < NUM_IDS; i++)
        ids[i] = (37 * i + 11) % 2000;
    cr_assert(assay_session_create(context, model, NULL, &session, &last_error) == ASSAY_OK);
    cr_assert(assay_session_memory(session, memory, NULL) == ASSAY_OK);
    cr_assert(assay_session_forward(session, ids, NUM_IDS, ASSAY_LOGITS_ALL, logits, &last_error) ==
              ASSAY_OK);
    assay_session_destroy(session);
    return logits;
}

static void check_logits(const assay_model *banks, const assay_model *split)
{
    const struct assay_context_options options = assay_context_defaults();
    const size_t count = NUM_IDS * (size_t)assay_model_config(banks)->vocab_size;
    struct assay_session_memory a, b;
    assay_context *context = NULL;

    cr_assert(assay_context_create(&options, &context, NULL) == ASSAY_OK);
    float *expected = logits_of(context, banks, &a), *found = logits_of(context, split, &b);
    cr_assert(memcmp(expected, found, count * sizeof *expected) == 0);
    cr_assert(a.weights == b.weights && a.decode_reads == b.decode_reads);
    free(expected);
    free(found);
    assay_context_destroy(context);
}

static char *payload_of(const char *dir, const char *model, const char *recipe, size_t *size)
{
    struct assay_convert_options options = assay_convert_defaults();
    char output[1024];

    snprintf(output, sizeof output, "%s/out.assay", dir);
    options.model = model;
    options.output = output;
    options.recipe = recipe;
    options.num_threads = 2;
    cr_assert(assay_convert(&options, NULL, &last_error) == ASSAY_OK, "%s: %s", last_error.what,
              last_error.message);
    char *bytes = slurp(output, "payload.bin", size);
    small_remove(strdup(output));
    return bytes;
}

static void check_artifacts(const char *split_dir)
{
    static const char *const recipes[] = {"bf16", "q8"};
    char *dir = small_folder();

    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        size_t expected_size, size;
        char *expected = payload_of(dir, TINY_MOE, recipes[i], &expected_size);
        char *found = payload_of(dir, split_dir, recipes[i], &size);
        cr_assert(size == expected_size && memcmp(found, expected, size) == 0, "%s", recipes[i]);
        free(expected);
        free(found);
    }
    small_remove(dir);
}

/* Of the bundled model the MTP block's experts are stored one by one already. Its one key head has
 * one block: that blocks are dealt to key heads shows in the other model. */
Test(experts, same_network)
{
    const int64_t layer = E * 3 * IM * H * 2;
    char *dir = small_folder();
    assay_model *banks = open_model(TINY_MOE, false);

    for (int is_next = 0; is_next < 2; is_next++) {
        split_model(banks, TINY_MOE, dir, is_next);
        assay_model *split = open_model(dir, false), *rows = open_model(dir, true);
        const int64_t packed = is_next ? assay_model_copied_bytes(split) - 5 * layer : 0;
        cr_assert(assay_model_copied_bytes(banks) == layer);
        cr_assert(assay_model_copied_bytes(split) == (LAYERS + 1) * layer + packed);
        cr_assert(assay_model_copied_bytes(rows) == assay_model_copied_bytes(split));
        cr_assert((packed > 0) == (is_next != 0));
        check_tensors(banks, split);
        check_rows(banks, rows);
        check_logits(banks, split);
        check_artifacts(dir);
        assay_model_close(rows);
        assay_model_close(split);
    }
    assay_model_close(banks);
    cr_assert(assay_live_allocations() == 0);
    small_remove(dir);
}

Test(experts, key_heads)
{
    char *dir = small_folder(), *made = small_folder();

    sized_write(made, &sized_small_mixture);
    assay_model *source = open_model(made, false);
    split_model(source, made, dir, true);
    assay_model *split = open_model(dir, false), *rows = open_model(dir, true);
    check_tensors(source, split);
    check_rows(source, rows);
    assay_model_close(rows);
    assay_model_close(split);
    assay_model_close(source);
    cr_assert(assay_live_allocations() == 0);
    small_remove(made);
    small_remove(dir);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void expect(const char *dir, const struct small_model *small, bool rows_only,
                   assay_status expected, const char *tensor)
{
    assay_model *model = NULL;

    small_write_file(dir, SINGLE, small, 0, small->num_tensors);
    assay_error_clear(&last_error);
    const assay_status status = rows_only ? assay_model_open_rows(dir, &model, &last_error)
                                          : assay_model_open(dir, &model, &last_error);
    cr_assert(status == expected, "%s: %s, expected %s (%s: %s)", tensor, assay_status_name(status),
              assay_status_name(expected), last_error.what, last_error.message);
    if (status != ASSAY_OK)
        cr_assert_str_eq(last_error.what, tensor);
    assay_model_close(model);
    cr_assert(assay_live_allocations() == 0);
}

/* The number of experts that config.json states is another one. */
static void check_counts(const char *dir, const struct small_model *split)
{
    static const struct {
        const char *count;
        assay_status expected;
        const char *tensor;
    } cases[] = {
        {"2", ASSAY_E_SHAPE, "model.layers.0.mlp.gate.weight"},
        {"4", ASSAY_E_NOT_FOUND, "model.layers.0.mlp.experts.3.gate_proj.weight"},
        {"65536", ASSAY_E_NOT_FOUND, "model.layers.0.mlp.experts.3.gate_proj.weight"},
    };
    struct small_pair changes[SMALL_MIXTURE_CHANGES];
    struct small_model changed = *split;

    memcpy(changes, small_mixture_config, sizeof changes);
    cr_assert_str_eq(changes[2].key, "num_experts");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        changes[2].value = cases[i].count;
        small_write_config(dir, changes, SMALL_MIXTURE_CHANGES);
        expect(dir, split, false, cases[i].expected, cases[i].tensor);
    }
    /* An expert more than the router has: nobody asks for it. */
    small_write_config(dir, small_mixture_config, SMALL_MIXTURE_CHANGES);
    small_add(&changed, "model.layers.1.mlp.experts.3.up_proj.weight", "BF16", 2,
              SMALL_EXPERT_WIDTH, SMALL_HIDDEN, 0);
    expect(dir, &changed, false, ASSAY_E_UNSUPPORTED,
           "model.layers.1.mlp.experts.3.up_proj.weight");
    strcpy(changed.tensors[changed.num_tensors - 1].name,
           "model.layers.1.mlp.experts.01.up_proj.weight");
    expect(dir, &changed, false, ASSAY_E_UNSUPPORTED,
           "model.layers.1.mlp.experts.01.up_proj.weight");
    strcpy(changed.tensors[changed.num_tensors - 1].name,
           "model.layers.1.mlp.experts.1.up_proj.weight_scale_inv");
    expect(dir, &changed, true, ASSAY_E_UNSUPPORTED,
           "model.layers.1.mlp.experts.1.up_proj.weight_scale_inv");
    strcpy(changed.tensors[changed.num_tensors - 1].name,
           "model.layers.1.mlp.experts.gate_up_proj.weight");
    expect(dir, &changed, true, ASSAY_E_CORRUPT, "model.layers.1.mlp.experts.gate_up_proj.weight");
}

/* What is read need not be bf16, but all experts must be alike. */
static void check_formats(const char *dir, const struct small_model *split)
{
    struct small_model changed = *split;

    for (int i = 0; i < changed.num_tensors; i++)
        if (strstr(changed.tensors[i].name, "layers.0.mlp.experts.") != NULL)
            changed.tensors[i].dtype = "F16";
    expect(dir, &changed, true, ASSAY_OK, "all F16");
    expect(dir, &changed, false, ASSAY_E_FORMAT, "model.layers.0.mlp.experts.0.gate_proj.weight");
    small_find(&changed, "model.layers.0.mlp.experts.2.down_proj.weight")->dtype = "BF16";
    expect(dir, &changed, true, ASSAY_E_FORMAT, "model.layers.0.mlp.experts.2.down_proj.weight");
    small_find(&changed, "model.layers.0.mlp.experts.2.down_proj.weight")->dtype = "I8";
    expect(dir, &changed, true, ASSAY_E_FORMAT, "model.layers.0.mlp.experts.2.down_proj.weight");
}

/* Every operation fails once. */
static void check_faults(const char *dir, const struct small_model *split)
{
    enum { MAX_STEPS = 20000 };
    assay_status status = ASSAY_E_MEMORY;
    assay_model *model = NULL;
    int64_t n = 0;

    small_write_file(dir, SINGLE, split, 0, split->num_tensors);
    while (status != ASSAY_OK && n < MAX_STEPS) {
        assay_fault_after(++n);
        status = assay_model_open(dir, &model, &last_error);
        cr_assert(assay_fault_happened() == (status != ASSAY_OK), "step %lld", (long long)n);
        cr_assert(status == ASSAY_OK || status == ASSAY_E_MEMORY || status == ASSAY_E_IO);
        cr_assert(status == ASSAY_OK || assay_live_allocations() == 0, "step %lld", (long long)n);
    }
    assay_fault_after(0);
    cr_assert(status == ASSAY_OK && n > 30, "%lld steps", (long long)n);
    assay_model_close(model);
    cr_assert(assay_live_allocations() == 0);
}

/* A packed projection of another shape, beside one that it has, in a format of its own. */
static void check_heads(const char *dir, const struct small_model *split)
{
    struct small_model packed = *split, changed;

    for (int i = 0; i < packed.num_tensors; i++) {
        struct small_tensor *tensor = &packed.tensors[i];
        char *name = strstr(tensor->name, "in_proj_");
        if (name == NULL)
            continue;
        if (strcmp(name, "in_proj_qkv.weight") == 0) {
            strcpy(name, "in_proj_qkvz.weight");
            tensor->extent[0] = 32; /* 2 * 4 of keys, 2 * 12 of values */
        } else if (strcmp(name, "in_proj_b.weight") == 0) {
            strcpy(name, "in_proj_ba.weight");
            tensor->extent[0] = 4;
        } else {
            *tensor = packed.tensors[--packed.num_tensors];
            i--;
        }
    }
    expect(dir, &packed, false, ASSAY_OK, "blocks of a key head");
    changed = packed;
    small_find(&changed, "in_proj_qkvz.weight")->extent[0] = 30;
    expect(dir, &changed, false, ASSAY_E_SHAPE, "model.layers.0.linear_attn.in_proj_qkvz.weight");
    changed = packed;
    small_find(&changed, "in_proj_ba.weight")->dtype = "F32";
    expect(dir, &changed, false, ASSAY_E_FORMAT, "model.layers.0.linear_attn.in_proj_ba.weight");
    expect(dir, &changed, true, ASSAY_OK, "rows of F32");
    changed = packed;
    small_add(&changed, "model.layers.0.linear_attn.in_proj_z.weight", "BF16", 2, 12, 8, 0);
    expect(dir, &changed, true, ASSAY_E_CORRUPT, "model.layers.0.linear_attn.in_proj_z.weight");
    changed = packed;
    strcpy(small_find(&changed, "in_proj_ba.weight")->name,
           "model.layers.1.linear_attn.in_proj_ba.weight");
    expect(dir, &changed, false, ASSAY_E_NOT_FOUND, "model.layers.0.linear_attn.in_proj_b.weight");
}

Test(experts, refused)
{
    char *dir = small_folder();
    struct small_model split;

    small_tensors(&split, "model.", "lm_head.weight", "mtp.");
    small_write_config(dir, NULL, 0);
    small_mixture(&split);
    small_split_banks(&split);
    small_write_config(dir, small_mixture_config, SMALL_MIXTURE_CHANGES);
    expect(dir, &split, false, ASSAY_OK, "experts one by one");
    check_counts(dir, &split);
    check_formats(dir, &split);
    check_heads(dir, &split);
    check_faults(dir, &split);
    small_remove(dir);
}
