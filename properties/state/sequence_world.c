/* SPDX-License-Identifier: MIT
 *
 * The model, the contexts and the failing route of programs over sessions.
 */
#include "sequence_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/model.h>
#include <assay/ops/add_rmsnorm.h>

#include "philox.h"

/* ---- the model ----------------------------------------------------------------------------- */

enum {
    HIDDEN = 32,
    INNER = 48,
    HEADS = 2,
    HEAD_DIM = 16,
    KEY_HEADS = 2,
    VALUE_HEADS = 4,
    STATE = 8,
    TAPS = 4,
    VALUES = VALUE_HEADS * STATE,
    CHANNELS = 2 * KEY_HEADS * STATE + VALUES
};

static const char config[] =
    "{\"model_type\":\"qwen3_5_text\",\"architectures\":[\"Qwen3_5ForCausalLM\"],"
    "\"vocab_size\":48,\"hidden_size\":32,\"intermediate_size\":48,\"num_hidden_layers\":4,"
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":16,"
    "\"full_attention_interval\":2,\"linear_key_head_dim\":8,\"linear_value_head_dim\":8,"
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"linear_conv_kernel_dim\":4,"
    "\"rms_norm_eps\":1e-6,\"max_position_embeddings\":4096,\"tie_word_embeddings\":false,"
    "\"rope_parameters\":{\"rope_theta\":1e7,\"partial_rotary_factor\":0.5,"
    "\"mrope_section\":[2,1,1],\"rope_type\":\"default\"}}";

/* Collects the header's entries; all tensors are bf16. */
struct shelf {
    FILE *header;
    size_t bytes;
};

static void add(struct shelf *shelf, const char *prefix, const char *name, int rows, int columns)
{
    const size_t count = (size_t)rows * (size_t)(columns > 0 ? columns : 1);
    char shape[64];
    if (columns == 0)
        snprintf(shape, sizeof shape, "%d", rows);
    else if (strcmp(name, "linear_attn.conv1d.weight") == 0)
        snprintf(shape, sizeof shape, "%d,1,%d", rows, columns);
    else
        snprintf(shape, sizeof shape, "%d,%d", rows, columns);
    fprintf(
        shelf->header, "%s\"%s%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        shelf->bytes > 0 ? "," : "", prefix, name, shape, shelf->bytes, shelf->bytes + 2 * count);
    shelf->bytes += 2 * count;
}

static void add_layer(struct shelf *shelf, int layer)
{
    char p[32];
    snprintf(p, sizeof p, "model.layers.%d.", layer);
    add(shelf, p, "input_layernorm.weight", HIDDEN, 0);
    add(shelf, p, "post_attention_layernorm.weight", HIDDEN, 0);
    add(shelf, p, "mlp.gate_proj.weight", INNER, HIDDEN);
    add(shelf, p, "mlp.up_proj.weight", INNER, HIDDEN);
    add(shelf, p, "mlp.down_proj.weight", HIDDEN, INNER);
    if (layer % 2 == 1) {
        add(shelf, p, "self_attn.q_proj.weight", 2 * HEADS * HEAD_DIM, HIDDEN);
        add(shelf, p, "self_attn.k_proj.weight", HEAD_DIM, HIDDEN);
        add(shelf, p, "self_attn.v_proj.weight", HEAD_DIM, HIDDEN);
        add(shelf, p, "self_attn.o_proj.weight", HIDDEN, HEADS * HEAD_DIM);
        add(shelf, p, "self_attn.q_norm.weight", HEAD_DIM, 0);
        add(shelf, p, "self_attn.k_norm.weight", HEAD_DIM, 0);
        return;
    }
    add(shelf, p, "linear_attn.in_proj_qkv.weight", CHANNELS, HIDDEN);
    add(shelf, p, "linear_attn.in_proj_z.weight", VALUES, HIDDEN);
    add(shelf, p, "linear_attn.in_proj_b.weight", VALUE_HEADS, HIDDEN);
    add(shelf, p, "linear_attn.in_proj_a.weight", VALUE_HEADS, HIDDEN);
    add(shelf, p, "linear_attn.conv1d.weight", CHANNELS, TAPS);
    add(shelf, p, "linear_attn.A_log", VALUE_HEADS, 0);
    add(shelf, p, "linear_attn.dt_bias", VALUE_HEADS, 0);
    add(shelf, p, "linear_attn.norm.weight", STATE, 0);
    add(shelf, p, "linear_attn.out_proj.weight", HIDDEN, VALUES);
}

/* Magnitudes from 2^-7 to 1, both signs: every part of a state matters for the logits. */
static void write_words(FILE *file, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t draw = philox_u64(1, "sequence model", i);
        const unsigned word =
            (unsigned)(draw >> 40 & 0x8000u) | (0x3c00u + (unsigned)(draw % 0x380u));
        fputc((int)(word & 0xff), file);
        fputc((int)(word >> 8), file);
    }
}

static bool write_weights(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    struct shelf shelf = {.header = open_memstream(&text, &size)};
    FILE *file = fopen(path, "wb");
    if (shelf.header != NULL && file != NULL) {
        fputc('{', shelf.header);
        add(&shelf, "model.", "embed_tokens.weight", SEQUENCE_VOCAB, HIDDEN);
        for (int i = 0; i < SEQUENCE_LAYERS; i++)
            add_layer(&shelf, i);
        add(&shelf, "model.", "norm.weight", HIDDEN, 0);
        add(&shelf, "", "lm_head.weight", SEQUENCE_VOCAB, HIDDEN);
        fputc('}', shelf.header);
        fflush(shelf.header);
        const size_t padded = (size + 7) / 8 * 8;
        for (int i = 0; i < 8; i++)
            fputc((int)(padded >> 8 * i & 0xff), file);
        fprintf(file, "%-*s", (int)padded, text);
        write_words(file, shelf.bytes / 2);
    }
    if (shelf.header != NULL)
        fclose(shelf.header);
    free(text);
    return file != NULL && fclose(file) == 0;
}

