/* SPDX-License-Identifier: MIT
 *
 * Mixtures of experts as qwen35moe and qwen3next files: reader(writer(model)) = model with banks of
 * gate and up apart and fused, every type of block, wrong converters, and the same tokens.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/convert.h>
#include <assay/model.h>
#include <assay/session.h>
#include <assay/testing.h>

#include "gguf_compare.h"
#include "gguf_writer.h"
#include "oracle_formats.h"
#include "sized_model.h"
#include "small_model.h"
#include "words.h"

#define TINY_MOE ASSAY_GOLDEN_DIR "/models/tiny-hybrid-moe"

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14, BF16 = 30 };

/* ---- the same tensors ------------------------------------------------------------------------ */

/* Stops come from elsewhere, and qwen3next files have neither sections nor an MTP block. */
static void check_config(const assay_model *source, const assay_model *read, bool is_next)
{
    struct assay_model_config a = *assay_model_config(source), b = *assay_model_config(read);

    memset(a.stop_tokens, 0, sizeof a.stop_tokens);
    memset(b.stop_tokens, 0, sizeof b.stop_tokens);
    a.num_stop_tokens = b.num_stop_tokens = 0;
    if (is_next) {
        cr_assert(b.mrope_section[0] == b.rotary_dim / 2);
        cr_assert(b.mrope_section[1] == 0 && b.mrope_section[2] == 0 && b.num_mtp_layers == 0);
        memcpy(a.mrope_section, b.mrope_section, sizeof a.mrope_section);
        a.num_mtp_layers = 0;
    }
    cr_assert(memcmp(&a, &b, sizeof a) == 0);
}

/* Banks are bf16, word for word, in memory of the model but for those that the file has as such. */
static void check_banks(const assay_model *source, const assay_model *read)
{
    int num_banks = 0;

    for (int64_t i = 0; i < assay_model_num_tensors(read); i++) {
        struct assay_tensor a, b;
        const char *name;
        b = assay_model_tensor_at(read, i, &name);
        if (strstr(name, ".mlp.experts.") == NULL)
            continue;
        cr_assert(assay_model_tensor(source, name, &a), "%s", name);
        cr_assert(b.dtype == ASSAY_BF16 && b.data != NULL, "%s", name);
        cr_assert(memcmp(a.data, b.data, assay_tensor_span(&a)) == 0, "%s", name);
        num_banks++;
    }
    const struct assay_model_config *c = assay_model_config(read);
    cr_assert(num_banks == 2 * (c->num_layers + c->num_mtp_layers));
}

static void round_trip(const assay_model *source, const char *dir, const struct gguf_style *style)
{
    struct gguf_image image;

    gguf_write(source, style, &image);
    assay_model *read = gguf_opened(dir, &image, false);
    cr_assert(read != NULL, "%s: %s: %s", gguf_error.where, gguf_error.what, gguf_error.message);
    check_config(source, read, style->is_next);
    cr_assert(gguf_differences(source, read) == 0, "type %u", style->matrix_type);
    check_banks(source, read);
    const int64_t copied = assay_model_copied_bytes(read);
    assay_model_close(read);
    read = gguf_opened(dir, &image, true);
    cr_assert(assay_model_copied_bytes(read) == copied && copied > 0);
    assay_model_close(read);
    gguf_free(&image);
}

static const struct gguf_style styles[] = {
    {.matrix_type = BF16},
    {.matrix_type = F32, .alignment = 64},
    {.matrix_type = F16},
    {.matrix_type = BF16, .up_type = F16},
    {.matrix_type = BF16, .fused_experts = true},
    {.matrix_type = F32, .fused_experts = true},
    {.matrix_type = BF16, .is_next = true},
    {.matrix_type = F32, .is_next = true, .fused_experts = true},
    {.matrix_type = BF16, .is_next = true, .is_old_next = true},
    {.matrix_type = F16, .is_next = true, .is_old_next = true},
};

