/* SPDX-License-Identifier: MIT
 *
 * An output head of the published models' width, encoded as the model loads: how long it takes, and
 * seeded rows of it in decode steps of every width against exact sums of the oracle's own decoding.
 * The model is written by the test: one layer, ENGINE_HEAD_ROWS rows of a vocabulary.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <assay/ops/linear_grouped.h>
#include <assay/precision.h>
#include <assay/route.h>

#include "engine_common.h"
#include "oracle_formats.h"
#include "words.h"

#ifndef ENGINE_HEAD_ROWS
#define ENGINE_HEAD_ROWS 3000
#endif

enum { ROWS = ENGINE_HEAD_ROWS, HIDDEN = 5120, HEAD = 64, WIDTH = 64, SEEDED = 48 };

/* Bytes of a row of q4g64: a nibble a weight, two bytes for each 64. */
enum { Q4_ROW = HIDDEN / 2 + HIDDEN / 64 * 2 };

static const char config[] =
    "{\"architectures\": [\"Qwen3_5ForCausalLM\"], \"model_type\": \"qwen3_5_text\", "
    "\"hidden_size\": %d, \"vocab_size\": %d, \"intermediate_size\": %d, \"num_hidden_layers\": 1, "
    "\"layer_types\": [\"full_attention\"], \"num_attention_heads\": 1, \"num_key_value_heads\": "
    "1, "
    "\"head_dim\": %d, \"partial_rotary_factor\": 0.25, \"rms_norm_eps\": 1e-06, "
    "\"max_position_embeddings\": 1024, \"tie_word_embeddings\": true, \"attn_output_gate\": true, "
    "\"hidden_act\": \"silu\", \"dtype\": \"bfloat16\", \"eos_token_id\": 1, "
    "\"rope_parameters\": {\"mrope_interleaved\": true, \"mrope_section\": [3, 3, 2], "
    "\"partial_rotary_factor\": 0.25, \"rope_theta\": 10000000.0, \"rope_type\": \"default\"}}\n";

static const struct tensor {
    const char *name;
    int64_t rows, columns; /* rows 0: a vector */
} tensors[] = {
    {"model.embed_tokens.weight", ROWS, HIDDEN},
    {"model.norm.weight", 0, HIDDEN},
    {"model.layers.0.input_layernorm.weight", 0, HIDDEN},
    {"model.layers.0.post_attention_layernorm.weight", 0, HIDDEN},
    {"model.layers.0.self_attn.q_proj.weight", 2 * HEAD, HIDDEN},
    {"model.layers.0.self_attn.k_proj.weight", HEAD, HIDDEN},
    {"model.layers.0.self_attn.v_proj.weight", HEAD, HIDDEN},
    {"model.layers.0.self_attn.o_proj.weight", HIDDEN, HEAD},
    {"model.layers.0.self_attn.q_norm.weight", 0, HEAD},
    {"model.layers.0.self_attn.k_norm.weight", 0, HEAD},
    {"model.layers.0.mlp.gate_proj.weight", WIDTH, HIDDEN},
    {"model.layers.0.mlp.up_proj.weight", WIDTH, HIDDEN},
    {"model.layers.0.mlp.down_proj.weight", HIDDEN, WIDTH},
};

enum { NUM_TENSORS = sizeof tensors / sizeof *tensors };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t hash(uint64_t i)
{
    uint64_t h = i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* A row of bf16 words: either sign, magnitudes of 2^-7 to 2^-4, other bits random. */
static void make_row(uint64_t tensor, int64_t row, int64_t count, uint16_t *words)
{
    for (int64_t k = 0; k < count; k++) {
        const uint64_t h = hash(tensor << 56 | (uint64_t)row << 16 | (uint64_t)k);
        const unsigned exponent = 120 + (unsigned)(h >> 40) % 3;
        words[k] = (uint16_t)((h >> 63) << 15 | exponent << 7 | (h & 0x7f));
    }
}

static void write_text(const char *folder, const char *name, const char *format, int a, int b,
                       int c, int d)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, format, a, b, c, d);
    cr_assert(fclose(file) == 0);
}

static void write_header(FILE *file)
{
    char text[4096] = "{";
    size_t at = 1, offset = 0;
    for (int i = 0; i < NUM_TENSORS; i++) {
        const struct tensor *t = &tensors[i];
        const size_t bytes = (size_t)((t->rows == 0 ? 1 : t->rows) * t->columns) * 2;
        char shape[64];
        if (t->rows == 0)
            snprintf(shape, sizeof shape, "%lld", (long long)t->columns);
        else
            snprintf(shape, sizeof shape, "%lld, %lld", (long long)t->rows, (long long)t->columns);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "%s\"%s\": {\"dtype\": \"BF16\", \"shape\": [%s], "
                               "\"data_offsets\": [%zu, %zu]}",
                               i == 0 ? "" : ", ", t->name, shape, offset, offset + bytes);
        offset += bytes;
    }
    text[at++] = '}';
    while (at % 8 != 0)
        text[at++] = ' ';
    const uint64_t length = at;
    cr_assert(fwrite(&length, 8, 1, file) == 1 && fwrite(text, 1, at, file) == at);
}

