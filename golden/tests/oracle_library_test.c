/* SPDX-License-Identifier: MIT
 *
 * model.oracle.library and model.oracle.library.long: the binary32 casts of the HuggingFace
 * implementation explain how far its logits lie from the binary64 ones.
 *
 * Two kinds of cast. Rotary angles: position * frequency in binary32 is off by up to 2^-24 times
 * the angle, the same on every machine; it grows with the position and is reproduced. Everything
 * else (norms, gates, delta rule, softmax) errs by units in the last place that depend on the order
 * of additions and on the device's exp and reciprocal root; its size is reproduced, its sign is
 * not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "oracle_fixture.h"

#define STEPS      128
#define MAX_TOKENS 4096

/* Logits of the last `rows` of n tokens; free(). */
static double *run(const struct oracle_model *model, enum oracle_arithmetic arithmetic,
                   const int32_t *ids, int64_t n, int64_t rows)
{
    int64_t vocab = oracle_model_extents(model).vocab_size;
    double *logits = malloc((size_t)(rows * vocab) * sizeof *logits);
    cr_assert_not_null(logits);
    struct oracle_session *session = fixture_session(model, arithmetic, ORACLE_FAULT_NONE);
    fixture_forward(session, ids, n,
                    &(struct oracle_outputs){.logits = logits, .first_logits = n - rows});
    oracle_session_free(session);
    return logits;
}

static json_t *load(const char *file)
{
    char path[4096];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/%s", FIXTURE_REFERENCES, file);
    json_t *root = json_load_file(path, 0, &error);
    cr_assert_not_null(root, "%s: %s", path, error.text);
    return root;
}

/* The largest logit difference over the greedy steps must be the recorded one, to `share`. */
static void check_prediction(const struct oracle_model *model, const char *name, double share)
{
    json_t *list = load("greedy.json"), *casts = load("casts.json");
    const json_t *same = json_object_get(json_object_get(casts, "greedy_library_vs_float64"), name);
    double recorded = json_real_value(json_object_get(same, "max_abs_logit_diff_while_equal"));
    cr_assert_gt(recorded, 0);
    static int32_t ids[MAX_TOKENS];
    int64_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(entry, "name")), name) != 0)
            continue;
        const char *const parts[] = {"prompt_ids", "generated_ids"};
        for (int part = 0; part < 2; part++) {
            const json_t *values = json_object_get(entry, parts[part]);
            cr_assert_leq(n + (int64_t)json_array_size(values), MAX_TOKENS);
            for (size_t k = 0; k < json_array_size(values); k++)
                ids[n++] = (int32_t)json_integer_value(json_array_get(values, k));
        }
    }
    cr_assert_gt(n, STEPS);
    double *wide = run(model, ORACLE_FLOAT64, ids, n - 1, STEPS);
    double *library = run(model, ORACLE_LIBRARY, ids, n - 1, STEPS);
    double predicted =
        fixture_max_difference(wide, library, STEPS * oracle_model_extents(model).vocab_size);
    cr_log_info("%s: largest difference %.3e, recorded %.3e", name, predicted, recorded);
    cr_assert_leq(fabs(predicted - recorded), share * recorded, "%s: %g, recorded %g", name,
                  predicted, recorded);
    free(wide);
    free(library);
    json_decref(list);
    json_decref(casts);
}

#ifdef ORACLE_LIBRARY_LONG
Test(model_oracle, library_long)
{
    struct oracle_model *model = fixture_model();
    check_prediction(model, "long-3000", 0.03);
    oracle_model_close(model);
}
#else
Test(model_oracle, library_medium)
{
    struct oracle_model *model = fixture_model();
    check_prediction(model, "long-700", 0.08);
    oracle_model_close(model);
}

static double rms_difference(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / (double)count);
}

/* Short prompts, where rotary angles are small and last-place errors rule. */
Test(model_oracle, library_short)
{
    static const char *const names[] = {"prose-verse", "chat-sum"};
    struct oracle_model *model = fixture_model();
    struct oracle_archive *archive = fixture_archive("logits-library-f64-slim.safetensors");
    json_t *casts = load("casts.json");
    const json_t *largest = json_object_get(casts, "max_abs_logit_diff_library_vs_float64");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char tensor[64];
        int64_t n, count;
        (void)snprintf(tensor, sizeof tensor, "%s.input_ids", names[i]);
        int32_t *ids = fixture_ids(archive, tensor, &n);
        (void)snprintf(tensor, sizeof tensor, "%s.logits", names[i]);
        double *reference = fixture_tensor(archive, tensor, &count);
        double *wide = run(model, ORACLE_FLOAT64, ids, n, n);
        double *library = run(model, ORACLE_LIBRARY, ids, n, n);

        /* The distance of the library's logits from ours is the one recorded beside them. */
        double recorded = json_real_value(json_object_get(largest, names[i]));
        double distance = fixture_max_difference(reference, wide, count);
        cr_assert_leq(fabs(distance - recorded),
                      fixture_allowance(9, n, fixture_max_abs(reference, count)),
                      "%s: distance %.17g, recorded %.17g", names[i], distance, recorded);
        /* The casts move our logits by as much as the library's, within a factor of 2. */
        double theirs = rms_difference(reference, wide, count);
        double ours = rms_difference(library, wide, count);
        cr_log_info("%s: rms distance from binary64: library %.2e, our casts %.2e", names[i],
                    theirs, ours);
        cr_assert(ours > theirs / 2 && ours < theirs * 2, "%s: %g, %g", names[i], ours, theirs);
        free(library);
        free(wide);
        free(reference);
        free(ids);
    }
    json_decref(casts);
    oracle_archive_close(archive);
    oracle_model_close(model);
}
#endif
