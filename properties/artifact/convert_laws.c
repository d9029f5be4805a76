/* SPDX-License-Identifier: MIT
 *
 * Conversions: what is in the folder against the source and the oracle's decoders; recipes; and
 * that whatever stops a conversion leaves nothing behind.
 */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <assay/convert.h>
#include <assay/model.h>
#include <assay/testing.h>

#include "gguf_writer.h"
#include "oracle_formats.h"
#include "sized_model.h"
#include "small_model.h"

#define TINY_HYBRID ASSAY_GOLDEN_DIR "/models/tiny-hybrid"
#define TINY_MOE    ASSAY_GOLDEN_DIR "/models/tiny-hybrid-moe"
#define OUTPUT      "out.assay"

static struct assay_error last_error;

/* A folder that the outputs of a test lie in. */
struct bench {
    char *dir;
    char output[1024];
};

static void set_up(struct bench *bench)
{
    bench->dir = small_folder();
    snprintf(bench->output, sizeof bench->output, "%s/%s", bench->dir, OUTPUT);
}

static void remove_output(const struct bench *bench)
{
    small_remove(strdup(bench->output));
}

static int count_entries(const char *dir)
{
    DIR *stream = opendir(dir);
    int count = 0;

    cr_assert(stream != NULL);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static assay_status convert(const struct bench *bench, const char *model, const char *recipe,
                            enum assay_weight_encoder encoder, int num_threads)
{
    struct assay_convert_options options = assay_convert_defaults();

    options.model = model;
    options.output = bench->output;
    options.recipe = recipe;
    options.encoder = encoder;
    options.num_threads = num_threads;
    assay_error_clear(&last_error);
    return assay_convert(&options, NULL, &last_error);
}

static void expect_converted(const struct bench *bench, const char *model, const char *recipe)
{
    cr_assert(convert(bench, model, recipe, ASSAY_ENCODER_MAXABS, 2) == ASSAY_OK, "%s: %s: %s",
              last_error.where, last_error.what, last_error.message);
    cr_assert(count_entries(bench->dir) == 1);
}

static assay_model *open_rows(const char *path)
{
    assay_model *model = NULL;

    assay_error_clear(&last_error);
    cr_assert(assay_model_open_rows(path, &model, &last_error) == ASSAY_OK, "%s: %s: %s", path,
              last_error.what, last_error.message);
    return model;
}

static void read_row(const assay_model *model, const char *name, int64_t row, float *values)
{
    cr_assert(assay_model_read_row(model, assay_model_find(model, name), row, values, NULL) ==
                  ASSAY_OK,
              "%s", name);
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
    cr_assert(fread(bytes, 1, *size, file) == *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

/* ---- bf16: the same bits --------------------------------------------------------------------- */

static void check_same_bits(const assay_model *source, const assay_model *made)
{
    cr_assert(assay_model_num_tensors(source) == assay_model_num_tensors(made));
    for (int64_t i = 0; i < assay_model_num_tensors(source); i++) {
        const char *name, *made_name;
        const struct assay_tensor a = assay_model_tensor_at(source, i, &name);
        const struct assay_tensor b = assay_model_tensor_at(made, i, &made_name);
        cr_assert_str_eq(name, made_name);
        cr_assert(a.dtype == b.dtype && a.rank == b.rank, "%s", name);
        cr_assert(memcmp(a.extent, b.extent, sizeof a.extent) == 0, "%s", name);
        cr_assert(b.data != NULL && (uintptr_t)b.data % 256 == 0, "%s", name);
        cr_assert(memcmp(a.data, b.data, assay_tensor_span(&a)) == 0, "%s", name);
    }
    cr_assert(memcmp(assay_model_config(source), assay_model_config(made),
                     sizeof *assay_model_config(made)) == 0);
}

static void check_copies(const struct bench *bench)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "generation_config.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t expected_size, size;
        char *expected = slurp(TINY_HYBRID, names[i], &expected_size);
        char *found = slurp(bench->output, names[i], &size);
        cr_assert(size == expected_size && memcmp(found, expected, size) == 0, "%s", names[i]);
        free(expected);
        free(found);
    }
}

Test(convert, same_bits)
{
    struct bench bench;
    assay_model *source = NULL, *made = NULL;
    char digests[2][65];

    set_up(&bench);
    expect_converted(&bench, TINY_HYBRID, "bf16");
    cr_assert(assay_model_open(TINY_HYBRID, &source, NULL) == ASSAY_OK);
    cr_assert(assay_model_open(bench.output, &made, &last_error) == ASSAY_OK, "%s",
              last_error.message);
    check_same_bits(source, made);
    check_copies(&bench);
    cr_assert(assay_model_verify(made, NULL) == ASSAY_OK);
    cr_assert(assay_model_verify(source, NULL) == ASSAY_E_UNSUPPORTED);
    cr_assert(assay_model_digest(source, digests[0], NULL) == ASSAY_OK);
    cr_assert(assay_model_digest(made, digests[1], NULL) == ASSAY_OK);
    cr_assert_str_neq(digests[0], digests[1]);
    assay_model_close(source);
    assay_model_close(made);
    remove_output(&bench);
    small_remove(bench.dir);
    cr_assert(assay_live_allocations() == 0);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Relative L2 errors that the formats stay below on weights like those of a network, maxabs
 * (formats.md 8.5: 0.108, 0.050, 0.024, 0.0053 on a normal distribution). */
static double error_bound(enum assay_weight_format format)
{
    static const double bounds[ASSAY_NUM_WEIGHT_FORMATS] = {[ASSAY_WEIGHT_Q4G64] = 0.15,
                                                            [ASSAY_WEIGHT_Q5G64] = 0.07,
                                                            [ASSAY_WEIGHT_Q6G64] = 0.035,
                                                            [ASSAY_WEIGHT_Q8G32] = 0.008};
    return bounds[format];
}

/* The planes against the oracle: codes and scales that an encoder may write, the values that
 * reading gives, and maxabs group by group. */
static double check_planes(const assay_model *source, const assay_model *made, const char *name,
                           const struct assay_weights *planes, bool maxabs)
{
    const struct oracle_weight_format format = oracle_weight_format(planes->format);
    const int64_t columns = planes->columns;
    float *from = malloc((size_t)columns * sizeof *from),
          *to = malloc((size_t)columns * sizeof *to);
    double *decoded = malloc((size_t)columns * sizeof *decoded), error = 0, size = 0;
    int64_t bad_row, bad_column;

    const char *fault = oracle_weights_fault(planes, false, &bad_row, &bad_column);
    cr_assert(fault == NULL, "%s: %s", name, fault);
    for (int64_t row = 0; row < planes->rows; row++) {
        read_row(source, name, row, from);
        read_row(made, name, row, to);
        oracle_weight_row(planes, row, decoded);
        for (int64_t k = 0; k < columns; k++) {
            cr_assert(decoded[k] == to[k], "%s [%lld, %lld]", name, (long long)row, (long long)k);
            error += pow((double)from[k] - decoded[k], 2);
            size += pow((double)from[k], 2);
        }
        for (int64_t k = 0; k + format.group <= columns && maxabs && row % 16 == 0;
             k += format.group) {
            struct oracle_group group;
            cr_assert(oracle_group_maxabs(from + k, format.group, format, &group));
            cr_assert(oracle_weight_scale_word(planes, row, k / format.group) == group.scale);
            for (int i = 0; i < format.group; i++)
                cr_assert(oracle_weight_code(planes, row, k + i) == group.code[i]);
        }
    }
    free(from);
    free(to);
    free(decoded);
    return sqrt(error / size);
}

/* Returns the number of matrices in groups. */
static int check_groups(const struct bench *bench, const char *model, bool maxabs)
{
    assay_model *source = open_rows(model), *made = NULL;
    int count = 0;

    cr_assert(assay_model_open(bench->output, &made, &last_error) == ASSAY_OK, "%s",
              last_error.message);
    cr_assert(assay_model_verify(made, NULL) == ASSAY_OK);
    for (int64_t i = 0; i < assay_model_num_tensors(made); i++) {
        struct assay_stored stored;
        struct assay_weights planes;
        cr_assert(assay_model_stored_at(made, i, &stored));
        if (!assay_model_weights(made, stored.name, &planes) || planes.format == ASSAY_WEIGHT_BF16)
            continue;
        cr_assert_str_eq(stored.format, assay_weight_format_name(planes.format));
        const double error = check_planes(source, made, stored.name, &planes, maxabs);
        cr_assert(error < error_bound(planes.format), "%s, %s: %g", stored.name, stored.format,
                  error);
        count++;
    }
    assay_model_close(made);
    assay_model_close(source);
    return count;
}

static enum assay_weight_format format_of(const struct bench *bench, const char *name)
{
    assay_model *made = open_rows(bench->output);
    struct assay_weights planes;

    cr_assert(assay_model_weights(made, name, &planes), "%s", name);
    assay_model_close(made);
    return planes.format;
}

Test(convert, groups, .timeout = 240)
{
    struct bench bench;

    set_up(&bench);
    expect_converted(&bench, TINY_HYBRID, "q8");
    cr_assert(check_groups(&bench, TINY_HYBRID, true) == 60);
    cr_assert(format_of(&bench, "model.layers.0.linear_attn.in_proj_a.weight") ==
              ASSAY_WEIGHT_BF16);
    cr_assert(format_of(&bench, "lm_head.weight") == ASSAY_WEIGHT_Q8G32);
    remove_output(&bench);
    expect_converted(&bench, TINY_HYBRID, "q4-mixed");
    check_groups(&bench, TINY_HYBRID, true);
    cr_assert(format_of(&bench, "model.layers.3.self_attn.q_proj.weight") == ASSAY_WEIGHT_Q4G64);
    cr_assert(format_of(&bench, "model.layers.3.self_attn.v_proj.weight") == ASSAY_WEIGHT_Q5G64);
    cr_assert(format_of(&bench, "model.layers.0.mlp.up_proj.weight") == ASSAY_WEIGHT_Q4G64);
    cr_assert(format_of(&bench, "model.layers.0.mlp.down_proj.weight") == ASSAY_WEIGHT_Q5G64);
    cr_assert(format_of(&bench, "model.embed_tokens.weight") == ASSAY_WEIGHT_Q6G64);
    cr_assert(format_of(&bench, "mtp.fc.weight") == ASSAY_WEIGHT_BF16);
    remove_output(&bench);
    small_remove(bench.dir);
}

/* Banks of experts are matrices of all experts' rows, in the recipe's formats; of one bank alone
 * no pass can make use. */
Test(convert, experts)
{
    static const char gate_up[] = "model.layers.2.mlp.experts.gate_up_proj";
    static const char down[] = "model.layers.2.mlp.experts.down_proj";
    static const char half[] = "{\"rules\": [{\"pattern\": \"*experts.gate_up_proj\", "
                               "\"format\": \"q8g32\"}, "
                               "{\"pattern\": \"*\", \"format\": \"bf16\"}]}";
    struct bench bench;
    char recipe[1100];
    assay_model *made = NULL;

    set_up(&bench);
    expect_converted(&bench, TINY_MOE, "q8");
    cr_assert(format_of(&bench, gate_up) == ASSAY_WEIGHT_Q8G32);
    cr_assert(format_of(&bench, down) == ASSAY_WEIGHT_Q8G32);
    remove_output(&bench);
    expect_converted(&bench, TINY_MOE, "q4-mixed");
    cr_assert(format_of(&bench, gate_up) == ASSAY_WEIGHT_Q4G64);
    cr_assert(format_of(&bench, down) == ASSAY_WEIGHT_Q5G64);
    cr_assert(format_of(&bench, "model.layers.2.mlp.gate.weight") == ASSAY_WEIGHT_BF16);
    cr_assert(check_groups(&bench, TINY_MOE, true) > 8);
    remove_output(&bench);
    small_write(bench.dir, "half.json", half, strlen(half));
    snprintf(recipe, sizeof recipe, "%s/half.json", bench.dir);
    cr_assert(convert(&bench, TINY_MOE, recipe, ASSAY_ENCODER_MAXABS, 1) == ASSAY_OK, "%s",
              last_error.message);
    cr_assert(assay_model_open(bench.output, &made, &last_error) == ASSAY_E_UNSUPPORTED &&
                  strstr(last_error.message, "gate_up_proj in q8g32 and down_proj in bf16") != NULL,
              "%s", last_error.message);
    remove_output(&bench);
    small_remove(bench.dir);
}

/* One thread or several, and encoding a folder again in its own formats: the same payload. */
Test(convert, same_payload)
{
    struct bench bench, again;
    size_t sizes[2];
    char *payloads[2];

    set_up(&bench);
    set_up(&again);
    cr_assert(convert(&bench, TINY_HYBRID, "q4-mixed", ASSAY_ENCODER_CLIP25, 1) == ASSAY_OK);
    payloads[0] = slurp(bench.output, "payload.bin", &sizes[0]);
    for (int i = 0; i < 2; i++) {
        cr_assert(convert(&again, i == 0 ? TINY_HYBRID : bench.output, "q4-mixed",
                          i == 0 ? ASSAY_ENCODER_CLIP25 : ASSAY_ENCODER_MAXABS, 3) == ASSAY_OK);
        payloads[1] = slurp(again.output, "payload.bin", &sizes[1]);
        cr_assert(sizes[0] == sizes[1] && memcmp(payloads[0], payloads[1], sizes[0]) == 0);
        free(payloads[1]);
        remove_output(&again);
    }
    free(payloads[0]);
    remove_output(&bench);
    small_remove(bench.dir);
    small_remove(again.dir);
}

/* ---- GGUF ------------------------------------------------------------------------------------ */

static void check_same_values(const char *source_path, const char *made_path)
{
    assay_model *source = open_rows(source_path), *made = open_rows(made_path);

    cr_assert(assay_model_final_norms(made) == assay_model_final_norms(source));
    for (int64_t i = 0; i < assay_model_num_tensors(source); i++) {
        struct assay_stored stored;
        cr_assert(assay_model_stored_at(source, i, &stored));
        float *a = malloc((size_t)stored.columns * sizeof *a);
        float *b = malloc((size_t)stored.columns * sizeof *b);
        for (int64_t row = 0; row < stored.rows; row++) {
            read_row(source, stored.name, row, a);
            read_row(made, stored.name, row, b);
            cr_assert(memcmp(a, b, (size_t)stored.columns * sizeof *a) == 0, "%s", stored.name);
        }
        free(a);
        free(b);
    }
    assay_model_close(source);
    assay_model_close(made);
}

/* bf16 of BF16 and q8 of Q8_0 keep every value; q8 of a K type is checked like any other. */
Test(convert, gguf)
{
    enum { BF16 = 30, Q8_0 = 8, Q6_K = 14 };
    static const struct {
        uint32_t type;
        const char *recipe;
    } rows[] = {{BF16, "bf16"}, {Q8_0, "everything.json"}, {Q6_K, "q8"}};
    static const char everything[] = "{\"rules\":[{\"pattern\":\"*\",\"format\":\"q8g32\"}]}";
    char *made = small_folder(), gguf[1100], recipe[1100];
    struct bench bench;
    assay_model *source = NULL;

    set_up(&bench);
    sized_write(made, &sized_wide);
    small_write(made, "everything.json", everything, strlen(everything));
    snprintf(gguf, sizeof gguf, "%s/model.gguf", made);
    cr_assert(assay_model_open(made, &source, NULL) == ASSAY_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gguf_style style = {.matrix_type = rows[i].type};
        struct gguf_image image;
        gguf_write(source, &style, &image);
        small_write(made, "model.gguf", image.bytes, image.size);
        snprintf(recipe, sizeof recipe, "%s%s%s", i == 1 ? made : "", i == 1 ? "/" : "",
                 rows[i].recipe);
        expect_converted(&bench, gguf, recipe);
        if (rows[i].type == Q6_K)
            cr_assert(check_groups(&bench, gguf, true) > 20);
        else
            check_same_values(gguf, bench.output);
        remove_output(&bench);
        gguf_free(&image);
    }
    assay_model_close(source);
    small_remove(made);
    small_remove(bench.dir);
}

/* ---- importance ------------------------------------------------------------------------------ */

#define IMPORTANT      "model.layers.0.linear_attn.out_proj.weight"
#define IMPORTANT_GGUF "blk.0.ssm_out.weight"

static void put(FILE *stream, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 0xff), stream);
}

