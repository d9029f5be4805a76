/* SPDX-License-Identifier: MIT
 *
 * model.oracle.logits: logits of every position of three prompts, and what must not change them:
 * how the prompt is cut into calls, the number of threads, a fork of the session.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

struct prompt {
    const char *file, *name;
    double input_rounding; /* unit roundoff of the file's format; 0 for binary64 */
};

static const struct prompt prompts[] = {
    {"logits-f64.safetensors", "prose-verse", 0},
    {"logits-f64.safetensors", "chat-sum", 0},
    {"logits-f32.safetensors", "unicode", 0x1p-24},
};

#define NUM_PROMPTS (sizeof prompts / sizeof prompts[0])

/* The prompt's ids; *reference gets its [n, V] logits. */
static int32_t *load_prompt(const struct prompt *prompt, int64_t vocab, double **reference,
                            int64_t *n)
{
    struct oracle_archive *archive = fixture_archive(prompt->file);
    char name[64];
    int64_t count;
    (void)snprintf(name, sizeof name, "%s.input_ids", prompt->name);
    int32_t *ids = fixture_ids(archive, name, n);
    (void)snprintf(name, sizeof name, "%s.logits", prompt->name);
    *reference = fixture_tensor(archive, name, &count);
    cr_assert_eq(count, *n * vocab);
    oracle_archive_close(archive);
    return ids;
}

static double *room(int64_t count)
{
    double *values = malloc((size_t)count * sizeof *values);
    cr_assert_not_null(values);
    return values;
}

/* Largest difference that the rounding of the reference when it was stored does not cover. */
static double difference_beyond_rounding(const double *logits, const double *reference,
                                         int64_t count, double rounding)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        /* |stored - exact| <= u |exact| <= u |stored| / (1 - u) */
        double beyond =
            fabs(logits[i] - reference[i]) - rounding / (1 - rounding) * fabs(reference[i]);
        largest = fmax(largest, isnan(beyond) ? INFINITY : beyond);
    }
    return largest;
}

Test(model_oracle, logits)
{
    struct oracle_model *model = fixture_model();
    int64_t vocab = oracle_model_extents(model).vocab_size, n;
    for (size_t i = 0; i < NUM_PROMPTS; i++) {
        double *reference;
        int32_t *ids = load_prompt(&prompts[i], vocab, &reference, &n);
        double *logits = room(n * vocab);
        struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
        fixture_forward(session, ids, n, &(struct oracle_outputs){.logits = logits});
        double largest = fixture_max_abs(reference, n * vocab);
        double difference =
            difference_beyond_rounding(logits, reference, n * vocab, prompts[i].input_rounding);
        double allowed = fixture_allowance(9, n, largest);
        cr_log_info("%s: largest difference %.1e of %.1e", prompts[i].name, difference, allowed);
        cr_assert_leq(difference, allowed, "%s: %g above %g", prompts[i].name, difference, allowed);
        oracle_session_free(session);
        free(logits);
        free(reference);
        free(ids);
    }
    oracle_model_close(model);
}