Test(gguf_moe, round_trip)
{
    char *dir = small_folder(), *made = small_folder();
    assay_model *source = gguf_source(TINY_MOE);

    round_trip(source, dir, &(struct gguf_style){.matrix_type = BF16});
    round_trip(source, dir, &(struct gguf_style){.matrix_type = F32});
    assay_model_close(source);
    sized_write(made, &sized_small_mixture);
    source = gguf_source(made);
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        round_trip(source, dir, &styles[i]);
    assay_model_close(source);
    cr_assert(assay_live_allocations() == 0);
    small_remove(made);
    small_remove(dir);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const struct gguf_written *find_written(const struct gguf_image *image, const char *name)
{
    for (int i = 0; i < image->num_tensors; i++)
        if (strcmp(image->tensors[i].name, name) == 0)
            return &image->tensors[i];
    cr_assert(false, "%s", name);
    return NULL;
}

/* Row `row` of expert e of a bank of the file, by the oracle. */
static void oracle_row(const struct gguf_image *image, const struct gguf_written *t, uint64_t e,
                       uint64_t row, float *values)
{
    const struct oracle_gguf_block block = oracle_gguf_block(t->type);
    const size_t row_bytes = (size_t)t->ne[0] / (size_t)block.values * (size_t)block.bytes;
    const uint8_t *bytes = image->bytes + t->at + (size_t)(e * t->ne[1] + row) * row_bytes;

    for (int64_t k = 0; k < (int64_t)t->ne[0]; k++)
        values[k] = (float)oracle_gguf_value(t->type, bytes, k);
}

/* The rows of a layer's experts against the file: gate rows, then up rows. is_rounded: to bf16, as
 * a conversion leaves them. Every fifth row: 5 does not divide the rows of a bank. */
static void check_experts(const assay_model *read, const struct gguf_image *image, bool is_rounded)
{
    const struct assay_model_config *c = assay_model_config(read);
    const struct gguf_written *gate = find_written(image, "blk.0.ffn_gate_exps.weight");
    const struct gguf_written *up = find_written(image, "blk.0.ffn_up_exps.weight");
    const struct gguf_written *down = find_written(image, "blk.0.ffn_down_exps.weight");
    float *expected = calloc((size_t)c->hidden_size, sizeof *expected);

    cr_assert(expected != NULL && c->expert_size <= c->hidden_size);
    for (int64_t b = 0; b < 2; b++) {
        const int64_t rows = b == 0 ? 2 * c->expert_size : c->hidden_size;
        const int64_t columns = b == 0 ? c->hidden_size : c->expert_size;
        const char *name = b == 0 ? "model.layers.0.mlp.experts.gate_up_proj"
                                  : "model.layers.0.mlp.experts.down_proj";
        for (int64_t row = 0; row < c->num_experts * rows; row += 5) {
            const int64_t e = row / rows, r = row % rows;
            const bool is_up = b == 0 && r >= c->expert_size;
            oracle_row(image,
                       b == 1  ? down
                       : is_up ? up
                               : gate,
                       (uint64_t)e, (uint64_t)(is_up ? r - c->expert_size : r), expected);
            for (int64_t k = 0; k < columns && is_rounded; k++)
                expected[k] = (float)oracle_bf16_value(oracle_bf16_word(expected[k]));
            float *found = gguf_row_of(read, assay_model_find(read, name), row, columns);
            cr_assert(memcmp(found, expected, (size_t)columns * sizeof *found) == 0, "%s, row %lld",
                      name, (long long)row);
            free(found);
        }
    }
    free(expected);
}

/* Banks of blocks have rows; running is refused with what to do, and what that makes runs. */
static void check_converted(const char *dir, const struct gguf_image *image)
{
    struct assay_convert_options options = assay_convert_defaults();
    char path[1024], output[1024];

    cr_assert_null(gguf_opened(dir, image, false));
    cr_assert(gguf_error.status == ASSAY_E_FORMAT);
    cr_assert(strstr(gguf_error.message, "assay convert") != NULL, "%s", gguf_error.message);
    snprintf(path, sizeof path, "%s/%s", dir, GGUF_FILE);
    snprintf(output, sizeof output, "%s/out.assay", dir);
    options.model = path;
    options.output = output;
    options.recipe = "bf16";
    cr_assert(assay_convert(&options, NULL, &gguf_error) == ASSAY_OK, "%s: %s", gguf_error.what,
              gguf_error.message);
    assay_model *made = gguf_source(output);
    check_experts(made, image, true);
    assay_model_close(made);
    small_remove(strdup(output));
}

Test(gguf_moe, blocks)
{
    static const struct gguf_style blocks[] = {
        {.matrix_type = Q8_0}, {.matrix_type = Q4_0}, {.matrix_type = Q4_K},
        {.matrix_type = Q5_K}, {.matrix_type = Q6_K}, {.matrix_type = Q4_K, .up_type = Q6_K},
    };
    char *dir = small_folder(), *made = small_folder();

    sized_write(made, &sized_wide_mixture);
    assay_model *source = gguf_source(made);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct gguf_image image;
        gguf_write(source, &blocks[i], &image);
        assay_model *read = gguf_opened(dir, &image, true);
        cr_assert(read != NULL, "%s: %s", gguf_error.what, gguf_error.message);
        check_experts(read, &image, false);
        assay_model_close(read);
        if (i == 0 || i == 5)
            check_converted(dir, &image);
        gguf_free(&image);
    }
    assay_model_close(source);
    cr_assert(assay_live_allocations() == 0);
    small_remove(made);
    small_remove(dir);
}

/* ---- wrong converters ------------------------------------------------------------------------ */