static void put_text(FILE *stream, const char *text)
{
    put(stream, strlen(text), 8);
    fputs(text, stream);
}

static void put_float(FILE *stream, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(stream, bits, 4);
}

/* Sums of squares in the order of a GGUF model, of `count` rows. */
static void write_importance(const char *dir, const float *sums, int64_t columns, float count)
{
    enum { TYPE_STRING = 8, TYPE_F32 = 0, ALIGNMENT = 32 };
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);

    cr_assert(stream != NULL && columns % (ALIGNMENT / 4) == 0);
    fputs("GGUF", stream);
    put(stream, 3, 4);
    put(stream, 2, 8);
    put(stream, 1, 8);
    put_text(stream, "general.type");
    put(stream, TYPE_STRING, 4);
    put_text(stream, "imatrix");
    for (int i = 0; i < 2; i++) {
        put_text(stream, i == 0 ? IMPORTANT_GGUF ".in_sum2" : IMPORTANT_GGUF ".counts");
        put(stream, 2, 4);
        put(stream, i == 0 ? (uint64_t)columns : 1, 8);
        put(stream, 1, 8);
        put(stream, TYPE_F32, 4);
        put(stream, i == 0 ? 0 : (uint64_t)columns * 4, 8);
    }
    while (ftello(stream) % ALIGNMENT != 0)
        fputc(0, stream);
    for (int64_t k = 0; k < columns; k++)
        put_float(stream, sums[k]);
    put_float(stream, count);
    cr_assert(fclose(stream) == 0);
    small_write(dir, "imatrix.gguf", bytes, size);
    free(bytes);
}