/* The same bits, however the work is divided. */
Test(model_oracle, division)
{
    struct oracle_model *model = fixture_model();
    struct oracle_model_extents e = oracle_model_extents(model);
    int64_t n;
    double *reference;
    int32_t *ids = load_prompt(&prompts[2], e.vocab_size, &reference, &n);
    size_t bytes = (size_t)(n * e.vocab_size) * sizeof(double);
    size_t state_bytes = (size_t)(e.value_heads * e.key_dim * e.value_dim) * sizeof(double);
    double *whole = room(n * e.vocab_size), *parts = room(n * e.vocab_size);
    struct oracle_session *first = oracle_session_new(model, NULL);
    cr_assert_not_null(first);
    fixture_forward(first, ids, n, &(struct oracle_outputs){.logits = whole});

    const int64_t sizes[] = {1, 2, 3, 5, 63};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
        for (int64_t at = 0; at < n;) {
            int64_t step = n - at < sizes[i] ? n - at : sizes[i];
            struct oracle_outputs outputs = {.logits = parts + at * e.vocab_size};
            fixture_forward(session, ids + at, step, &outputs);
            at += step;
            if (at == n / 2) { /* go on with a copy; spoil the original first */
                struct oracle_session *copy = oracle_session_fork(session);
                cr_assert_not_null(copy);
                fixture_forward(session, ids, 1, NULL);
                oracle_session_free(session);
                session = copy;
            }
        }
        cr_assert_eq(memcmp(whole, parts, bytes), 0, "calls of %lld tokens", (long long)sizes[i]);
        cr_assert_eq(oracle_session_length(session), n);
        cr_assert_eq(
            memcmp(oracle_session_state(session, 0), oracle_session_state(first, 0), state_bytes),
            0, "state after calls of %lld tokens", (long long)sizes[i]);
        oracle_session_free(session);
    }
    oracle_session_free(first);
    free(whole);
    free(parts);
    free(reference);
    free(ids);
    oracle_model_close(model);
}

/* A coarser state format must show, more the coarser it is, and not much: it is an experiment. */
Test(model_oracle, state_storage)
{
    struct oracle_model *model = fixture_model();
    int64_t vocab = oracle_model_extents(model).vocab_size, n;
    double *reference, error[4];
    int32_t *ids = load_prompt(&prompts[1], vocab, &reference, &n);
    double *logits = room(n * vocab);
    for (int storage = ORACLE_STATE_F64; storage <= ORACLE_STATE_BF16; storage++) {
        struct oracle_session_options options = {.state_storage =
                                                     (enum oracle_state_storage)storage};
        struct oracle_session *session = oracle_session_new(model, &options);
        cr_assert_not_null(session);
        fixture_forward(session, ids, n, &(struct oracle_outputs){.logits = logits});
        error[storage] = fixture_max_difference(logits, reference, n * vocab);
        /* The first token's output comes from the state before it is stored. */
        cr_assert_leq(fixture_max_difference(logits, reference, vocab),
                      fixture_allowance(9, 1, fixture_max_abs(reference, vocab)));
        oracle_session_free(session);
    }
    cr_log_info("largest logit change: f32 %.1e, f16 %.1e, bf16 %.1e", error[ORACLE_STATE_F32],
                error[ORACLE_STATE_F16], error[ORACLE_STATE_BF16]);
    cr_assert_gt(error[ORACLE_STATE_F32], 100 * error[ORACLE_STATE_F64]);
    cr_assert_gt(error[ORACLE_STATE_F16], 100 * error[ORACLE_STATE_F32]);
    cr_assert_gt(error[ORACLE_STATE_BF16], 2 * error[ORACLE_STATE_F16]);
    cr_assert_lt(error[ORACLE_STATE_BF16], 1);
    free(logits);
    free(reference);
    free(ids);
    oracle_model_close(model);
}

/* Bad calls say what is wrong. */
Test(model_oracle, refusals)
{
    char message[512] = "";
    struct oracle_model *none;
    cr_assert_neq(oracle_model_open(FIXTURE_REFERENCES, &none, message, sizeof message), ASSAY_OK);
    cr_assert_null(none);
    cr_assert_not_null(strstr(message, "config.json"), "%s", message);

    struct oracle_model *model = fixture_model();
    struct oracle_session *session = oracle_session_new(model, NULL);
    cr_assert_not_null(session);
    const int32_t bad[] = {-1, (int32_t)oracle_model_extents(model).vocab_size};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(oracle_model_forward(session, &bad[i], 1, NULL, message, sizeof message),
                     ASSAY_E_RANGE);
        cr_assert_not_null(strstr(message, "token 0"), "%s", message);
    }
    cr_assert_eq(oracle_model_forward(session, bad, 0, NULL, message, sizeof message), ASSAY_E_ARG);
    cr_assert_eq(oracle_session_length(session), 0);
    oracle_session_free(session);
    oracle_model_close(model);
}
