/* SPDX-License-Identifier: MIT
 *
 * Readers of the references and the fixture of the forward-pass tests. The safetensors reader here
 * is deliberately not the engine's: it takes the header apart with jansson alone.
 */
#include "engine_common.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/convert.h>
#include <assay/device.h>

#include <criterion/criterion.h>
#include <jansson.h>

void engine_expect_ok(assay_status status, const struct assay_error *error, const char *what)
{
    char text[1024];
    assay_error_format(error, text, sizeof text);
    cr_assert(status == ASSAY_OK, "%s: %s", what, text);
}

void engine_session(struct engine *engine, const struct assay_session_options *options)
{
    struct assay_error error = {0};
    assay_session_destroy(engine->session);
    engine_expect_ok(
        assay_session_create(engine->context, engine->model, options, &engine->session, &error),
        &error, "session");
}

/* The same tests run on a device where one is. */
#ifndef ENGINE_BACKEND
#define ENGINE_BACKEND ASSAY_CPU
#endif

static void open_context(struct engine *engine, int num_threads)
{
    struct assay_error error = {0};
    struct assay_context_options options = assay_context_defaults();
    if (ENGINE_BACKEND == ASSAY_CUDA && assay_device_count() == 0) {
        puts("no CUDA device");
        fflush(stdout);
        cr_skip_test("no CUDA device");
    }
    options.backend = ENGINE_BACKEND;
    options.num_threads = num_threads;
    engine_expect_ok(assay_context_create(&options, &engine->context, &error), &error, "context");
}

void engine_open(struct engine *engine, const struct assay_session_options *options)
{
    struct assay_error error = {0};
    *engine = (struct engine){0};
    engine_expect_ok(assay_model_open(TINY_MODEL, &engine->model, &error), &error, "model");
    engine->vocab = assay_model_config(engine->model)->vocab_size;
    open_context(engine, 2);
    engine_session(engine, options);
}

void engine_threads(struct engine *engine, int num_threads)
{
    assay_session_destroy(engine->session);
    engine->session = NULL;
    assay_context_destroy(engine->context);
    open_context(engine, num_threads);
    engine_session(engine, NULL);
}

void engine_close(struct engine *engine)
{
    assay_session_destroy(engine->session);
    assay_context_destroy(engine->context);
    assay_model_close(engine->model);
}

void engine_open_model(struct engine *engine, const char *path)
{
    struct assay_error error = {0};
    *engine = (struct engine){0};
    engine_expect_ok(assay_model_open(path, &engine->model, &error), &error, path);
    engine->vocab = assay_model_config(engine->model)->vocab_size;
    open_context(engine, 2);
}

void engine_convert(const char *model, const char *recipe, const char *output)
{
    struct assay_error error = {0};
    struct assay_convert_options options = assay_convert_defaults();
    options.model = model;
    options.output = output;
    options.recipe = recipe;
    engine_expect_ok(assay_convert(&options, NULL, &error), &error, "convert");
}

const struct case_mutant *engine_mutant(const char *route)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int i = 0; i < num_specs; i++)
        for (int m = 0; m < specs[i]->num_mutants; m++)
            if (strcmp(specs[i]->mutants[m].route.name, route) == 0)
                return &specs[i]->mutants[m];
    cr_assert_fail("there is no mutant %s", route);
    return NULL;
}

/* ---- references ---------------------------------------------------------------------------- */

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    cr_assert(memory != NULL, "out of memory");
    return memory;
}

static void read_exactly(FILE *file, void *data, size_t bytes, const char *path)
{
    cr_assert(fread(data, 1, bytes, file) == bytes, "%s: ends too early", path);
}