/* sum importance (w - w')^2 over the matrix. */
static double weighted_error(const char *source_dir, const struct bench *bench,
                             const float *importance, int64_t columns)
{
    assay_model *source = open_rows(source_dir), *made = open_rows(bench->output);
    float *a = malloc((size_t)columns * sizeof *a), *b = malloc((size_t)columns * sizeof *b);
    double sum = 0;

    for (int64_t row = 0; row < sized_wide.hidden; row++) {
        read_row(source, IMPORTANT, row, a);
        read_row(made, IMPORTANT, row, b);
        for (int64_t k = 0; k < columns; k++)
            sum += (double)importance[k] * pow((double)a[k] - (double)b[k], 2);
    }
    free(a);
    free(b);
    assay_model_close(source);
    assay_model_close(made);
    return sum;
}

/* The file's order is the tiled one: read in another, the weights would not help. */
Test(convert, importance)
{
    enum { COLUMNS = 768, HEADS = 6, WIDTH = COLUMNS / HEADS, KEYS = 2, RATIO = HEADS / KEYS };
    float sums[COLUMNS], importance[COLUMNS];
    struct assay_convert_options options = assay_convert_defaults();
    char *made = small_folder(), path[1100];
    struct bench bench;
    double errors[2];

    set_up(&bench);
    sized_write(made, &sized_wide);
    for (int n = 0; n < HEADS; n++)
        for (int i = 0; i < WIDTH; i++) {
            const int grouped = n % KEYS * RATIO + n / KEYS; /* qwen3_5.md section 8.4 */
            const float mean = (n * 7 + i * 5) % 11 == 0 ? 400.0f : 1.0f;
            sums[n * WIDTH + i] = 3 * mean;
            importance[grouped * WIDTH + i] = mean;
        }
    write_importance(made, sums, COLUMNS, 3);
    snprintf(path, sizeof path, "%s/imatrix.gguf", made);
    for (int i = 0; i < 2; i++) {
        options.model = made;
        options.output = bench.output;
        options.recipe = "q4-mixed";
        options.encoder = ASSAY_ENCODER_GROUPED;
        options.importance = i == 0 ? NULL : path;
        assay_error_clear(&last_error);
        cr_assert(assay_convert(&options, NULL, &last_error) == ASSAY_OK, "%s: %s", last_error.what,
                  last_error.message);
        errors[i] = weighted_error(made, &bench, importance, COLUMNS);
        remove_output(&bench);
    }
    cr_log_info("weighted error %g, with importance %g", errors[0], errors[1]);
    cr_assert(errors[1] < 0.7 * errors[0]);
    write_importance(made, sums, COLUMNS, 0);
    options.importance = path;
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_CORRUPT);
    sums[5] = -1;
    write_importance(made, sums, COLUMNS, 3);
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_CORRUPT);
    cr_assert(count_entries(bench.dir) == 0);
    small_remove(made);
    small_remove(bench.dir);
}

