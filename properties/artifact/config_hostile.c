/* SPDX-License-Identifier: MIT
 *
 * Hostile config.json files beside valid weights: each must be refused with a record that names
 * the file and, where the JSON is valid, the field.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "hostile.h"
#include "memory_meter.h"
#include "small_model.h"

#define CONFIG "config.json"

struct bench {
    char *dir;
    size_t weight_bytes;
    struct hostile_counts counts;
};

static void set_up(struct bench *bench)
{
    struct small_model model;

    memory_meter_start();
    *bench = (struct bench){.dir = small_folder()};
    small_tensors(&model, "model.", "lm_head.weight", NULL);
    small_write_file(bench->dir, "model.safetensors", &model, 0, model.num_tensors);
    for (int i = 0; i < model.num_tensors; i++)
        bench->weight_bytes += small_tensor_bytes(&model.tensors[i]);
    small_write_config(bench->dir, NULL, 0);
    cr_assert(hostile_open(bench->dir, bench->weight_bytes, HOSTILE_ALLOWANCE, "the valid config",
                           NULL, NULL, &bench->counts) == ASSAY_OK);
    bench->counts.opened = 0;
}

static void refuse_text(struct bench *bench, const char *text, size_t size, const char *label,
                        const char *field)
{
    small_write(bench->dir, CONFIG, text, size);
    hostile_refused(bench->dir, size + bench->weight_bytes, label, CONFIG, field, &bench->counts);
}

/* Each size with values that are no integer in its range. Those that are no JSON either cannot
 * name the field. */
static void hostile_sizes(struct bench *bench)
{
    static const char *const keys[] = {"vocab_size",
                                       "hidden_size",
                                       "intermediate_size",
                                       "num_hidden_layers",
                                       "num_attention_heads",
                                       "num_key_value_heads",
                                       "head_dim",
                                       "full_attention_interval",
                                       "max_position_embeddings",
                                       "linear_key_head_dim",
                                       "linear_value_head_dim",
                                       "linear_num_key_heads",
                                       "linear_num_value_heads",
                                       "linear_conv_kernel_dim"};
    static const char *const values[] = {"\"4\"",
                                         "\"\"",
                                         "4.0",
                                         "1.5",
                                         "-1",
                                         "0",
                                         "true",
                                         "[4]",
                                         "{}",
                                         "{\"a\":4}",
                                         "2147483648",
                                         "4294967300",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1e300",
                                         "-0.0"};
    static const char *const broken[] = {"NaN",
                                         "Infinity",
                                         "-Infinity",
                                         "1e999",
                                         "0x10",
                                         "04",
                                         "9223372036854775808",
                                         "-9223372036854775809",
                                         "4.",
                                         "+4",
                                         "4,",
                                         "",
                                         "nul",
                                         "'4'",
                                         "\"\\ud800\"",
                                         "4 4"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct small_pair change = {keys[i], NULL};
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            change.value = values[j];
            struct small_text text = small_config(&change, 1);
            refuse_text(bench, text.bytes, text.size, text.bytes, keys[i]);
            free(text.bytes);
        }
        for (size_t j = 0; j < sizeof broken / sizeof *broken; j++) {
            change.value = broken[j];
            struct small_text text = small_config(&change, 1);
            refuse_text(bench, text.bytes, text.size, text.bytes, "JSON");
            free(text.bytes);
        }
    }
}

/* Every prefix of the text. */
static void hostile_truncations(struct bench *bench)
{
    struct small_text text = small_config(NULL, 0);
    char label[64];

    for (size_t size = 0; size < text.size; size++) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        refuse_text(bench, text.bytes, size, label, "JSON");
    }
    free(text.bytes);
}

/* Every third bit of the text. A flip that leaves JSON mostly changes a size or the name of a key,
 * and then config and weights disagree: the record may name a weight file. */
static void hostile_flips(struct bench *bench)
{
    struct small_text text = small_config(NULL, 0);
    struct hostile_counts flips = {0, 0};
    char label[64];

    for (size_t bit = 0; bit < 8 * text.size; bit += 3) {
        text.bytes[bit / 8] ^= (char)(1 << bit % 8);
        small_write(bench->dir, CONFIG, text.bytes, text.size);
        text.bytes[bit / 8] ^= (char)(1 << bit % 8);
        snprintf(label, sizeof label, "bit %zu flipped", bit);
        hostile_open(bench->dir, text.size + bench->weight_bytes, HOSTILE_ALLOWANCE, label, NULL,
                     NULL, &flips);
    }
    free(text.bytes);
    cr_log_info("bit flips: %d refused, %d left a valid model", flips.refused, flips.opened);
    cr_assert(flips.refused > 900 && flips.opened * 2 < flips.refused, "%d refused, %d opened",
              flips.refused, flips.opened);
    bench->counts.refused += flips.refused;
}

static void hostile_texts(struct bench *bench)
{
    static const char *const texts[] = {"{",
                                        "[]",
                                        "[{}]",
                                        "5",
                                        "null",
                                        "true",
                                        "\"x\"",
                                        "{}x",
                                        "{} {}",
                                        "\xef\xbb\xbf{}",
                                        "\xff\xfe{",
                                        "{\"a\":1,\"a\":1}",
                                        "{\"\":",
                                        "//\n{}",
                                        "{\"model_type\":\"qwen3_5\",\"model_type\":\"qwen3_5\"}"};
    enum { DEPTH = 100000 };
    char *deep = malloc(DEPTH);

    cr_assert(deep != NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuse_text(bench, texts[i], strlen(texts[i]), texts[i], "JSON");
    memset(deep, '[', DEPTH);
    refuse_text(bench, deep, DEPTH, "deep arrays", "JSON");
    for (int i = 0; i + 5 <= DEPTH; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    refuse_text(bench, deep, DEPTH, "deep objects", "JSON");
    memset(deep, ' ', DEPTH);
    refuse_text(bench, deep, DEPTH, "spaces", "JSON");
    memset(deep, 0, DEPTH);
    refuse_text(bench, deep, DEPTH, "zeros", "JSON");
    free(deep);
}

static void hostile_files(struct bench *bench)
{
    char path[1024];

    refuse_text(bench, "", 0, "an empty file", NULL);
    small_delete(bench->dir, CONFIG);
    hostile_refused(bench->dir, 0, "no config", CONFIG, NULL, &bench->counts);
    snprintf(path, sizeof path, "%s/%s", bench->dir, CONFIG);
    cr_assert(mkdir(path, 0777) == 0);
    hostile_refused(bench->dir, 0, "a folder", CONFIG, NULL, &bench->counts);
    small_delete(bench->dir, CONFIG);
    hostile_refused("/nonexistent/folder", 0, "no folder", CONFIG, NULL, &bench->counts);
    hostile_refused("", 0, "an empty folder name", CONFIG, NULL, &bench->counts);
}

Test(config, hostile)
{
    struct bench bench;

    set_up(&bench);
    hostile_sizes(&bench);
    hostile_truncations(&bench);
    hostile_flips(&bench);
    hostile_texts(&bench);
    hostile_files(&bench);
    cr_log_info("%d hostile configs refused", bench.counts.refused);
    cr_assert(bench.counts.refused >= 200 && bench.counts.opened == 0);
    small_remove(bench.dir);
}