static void write_model(const char *folder)
{
    char path[128];
    uint16_t words[HIDDEN];
    write_text(folder, "config.json", config, HIDDEN, ROWS, WIDTH, HEAD);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    write_header(file);
    for (int i = 0; i < NUM_TENSORS; i++)
        for (int64_t row = 0; row < (tensors[i].rows == 0 ? 1 : tensors[i].rows); row++) {
            const size_t count = (size_t)tensors[i].columns;
            make_row((uint64_t)i, row, tensors[i].columns, words);
            cr_assert(fwrite(words, 2, count, file) == count);
        }
    cr_assert(fclose(file) == 0, "the disk has no room for the model");
}

/* ---- the head ------------------------------------------------------------------------------- */

static int64_t seeded_row(int i)
{
    /* The ends, and rows on both sides of what a thread takes at a time. */
    static const int64_t ends[] = {0, 1, 63, 64, ROWS - 65, ROWS - 2, ROWS - 1};
    const int count = (int)(sizeof ends / sizeof *ends);
    return i < count ? ends[i] : (int64_t)(hash(77 + (uint64_t)i) % ROWS);
}

struct watch {
    int64_t calls, width;
    double worst, loss; /* share of the bound; relative error of the worst row's weights */
};

/* The row as it was stored against the row as it is read: 4 bits lose about a tenth. A row or a
 * group in another one's place would lose all. */
static double row_loss(int64_t n, const double *decoded)
{
    uint16_t words[HIDDEN];
    double squares = 0, errors = 0;
    make_row(0, n, HIDDEN, words);
    const struct assay_tensor row = assay_tensor_1d(words, ASSAY_BF16, HIDDEN);
    for (int64_t k = 0; k < HIDDEN; k++) {
        const double value = oracle_get(&row, k), lacks = decoded[k] - value;
        squares += value * value;
        errors += lacks * lacks;
    }
    return sqrt(errors / squares);
}

static void look(void *user, const struct assay_op *op, const struct assay_route *route,
                 const void *args, bool is_after)
{
    struct watch *watch = user;
    const struct assay_linear_grouped_args *a = args;
    (void)route;
    if (!is_after || op != &assay_op_linear_grouped || a->w.rows != ROWS)
        return;
    double row[HIDDEN];
    watch->calls++;
    cr_assert(a->x.extent[0] == watch->width && a->w.format == ASSAY_WEIGHT_Q4G64);
    for (int i = 0; i < SEEDED; i++) {
        const int64_t n = seeded_row(i);
        oracle_weight_row(&a->w, n, row);
        watch->loss = fmax(watch->loss, row_loss(n, row));
        for (int64_t t = 0; t < watch->width; t++) {
            const float *x = assay_tensor_row(&a->x, t);
            double sum = 0, magnitude = 0;
            for (int64_t k = 0; k < HIDDEN; k++) {
                sum += (double)x[k] * row[k];
                magnitude += fabs((double)x[k] * row[k]);
            }
            /* Any order of HIDDEN binary32 additions and as many roundings of products. */
            const double bound = (HIDDEN + 1) * 0x1p-24 * magnitude;
            const double share = fabs(oracle_get(&a->y, t * ROWS + n) - sum) / bound;
            cr_assert(share <= 1, "T = %lld, row %lld, token %lld: %.3g of the bound",
                      (long long)watch->width, (long long)n, (long long)t, share);
            watch->worst = fmax(watch->worst, share);
        }
    }
}

Test(engine_head, seeded_rows)
{
    char folder[64] = "/tmp/assay-head-XXXXXX", command[128];
    struct assay_error error = {0};
    struct assay_session_memory memory;
    struct engine engine;
    struct watch watch = {0};
    struct assay_session_options options = assay_session_defaults();
    cr_assert_not_null(mkdtemp(folder));
    write_model(folder);
    engine_open_model(&engine, folder);
    const char *asked = getenv("ASSAY_HEAD_THREADS"); /* to measure with more than a test has */
    const int threads = asked != NULL ? atoi(asked) : 2;
    if (asked != NULL)
        engine_threads(&engine, threads);
    float *logits = malloc((size_t)ASSAY_VERIFY_COLUMNS * ROWS * sizeof *logits);
    cr_assert_not_null(logits);
    options.capacity = 64;
    options.trades = 1u << ASSAY_TRADE_LM_HEAD_Q4;
    const double start = now();
    const clock_t used = clock();
    engine_session(&engine, &options);
    const double encoded = now() - start, work = (double)(clock() - used) / CLOCKS_PER_SEC;
    engine_expect_ok(assay_session_memory(engine.session, &memory, &error), &error, "memory");
    cr_assert(memory.weight_copies == (size_t)ROWS * Q4_ROW, "%zu bytes", memory.weight_copies);

    int32_t ids[ASSAY_VERIFY_COLUMNS];
    for (int i = 0; i < ASSAY_VERIFY_COLUMNS; i++)
        ids[i] = (int32_t)(hash((uint64_t)i) % ROWS);
    assay_context_observe(engine.context, look, &watch);
    for (watch.width = 1; watch.width <= ASSAY_VERIFY_COLUMNS; watch.width++) {
        assay_session_reset(engine.session);
        engine_expect_ok(assay_session_verify(engine.session, ids, watch.width, logits, &error),
                         &error, "step");
    }
    cr_assert(watch.calls == ASSAY_VERIFY_COLUMNS);
    cr_assert(watch.loss < 0.12 && watch.loss > 0.02, "rows lose %.3f", watch.loss);
    printf(
        "%d x %d to q4g64 in %.2f s by %d threads, %.2f s of processor time; worst row loses %.3f, "
        "sums use %.2g of their bound\n",
        ROWS, HIDDEN, encoded, threads, work, watch.loss, watch.worst);
    free(logits);
    engine_close(&engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}