/* ---- recipes --------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    assay_status status;
    const char *what;
} bad_recipes[] = {
    {"{}", ASSAY_E_PARSE, "rules"},
    {"{\"rules\":[]}", ASSAY_E_PARSE, "rules"},
    {"{\"rules\":7}", ASSAY_E_PARSE, "rules"},
    {"[]", ASSAY_E_PARSE, "JSON"},
    {"{\"rules\":[", ASSAY_E_PARSE, "JSON"},
    {"{\"name\":1,\"rules\":[{\"pattern\":\"*\",\"format\":\"bf16\"}]}", ASSAY_E_PARSE, "name"},
    {"{\"rules\":[{\"format\":\"q8g32\"}]}", ASSAY_E_PARSE, "rules[0].pattern"},
    {"{\"rules\":[{\"pattern\":\"\",\"format\":\"q8g32\"}]}", ASSAY_E_PARSE, "rules[0].pattern"},
    {"{\"rules\":[{\"pattern\":\"*\"}]}", ASSAY_E_PARSE, "rules[0].format"},
    {"{\"rules\":[{\"pattern\":\"*\",\"format\":\"q3\"}]}", ASSAY_E_PARSE, "rules[0].format"},
    {"{\"rules\":[{\"pattern\":\"*\",\"format\":\"q8g32\",\"encoder\":\"best\"}]}", ASSAY_E_PARSE,
     "rules[0].encoder"},
    {"{\"rules\":[{\"pattern\":\"*\",\"format\":\"q8g32\",\"group\":7}]}", ASSAY_E_PARSE,
     "rules[0]."},
    {"{\"rules\":[{\"pattern\":\"*.down\",\"format\":\"q8g32\"}]}", ASSAY_E_NOT_FOUND, "*.down"},
    {"{\"rules\":[{\"pattern\":\"*\",\"format\":\"q8g32\"},"
     "{\"pattern\":\"*.down_proj.weight\",\"format\":\"bf16\"}]}",
     ASSAY_E_NOT_FOUND, "*.down_proj.weight"},
    {"{\"rules\":[{\"pattern\":\"*norm.weight\",\"format\":\"q8g32\"}]}", ASSAY_E_NOT_FOUND,
     "*norm.weight"},
};

Test(convert, recipes)
{
    static const char good[] =
        "{\"name\":\"mine\",\"rules\":["
        "{\"pattern\":\"*.layers.[0-3].mlp.down_proj.weight\",\"format\":\"q6g64\",\"encoder\":"
        "\"clip25\"},{\"pattern\":\"*.down_proj.weight\",\"format\":\"q4g64\"}]}";
    struct bench bench;
    char *recipes = small_folder(), path[1100];
    struct assay_stored stored;

    set_up(&bench);
    snprintf(path, sizeof path, "%s/r.json", recipes);
    for (size_t i = 0; i < sizeof bad_recipes / sizeof *bad_recipes; i++) {
        small_write(recipes, "r.json", bad_recipes[i].text, strlen(bad_recipes[i].text));
        const assay_status status = convert(&bench, TINY_HYBRID, path, ASSAY_ENCODER_MAXABS, 1);
        cr_assert(status == bad_recipes[i].status, "%s: %s", bad_recipes[i].text,
                  assay_status_name(status));
        cr_assert_str_eq(last_error.what, bad_recipes[i].what);
        cr_assert(count_entries(bench.dir) == 0);
    }
    cr_assert(convert(&bench, TINY_HYBRID, "q7", ASSAY_ENCODER_MAXABS, 1) == ASSAY_E_NOT_FOUND);
    cr_assert(convert(&bench, TINY_HYBRID, "/none.json", ASSAY_ENCODER_MAXABS, 1) ==
              ASSAY_E_NOT_FOUND);
    small_write(recipes, "r.json", good, strlen(good));
    expect_converted(&bench, TINY_HYBRID, path);
    cr_assert(format_of(&bench, "model.layers.3.mlp.down_proj.weight") == ASSAY_WEIGHT_Q6G64);
    cr_assert(format_of(&bench, "model.layers.4.mlp.down_proj.weight") == ASSAY_WEIGHT_Q4G64);
    cr_assert(format_of(&bench, "model.layers.4.mlp.up_proj.weight") == ASSAY_WEIGHT_BF16);
    assay_model *made = open_rows(bench.output);
    const int64_t index = assay_model_find(made, "model.layers.3.mlp.down_proj.weight");
    cr_assert(assay_model_stored_at(made, index, &stored));
    cr_assert_str_eq(stored.encoder, "clip25");
    assay_model_close(made);
    remove_output(&bench);
    small_remove(recipes);
    small_remove(bench.dir);
}

/* ---- conversions that do not end well -------------------------------------------------------- */

