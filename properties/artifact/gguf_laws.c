/* SPDX-License-Identifier: MIT
 *
 * GGUF files against the models they were written from: reader(writer(model)) = model, for every
 * type and with value heads in another order than key heads; and wrong converters, each of which
 * must show.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/model.h>
#include <assay/session.h>
#include <assay/testing.h>

#include "gguf_compare.h"
#include "gguf_writer.h"
#include "oracle_formats.h"
#include "sized_model.h"
#include "small_model.h"

#define TINY_HYBRID ASSAY_GOLDEN_DIR "/models/tiny-hybrid"

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14, BF16 = 30 };

/* What the metadata says about stops is another matter than what config.json says. */
static void check_config(const assay_model *source, const assay_model *read)
{
    struct assay_model_config a = *assay_model_config(source), b = *assay_model_config(read);

    memset(a.stop_tokens, 0, sizeof a.stop_tokens);
    memset(b.stop_tokens, 0, sizeof b.stop_tokens);
    a.num_stop_tokens = b.num_stop_tokens = 0;
    cr_assert(a.rms_eps == b.rms_eps, "%a, not %a", b.rms_eps, a.rms_eps);
    cr_assert(a.rope_theta == b.rope_theta && a.rotary_dim == b.rotary_dim);
    cr_assert(memcmp(&a, &b, sizeof a) == 0);
}

/* Every matrix is bf16, word for word. */
static void check_matrices(const assay_model *source, const assay_model *read)
{
    for (int64_t i = 0; i < assay_model_num_tensors(source); i++) {
        struct assay_weights a, b;
        const char *name;
        (void)assay_model_tensor_at(source, i, &name);
        if (!assay_model_weights(source, name, &a))
            continue;
        cr_assert(assay_model_weights(read, name, &b), "%s", name);
        cr_assert(b.format == ASSAY_WEIGHT_BF16 && b.rows == a.rows && b.columns == a.columns);
        cr_assert(memcmp(a.base.data, b.base.data, assay_tensor_span(&a.base)) == 0, "%s", name);
    }
}

/* num_types 2: the model has values that are no binary16. */
static void round_trip(const char *source_dir, const char *dir, size_t num_types)
{
    static const uint32_t types[] = {BF16, F32, F16};
    assay_model *source = gguf_source(source_dir);

    for (size_t i = 0; i < num_types; i++) {
        const struct gguf_style style = {.matrix_type = types[i], .alignment = i == 1 ? 64 : 0};
        struct gguf_image image;
        gguf_write(source, &style, &image);
        assay_model *read = gguf_opened(dir, &image, false);
        cr_assert(read != NULL, "%s: %s: %s", gguf_error.where, gguf_error.what,
                  gguf_error.message);
        cr_assert(assay_model_final_norms(read) && !assay_model_final_norms(source));
        check_config(source, read);
        cr_assert(gguf_differences(source, read) == 0, "%s, type %u", source_dir, types[i]);
        check_matrices(source, read);
        assay_model_close(read);
        gguf_free(&image);
    }
    assay_model_close(source);
    cr_assert(assay_live_allocations() == 0);
}