/* The header of a safetensors file, and where its data begins. */
static json_t *read_header(FILE *file, const char *path, long *data_at)
{
    unsigned char length[8];
    read_exactly(file, length, sizeof length, path);
    size_t bytes = 0;
    for (int i = 7; i >= 0; i--)
        bytes = bytes << 8 | length[i];
    cr_assert(bytes < 1u << 20, "%s: header of %zu bytes", path, bytes);
    char *text = allocate(bytes);
    read_exactly(file, text, bytes, path);
    json_t *header = json_loadb(text, bytes, 0, NULL);
    cr_assert(header != NULL, "%s: header is no JSON", path);
    free(text);
    *data_at = (long)(8 + bytes);
    return header;
}

/* Both fixtures and the project's targets are little-endian. */
static double element(const unsigned char *data, const char *dtype, int64_t index)
{
    double f64;
    float f32;
    int64_t i64;
    if (strcmp(dtype, "F64") == 0)
        return memcpy(&f64, data + 8 * index, 8), f64;
    if (strcmp(dtype, "F32") == 0)
        return memcpy(&f32, data + 4 * index, 4), (double)f32;
    cr_assert(strcmp(dtype, "I64") == 0, "reference of dtype %s", dtype);
    return memcpy(&i64, data + 8 * index, 8), (double)i64;
}

double *reference_tensor(const char *path, const char *name, int64_t *count)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s: cannot be opened", path);
    long data_at;
    json_t *header = read_header(file, path, &data_at);
    const json_t *entry = json_object_get(header, name);
    cr_assert(entry != NULL, "%s: no tensor %s", path, name);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    const json_int_t end = json_integer_value(json_array_get(offsets, 1));
    cr_assert(dtype != NULL && begin >= 0 && end > begin, "%s: bad entry %s", path, name);

    const size_t bytes = (size_t)(end - begin);
    unsigned char *data = allocate(bytes);
    cr_assert(fseek(file, data_at + (long)begin, SEEK_SET) == 0, "%s: seek", path);
    read_exactly(file, data, bytes, path);
    *count = (int64_t)(bytes / (strcmp(dtype, "F32") == 0 ? 4 : 8));
    double *values = allocate((size_t)*count * sizeof *values);
    for (int64_t i = 0; i < *count; i++)
        values[i] = element(data, dtype, i);
    free(data);
    json_decref(header);
    fclose(file);
    return values;
}

long reference_offset(const char *path, const char *name, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s: cannot be opened", path);
    long data_at, at = -1;
    json_t *header = read_header(file, path, &data_at);
    const json_t *offsets = json_object_get(json_object_get(header, name), "data_offsets");
    if (offsets != NULL) {
        const json_int_t begin = json_integer_value(json_array_get(offsets, 0));
        *bytes = (size_t)(json_integer_value(json_array_get(offsets, 1)) - begin);
        at = data_at + (long)begin;
    }
    json_decref(header);
    fclose(file);
    return at;
}

int32_t *reference_ids(const char *path, const char *name, int64_t *count)
{
    double *values = reference_tensor(path, name, count);
    int32_t *ids = allocate((size_t)*count * sizeof *ids);
    for (int64_t i = 0; i < *count; i++)
        ids[i] = (int32_t)values[i];
    free(values);
    return ids;
}