static bool write_model(struct sequence_world *world)
{
    char path[512];
    snprintf(path, sizeof path, "%s/config.json", world->folder);
    FILE *file = fopen(path, "wb");
    const bool written = file != NULL && fputs(config, file) >= 0;
    if (file == NULL || fclose(file) != 0 || !written)
        return false;
    snprintf(path, sizeof path, "%s/model.safetensors", world->folder);
    return write_weights(path);
}

/* ---- the failing route --------------------------------------------------------------------- */

static int countdown;

static const struct assay_route *real(const assay_context *context, const void *args)
{
    const enum assay_backend backend = assay_context_backend(context);
    for (int i = 0; i < assay_op_add_rmsnorm.num_routes; i++) {
        const struct assay_route *const route = &assay_op_add_rmsnorm.routes[i];
        if (route->backend == backend && (route->accepts == NULL || route->accepts(args)) &&
            (backend != ASSAY_CPU || route->isa <= assay_context_isa(context)))
            return route;
    }
    return NULL;
}

static size_t failing_workspace(const assay_context *context, const void *args)
{
    const struct assay_route *const route = real(context, args);
    return route != NULL && route->workspace != NULL ? route->workspace(context, args) : 0;
}

static assay_status failing_run(assay_context *context, const void *args, void *workspace)
{
    const struct assay_route *const route = real(context, args);
    if (countdown > 0 && --countdown == 0) {
        countdown = -1;
        return ASSAY_E_INTERNAL;
    }
    return route == NULL ? ASSAY_E_NO_ROUTE : route->run(context, args, workspace);
}

static const struct assay_route failing[ASSAY_NUM_BACKENDS] = {
    [ASSAY_CPU] = {.name = "add_rmsnorm.fails.cpu",
                   .backend = ASSAY_CPU,
                   .workspace = failing_workspace,
                   .run = failing_run},
    [ASSAY_CUDA] = {.name = "add_rmsnorm.fails.cuda",
                    .backend = ASSAY_CUDA,
                    .workspace = failing_workspace,
                    .run = failing_run},
    [ASSAY_SIMT] = {.name = "add_rmsnorm.fails.simt",
                    .backend = ASSAY_SIMT,
                    .workspace = failing_workspace,
                    .run = failing_run},
};

const char *sequence_failing_route(enum assay_backend backend, int after)
{
    static bool added;
    for (int i = 0; i < ASSAY_NUM_BACKENDS && !added; i++)
        if (assay_route_add(&failing[i], NULL) != ASSAY_OK)
            return NULL;
    added = true;
    countdown = after;
    return failing[backend].name;
}

bool sequence_failed(void)
{
    return countdown < 0;
}

/* ---- the world ----------------------------------------------------------------------------- */

/* In memory where that is to be had: saved sessions are flushed to their medium. */
static bool make_folder(char *folder, size_t size)
{
    const char *const parents[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (parents[i] == NULL)
            continue;
        snprintf(folder, size, "%s/assay-sequence-XXXXXX", parents[i]);
        if (mkdtemp(folder) != NULL)
            return true;
    }
    return false;
}

struct sequence_world *sequence_open(char reason[SEQUENCE_REASON_BYTES])
{
    struct assay_error error = {.status = ASSAY_OK};
    struct sequence_world *world = calloc(1, sizeof *world);
    snprintf(reason, SEQUENCE_REASON_BYTES, "no memory");
    if (world == NULL)
        return NULL;
    if (!make_folder(world->folder, sizeof world->folder)) {
        snprintf(reason, SEQUENCE_REASON_BYTES, "no temporary folder");
        free(world);
        return NULL;
    }
    if (!write_model(world))
        snprintf(reason, SEQUENCE_REASON_BYTES, "the model cannot be written");
    else if (assay_model_open(world->folder, &world->model, &error) != ASSAY_OK)
        assay_error_format(&error, reason, SEQUENCE_REASON_BYTES);
    if (world->model != NULL)
        return world;
    sequence_close(world);
    return NULL;
}

void sequence_close(struct sequence_world *world)
{
    static const char *const names[] = {"config.json", "model.safetensors", "session-0",
                                        "session-1"};
    if (world == NULL)
        return;
    for (int i = 0; i < 2 * ASSAY_NUM_BACKENDS; i++)
        assay_context_destroy(world->contexts[i / 2][i % 2]);
    assay_model_close(world->model);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", world->folder, names[i]);
        unlink(path);
    }
    rmdir(world->folder);
    free(world);
}

void sequence_watch(struct sequence_world *world, const char *(*watch)(void))
{
    world->watch = watch;
}

int64_t sequence_done(const struct sequence_world *world, enum sequence_op op)
{
    return world->done[op];
}

assay_context *sequence_context(struct sequence_world *world, enum assay_backend backend,
                                bool plain)
{
    assay_context **const context = &world->contexts[backend][plain];
    struct assay_context_options options = assay_context_defaults();
    options.backend = backend;
    if (*context == NULL && assay_context_create(&options, context, NULL) != ASSAY_OK)
        return NULL;
    return *context;
}

void sequence_file(const struct sequence_world *world, int file, char path[512])
{
    snprintf(path, 512, "%s/session-%d", world->folder, file);
}