Test(gguf, round_trip)
{
    char *dir = small_folder(), *made = small_folder();

    round_trip(TINY_HYBRID, dir, 2);
    sized_write(made, &sized_small);
    round_trip(made, dir, 3);
    sized_write(made, &sized_wide);
    round_trip(made, dir, 3);
    small_remove(made);
    small_remove(dir);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The place of head h in tiled order, by 8.4: there stands head (n % Hk) * r + n / Hk. */
static int64_t place_of(const struct assay_model_config *c, int64_t h)
{
    const int64_t keys = c->linear_key_heads, ratio = c->linear_value_heads / keys;
    int64_t n = 0;

    while (n % keys * ratio + n / keys != h)
        n++;
    return n;
}

static int64_t tiled(const struct assay_model_config *c, int64_t index, int64_t from, int64_t run)
{
    if (index < from)
        return index;
    return from + place_of(c, (index - from) / run) * run + (index - from) % run;
}

static void check_tensor(const assay_model *read, const char *name, const struct gguf_image *image,
                         const struct gguf_written *t)
{
    const struct assay_model_config *c = assay_model_config(read);
    const struct oracle_gguf_block block = oracle_gguf_block(t->type);
    const int64_t rows = (int64_t)t->ne[1], columns = (int64_t)t->ne[0], dv = c->linear_value_dim;
    const int64_t keys = 2 * c->linear_key_heads * c->linear_key_dim;
    const size_t row_bytes = (size_t)columns / (size_t)block.values * (size_t)block.bytes;

    for (int64_t row = 0; row < rows; row++) {
        float *values = gguf_row_of(read, assay_model_find(read, name), row, columns);
        int64_t at = row;
        if (strstr(name, "in_proj_qkv") != NULL)
            at = tiled(c, row, keys, dv);
        else if (strstr(name, "in_proj_z") != NULL)
            at = tiled(c, row, 0, dv);
        else if (strstr(name, "in_proj_a") != NULL || strstr(name, "in_proj_b") != NULL)
            at = tiled(c, row, 0, 1);
        for (int64_t k = 0; k < columns; k++) {
            const int64_t from = strstr(name, "out_proj") != NULL ? tiled(c, k, 0, dv) : k;
            const uint8_t *bytes = image->bytes + t->at + (size_t)at * row_bytes;
            const float expected = (float)oracle_gguf_value(t->type, bytes, from);
            cr_assert(values[k] == expected, "%s, type %u: [%lld, %lld] is %a, expected %a", name,
                      t->type, (long long)row, (long long)k, values[k], expected);
        }
        free(values);
    }
}

static void check_blocks(const assay_model *source, const assay_model *read,
                         const struct gguf_image *image)
{
    for (int i = 0; i < image->num_tensors; i++) {
        const char *name;
        (void)assay_model_tensor_at(source, i, &name);
        if (image->tensors[i].rank == 2 && strstr(name, "conv1d") == NULL)
            check_tensor(read, name, image, &image->tensors[i]);
    }
}

/* Q8_0 runs as q8g32. The others have rows, and running is refused with what to do. */
Test(gguf, blocks)
{
    static const uint32_t types[] = {Q8_0, Q4_0, Q4_K, Q5_K, Q6_K};
    char *dir = small_folder(), *made = small_folder();

    sized_write(made, &sized_wide);
    assay_model *source = gguf_source(made);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct gguf_style style = {.matrix_type = types[i]};
        struct gguf_image image;
        struct assay_weights weights;
        gguf_write(source, &style, &image);
        assay_model *read = gguf_opened(dir, &image, true);
        cr_assert(read != NULL, "%s: %s", gguf_error.what, gguf_error.message);
        cr_assert_not(assay_model_can_run(read));
        check_blocks(source, read, &image);
        assay_model_close(read);
        read = gguf_opened(dir, &image, false);
        cr_assert((read != NULL) == (types[i] == Q8_0), "type %u: %s", types[i],
                  gguf_error.message);
        if (read != NULL) {
            check_blocks(source, read, &image);
            cr_assert(assay_model_weights(read, "lm_head.weight", &weights));
            cr_assert(weights.format == ASSAY_WEIGHT_Q8G32);
        } else {
            cr_assert(gguf_error.status == ASSAY_E_FORMAT);
            cr_assert(strstr(gguf_error.message, "assay convert") != NULL, "%s",
                      gguf_error.message);
        }
        assay_model_close(read);
        gguf_free(&image);
    }
    assay_model_close(source);
    small_remove(made);
    small_remove(dir);
}

static size_t place_in_file(const struct gguf_image *image, const char *name)
{
    for (int i = 0; i < image->num_tensors; i++)
        if (strcmp(image->tensors[i].name, name) == 0)
            return image->tensors[i].at;
    cr_assert(false, "%s", name);
    return 0;
}

/* What would have to be rounded is not run: a binary32 that is no bf16, a code of -128. */
Test(gguf, no_rounding)
{
    static const struct {
        uint32_t type;
        size_t at;
        uint8_t byte;
    } changes[] = {{F32, 0, 0x01}, {F16, 0, 0x01}, {Q8_0, 5, 0x80}};
    char *dir = small_folder(), *made = small_folder();

    sized_write(made, &sized_wide);
    assay_model *source = gguf_source(made);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct gguf_style style = {.matrix_type = changes[i].type};
        struct gguf_image image;
        gguf_write(source, &style, &image);
        image.bytes[place_in_file(&image, "blk.1.attn_k.weight") + changes[i].at] = changes[i].byte;
        cr_assert_null(gguf_opened(dir, &image, false));
        cr_assert(gguf_error.status == ASSAY_E_FORMAT);
        cr_assert_str_eq(gguf_error.what, "model.layers.1.self_attn.k_proj.weight");
        assay_model *read = gguf_opened(dir, &image, true);
        cr_assert(read != NULL);
        if (changes[i].type == Q8_0)
            check_blocks(source, read, &image);
        assay_model_close(read);
        gguf_free(&image);
    }
    assay_model_close(source);
    small_remove(made);
    small_remove(dir);
}