static int32_t *json_ids(const json_t *array, int64_t *count)
{
    *count = (int64_t)json_array_size(array);
    cr_assert(*count > 0, "greedy.json: empty or missing list of ids");
    int32_t *ids = allocate((size_t)*count * sizeof *ids);
    for (int64_t i = 0; i < *count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return ids;
}

static void read_prompt(const json_t *entry, struct greedy_prompt *prompt)
{
    int64_t num_prompt, num_generated;
    const char *name = json_string_value(json_object_get(entry, "name"));
    const json_t *steps = json_object_get(entry, "steps");
    snprintf(prompt->name, sizeof prompt->name, "%s", name == NULL ? "?" : name);
    prompt->prompt = json_ids(json_object_get(entry, "prompt_ids"), &num_prompt);
    prompt->generated = json_ids(json_object_get(entry, "generated_ids"), &num_generated);
    cr_assert((int64_t)json_array_size(steps) == num_generated, "%s: steps", prompt->name);
    prompt->num_prompt = num_prompt;
    prompt->num_generated = num_generated;
    prompt->steps = allocate((size_t)num_generated * sizeof *prompt->steps);
    for (int64_t i = 0; i < num_generated; i++) {
        const json_t *step = json_array_get(steps, (size_t)i);
        prompt->steps[i] = (struct greedy_step){
            .top1 = (int32_t)json_integer_value(json_object_get(step, "top1")),
            .top2 = (int32_t)json_integer_value(json_object_get(step, "top2")),
            .logit1 = json_number_value(json_object_get(step, "logit1")),
            .logit2 = json_number_value(json_object_get(step, "logit2")),
        };
    }
}

struct greedy_prompt *greedy_read(const char *path, size_t *num)
{
    json_t *root = json_load_file(path, 0, NULL);
    cr_assert(json_is_array(root), "%s: no JSON array", path);
    *num = json_array_size(root);
    struct greedy_prompt *prompts = allocate(*num * sizeof *prompts);
    for (size_t i = 0; i < *num; i++)
        read_prompt(json_array_get(root, i), &prompts[i]);
    json_decref(root);
    return prompts;
}

void greedy_free(struct greedy_prompt *prompts, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        free(prompts[i].prompt);
        free(prompts[i].generated);
        free(prompts[i].steps);
    }
    free(prompts);
}

const struct greedy_prompt *greedy_longest(const struct greedy_prompt *prompts, size_t num)
{
    const struct greedy_prompt *longest = prompts;
    for (size_t i = 1; i < num; i++)
        if (prompts[i].num_prompt > longest->num_prompt)
            longest = &prompts[i];
    return longest;
}

/* ---- distances ----------------------------------------------------------------------------- */

double relative_l2(const float *a, const double *b, int64_t count)
{
    double error = 0.0, norm = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double difference = (double)a[i] - b[i];
        error += difference * difference;
        norm += b[i] * b[i];
    }
    return sqrt(error / norm);
}

double largest_difference(const float *a, const double *b, int64_t count)
{
    double largest = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double difference = fabs((double)a[i] - b[i]);
        /* Written so that a NaN is the largest. */
        if (!(difference <= largest))
            largest = difference;
    }
    return largest;
}

void engine_check_logits(struct engine *engine, const char *path, const char *name, double budget)
{
    char tensor[64];
    struct assay_error error = {0};
    int64_t num_ids, count;
    snprintf(tensor, sizeof tensor, "%s.input_ids", name);
    int32_t *ids = reference_ids(path, tensor, &num_ids);
    snprintf(tensor, sizeof tensor, "%s.logits", name);
    double *expected = reference_tensor(path, tensor, &count);
    cr_assert(count == num_ids * engine->vocab, "%s: %lld logits", name, (long long)count);
    float *logits = malloc((size_t)count * sizeof *logits);
    cr_assert(logits != NULL);

    assay_session_reset(engine->session);
    engine_expect_ok(
        assay_session_forward(engine->session, ids, num_ids, ASSAY_LOGITS_ALL, logits, &error),
        &error, name);
    double worst = 0.0;
    for (int64_t t = 0; t < num_ids; t++) {
        const double row =
            relative_l2(logits + t * engine->vocab, expected + t * engine->vocab, engine->vocab);
        cr_assert(row <= budget, "%s: row %lld is off by %.3g of its norm, budget %.3g", name,
                  (long long)t, row, budget);
        worst = row > worst ? row : worst;
    }
    printf("%s: %lld rows, worst relative L2 %.3g of %.3g, largest difference %.3g\n", name,
           (long long)num_ids, worst, budget, largest_difference(logits, expected, count));
    free(logits);
    free(expected);
    free(ids);
}