/* Two tensors cannot be exchanged in one bank, and so on: which faults a style can have. */
static const struct {
    enum gguf_fault fault;
    struct gguf_style style;
    bool is_refused;
} faults[] = {
    {GGUF_FAULT_NO_TILE, {.matrix_type = BF16}, false},
    {GGUF_FAULT_TILE_BACKWARDS, {.matrix_type = BF16}, false},
    {GGUF_FAULT_TILE_OUT_ROWS, {.matrix_type = BF16}, false},
    {GGUF_FAULT_EXPERT_GATE_UP, {.matrix_type = BF16}, false},
    {GGUF_FAULT_EXPERT_GATE_UP, {.matrix_type = BF16, .fused_experts = true}, false},
    {GGUF_FAULT_EXPERTS_REVERSED, {.matrix_type = BF16}, false},
    {GGUF_FAULT_EXPERTS_REVERSED, {.matrix_type = BF16, .fused_experts = true}, false},
    {GGUF_FAULT_EXPERT_PAIRS, {.matrix_type = BF16, .fused_experts = true}, false},
    {GGUF_FAULT_EXPERT_EXTENTS, {.matrix_type = BF16}, true},
    {GGUF_FAULT_BLOCKS_FLAT, {.matrix_type = BF16, .is_next = true}, false},
    {GGUF_FAULT_BLOCKS_FLAT, {.matrix_type = BF16, .is_next = true, .is_old_next = true}, false},
    {GGUF_FAULT_SAYS_TILED, {.matrix_type = BF16, .is_next = true}, true},
    {GGUF_FAULT_SIGMOID, {.matrix_type = BF16}, true},
    {GGUF_FAULT_NOT_ONE, {.matrix_type = BF16}, true},
    {GGUF_FAULT_NO_UP_EXPERTS, {.matrix_type = BF16}, true},
    {GGUF_FAULT_USED_COUNT, {.matrix_type = BF16}, true},
};

Test(gguf_moe, faults)
{
    char *dir = small_folder(), *made = small_folder();

    sized_write(made, &sized_small_mixture);
    assay_model *source = gguf_source(made);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct gguf_style style = faults[i].style;
        struct gguf_image image;
        style.fault = faults[i].fault;
        gguf_write(source, &style, &image);
        assay_model *read = gguf_opened(dir, &image, false);
        const int differences = read != NULL ? gguf_differences(source, read) : 0;
        cr_log_info("%s: %s, %d tensors differ", gguf_fault_meaning(style.fault),
                    read == NULL ? gguf_error.message : "opened", differences);
        cr_assert((read == NULL) == faults[i].is_refused, "%s", gguf_fault_meaning(style.fault));
        cr_assert(read == NULL || differences > 0, "not caught: %s",
                  gguf_fault_meaning(style.fault));
        assay_model_close(read);
        gguf_free(&image);
    }
    assay_model_close(source);
    small_remove(made);
    small_remove(dir);
}

/* ---- the same network ------------------------------------------------------------------------ */

enum { NUM_PROMPT = 12, NUM_NEW = 16 };

struct tokens {
    int32_t ids[NUM_NEW];
    int count;
};

static bool keep(void *user, int32_t id)
{
    struct tokens *tokens = user;
    tokens->ids[tokens->count++] = id;
    return tokens->count < NUM_NEW;
}

static struct tokens generate(assay_context *context, const assay_model *model)
{
    struct tokens tokens = {.count = 0};
    struct assay_generation generation = {.max_new_tokens = NUM_NEW,
                                          .sampling = assay_sampling_defaults(),
                                          .callback = keep,
                                          .user = &tokens};
    assay_session *session = NULL;
    int32_t prompt[NUM_PROMPT];

    for (int i = 0; i < NUM_PROMPT; i++)
        prompt[i] = (37 * i + 11) % 2000;
    cr_assert(assay_session_create(context, model, NULL, &session, &gguf_error) == ASSAY_OK);
    cr_assert(assay_session_generate(session, prompt, NUM_PROMPT, &generation, &gguf_error) ==
              ASSAY_OK);
    assay_session_destroy(session);
    return tokens;
}

Test(gguf_moe, same_tokens)
{
    static const struct gguf_style both[] = {{.matrix_type = BF16},
                                             {.matrix_type = BF16, .is_next = true}};
    const struct assay_context_options options = assay_context_defaults();
    char *dir = small_folder();
    assay_model *source = gguf_source(TINY_MOE);
    assay_context *context = NULL;

    cr_assert(assay_context_create(&options, &context, NULL) == ASSAY_OK);
    const struct tokens expected = generate(context, source);
    cr_assert(expected.count == NUM_NEW);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        struct gguf_image image;
        gguf_write(source, &both[i], &image);
        assay_model *read = gguf_opened(dir, &image, false);
        cr_assert(read != NULL, "%s: %s", gguf_error.what, gguf_error.message);
        const struct tokens found = generate(context, read);
        cr_assert(memcmp(&expected, &found, sizeof found) == 0);
        assay_model_close(read);
        gguf_free(&image);
    }
    assay_context_destroy(context);
    assay_model_close(source);
    small_remove(dir);
}