struct stop {
    int calls, at;
};

static bool stop_at(void *argument, const struct assay_convert_progress *progress)
{
    struct stop *stop = argument;
    cr_assert(progress->total > 0 && progress->done < progress->total && progress->tensor != NULL);
    return ++stop->calls != stop->at;
}

static void check_nothing_left(const struct bench *bench, const char *label)
{
    cr_assert(count_entries(bench->dir) == 0, "%s leaves something behind", label);
    cr_assert(assay_live_allocations() == 0, "%s leaks", label);
}

Test(convert, interrupted)
{
    struct assay_convert_options options = assay_convert_defaults();
    struct bench bench;

    set_up(&bench);
    for (int at = 1; at <= 101; at += 25) {
        struct stop stop = {0, at};
        options.model = TINY_HYBRID;
        options.output = bench.output;
        options.recipe = "q8";
        options.progress = stop_at;
        options.argument = &stop;
        assay_error_clear(&last_error);
        cr_assert(assay_convert(&options, NULL, &last_error) == ASSAY_E_CANCELLED);
        cr_assert(stop.calls == at && last_error.what[0] != '\0');
        check_nothing_left(&bench, "an interrupted conversion");
    }
    small_remove(bench.dir);
}

/* A limit on the size of files ends a write as a full disk does. */
Test(convert, no_room)
{
    const rlim_t limits[] = {0, 100, 100000, 17553919};
    struct bench bench;

    set_up(&bench);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;
        cr_assert(getrlimit(RLIMIT_FSIZE, &limit) == 0);
        limit.rlim_cur = limits[i];
        cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        const assay_status status = convert(&bench, TINY_HYBRID, "bf16", ASSAY_ENCODER_MAXABS, 1);
        limit.rlim_cur = limit.rlim_max;
        cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        cr_assert(status == ASSAY_E_IO, "%s", assay_status_name(status));
        cr_assert_str_eq(last_error.where, "payload.bin");
        check_nothing_left(&bench, "a full disk");
    }
    small_remove(bench.dir);
}