/* Every operation under assay_model_open fails once. */
Test(gguf, open_faults)
{
    enum { MAX_STEPS = 20000 };
    const struct gguf_style style = {.matrix_type = F16};
    char *dir = small_folder(), *made = small_folder();
    struct gguf_image image;
    int64_t n = 0;
    assay_status status = ASSAY_E_MEMORY;

    sized_write(made, &sized_small);
    assay_model *source = gguf_source(made), *model = NULL;
    gguf_write(source, &style, &image);
    assay_model_close(source);
    assay_model_close(gguf_opened(dir, &image, false));
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, GGUF_FILE);
    while (status != ASSAY_OK && n < MAX_STEPS) {
        assay_fault_after(++n);
        assay_error_clear(&gguf_error);
        status = assay_model_open(path, &model, &gguf_error);
        cr_assert(assay_fault_happened() == (status != ASSAY_OK), "step %lld", (long long)n);
        cr_assert(status == ASSAY_OK || status == ASSAY_E_MEMORY || status == ASSAY_E_IO,
                  "step %lld: %s", (long long)n, assay_status_name(status));
        cr_assert(status == ASSAY_OK || assay_live_allocations() == 0, "step %lld leaks",
                  (long long)n);
    }
    assay_fault_after(0);
    assay_model_close(model);
    cr_log_info("%lld steps", (long long)n);
    cr_assert(n > 60 && status == ASSAY_OK && assay_live_allocations() == 0);
    gguf_free(&image);
    small_remove(made);
    small_remove(dir);
}

/* ---- wrong converters ------------------------------------------------------------------------ */

Test(gguf, faults)
{
    char *dir = small_folder(), *made = small_folder();
    int refused = 0, seen = 0;

    /* hidden 48: rows of out_proj can be dealt to 6 heads as well. */
    struct model_sizes sizes = sized_small;
    sizes.hidden = 48;
    sized_write(made, &sizes);
    assay_model *source = gguf_source(made);
    for (int fault = 0; fault < GGUF_FIRST_MIXTURE_FAULT; fault++) {
        const struct gguf_style style = {.matrix_type = BF16, .fault = (enum gguf_fault)fault};
        struct gguf_image image;
        gguf_write(source, &style, &image);
        assay_model *read = gguf_opened(dir, &image, false);
        const int differences = read != NULL ? gguf_differences(source, read) : 0;
        cr_log_info("%s: %s, %d tensors differ", gguf_fault_meaning(style.fault),
                    read == NULL ? gguf_error.message : "opened", differences);
        if (fault == GGUF_FAULT_NONE)
            cr_assert(read != NULL && differences == 0);
        else
            cr_assert(read == NULL || differences > 0, "not caught: %s",
                      gguf_fault_meaning(style.fault));
        refused += read == NULL;
        seen += differences > 0;
        assay_model_close(read);
        gguf_free(&image);
    }
    cr_assert(refused >= 3 && seen >= 12, "%d refused, %d seen", refused, seen);
    assay_model_close(source);
    small_remove(made);
    small_remove(dir);
}

/* ---- the same network ------------------------------------------------------------------------ */

enum { NUM_IDS = 24 };

static float *logits_of(assay_context *context, const assay_model *model)
{
    const int64_t vocab = assay_model_config(model)->vocab_size;
    assay_session *session = NULL;
    int32_t ids[NUM_IDS];
    float *logits = malloc((size_t)vocab * sizeof *logits);

    for (int i = 0; i < NUM_IDS; i++)
        ids[i] = (37 * i + 11) % 2000;
    cr_assert(assay_session_create(context, model, NULL, &session, &gguf_error) == ASSAY_OK);
    cr_assert(assay_session_forward(session, ids, NUM_IDS, ASSAY_LOGITS_LAST, logits,
                                    &gguf_error) == ASSAY_OK);
    assay_session_destroy(session);
    return logits;
}

/* Final norms round 1 + w once, so the logits are the same but for a few ulp of binary32. Norms
 * taken for offsets would differ in the first digit. */
Test(gguf, same_network)
{
    const struct assay_context_options options = assay_context_defaults();
    const struct gguf_style style = {.matrix_type = BF16};
    char *dir = small_folder();
    assay_model *source = gguf_source(TINY_HYBRID);
    assay_context *context = NULL;
    struct gguf_image image;
    double error = 0, size = 0;

    cr_assert(assay_context_create(&options, &context, NULL) == ASSAY_OK);
    gguf_write(source, &style, &image);
    assay_model *read = gguf_opened(dir, &image, false);
    cr_assert(read != NULL);
    float *expected = logits_of(context, source), *found = logits_of(context, read);
    for (int64_t i = 0; i < assay_model_config(source)->vocab_size; i++) {
        error += pow((double)found[i] - (double)expected[i], 2);
        size += pow((double)expected[i], 2);
    }
    cr_log_info("relative L2 difference of the logits: %.3g", sqrt(error / size));
    cr_assert(size > 0 && sqrt(error / size) < 1e-5, "%g", sqrt(error / size));
    free(expected);
    free(found);
    gguf_free(&image);
    assay_context_destroy(context);
    assay_model_close(read);
    assay_model_close(source);
    small_remove(dir);
}