Test(convert, bad_calls)
{
    struct assay_convert_options options = assay_convert_defaults();
    struct bench bench;

    set_up(&bench);
    cr_assert(assay_convert(NULL, NULL, NULL) == ASSAY_E_ARG);
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_ARG);
    options.model = TINY_HYBRID;
    options.recipe = "bf16";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_ARG);
    options.output = "/dev/full";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_IO);
    options.output = "/nonexistent/out.assay";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_IO);
    options.output = bench.dir; /* is there */
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_IO);
    options.output = bench.output;
    options.encoder = ASSAY_NUM_WEIGHT_ENCODERS;
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_ARG);
    options.encoder = ASSAY_ENCODER_MAXABS;
    options.importance = TINY_HYBRID "/config.json";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_CORRUPT);
    options.importance = NULL;
    options.model = "/nonexistent";
    cr_assert(assay_convert(&options, NULL, NULL) == ASSAY_E_NOT_FOUND);
    check_nothing_left(&bench, "a bad call");
    small_remove(bench.dir);
}

/* The n-th operation fails, for every n. */
Test(convert, faults, .timeout = 240)
{
    enum { MAX_STEPS = 100000, STRIDE = 3 };
    char *made = small_folder();
    struct bench bench;
    int64_t n = 1;

    set_up(&bench);
    sized_write(made, &sized_small);
    for (; n < MAX_STEPS; n += n < 200 ? 1 : STRIDE) {
        assay_fault_after(n);
        const assay_status status = convert(&bench, made, "q4-mixed", ASSAY_ENCODER_MAXABS, 1);
        const bool happened = assay_fault_happened();
        assay_fault_after(0);
        if (status == ASSAY_OK) {
            cr_assert_not(happened, "step %lld was swallowed", (long long)n);
            break;
        }
        cr_assert(happened && (status == ASSAY_E_MEMORY || status == ASSAY_E_IO), "step %lld: %s",
                  (long long)n, assay_status_name(status));
        check_nothing_left(&bench, "a failed operation");
    }
    cr_log_info("%lld steps", (long long)n);
    cr_assert(n > 500 && n < MAX_STEPS);
    remove_output(&bench);
    small_remove(bench.dir);
    small_remove(made);
}

/* One bit of planes and padding. */
Test(convert, digests)
{
    struct bench bench;
    char *made = small_folder();
    size_t size, seen = 0;

    set_up(&bench);
    sized_write(made, &sized_small);
    expect_converted(&bench, made, "q4-mixed");
    char *payload = slurp(bench.output, "payload.bin", &size);
    for (size_t at = 0; at < size; at += 97) {
        assay_model *model = NULL;
        payload[at] ^= 0x10;
        small_write(bench.output, "payload.bin", payload, size);
        payload[at] ^= 0x10;
        cr_assert(assay_model_open(bench.output, &model, NULL) == ASSAY_OK);
        assay_error_clear(&last_error);
        cr_assert(assay_model_verify(model, &last_error) == ASSAY_E_CORRUPT, "byte %zu", at);
        cr_assert(assay_model_find(model, last_error.what) >= 0, "%s", last_error.what);
        seen++;
        assay_model_close(model);
    }
    cr_assert(seen > 100);
    free(payload);
    remove_output(&bench);
    small_remove(made);
    small_remove(bench.dir);
}
