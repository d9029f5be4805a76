/* SPDX-License-Identifier: MIT
 *
 * model.oracle.nll: per-token losses of the held-out prose, without a tokenizer. The prompts
 * long-700 and long-3000 are tokens 2000..2699 and 20000..22999 of that text. Losses were taken in
 * windows of 1024 tokens that begin at multiples of 512 with an empty state and score their last
 * 512 tokens, so each window that begins inside a prompt is reproduced as far as the prompt
 * reaches.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "oracle_fixture.h"

#define WINDOW     1024
#define STRIDE     512
#define MAX_TOKENS 3000

static const struct {
    const char *name;
    int64_t begin; /* of the prompt in the text */
} excerpts[] = {{"long-700", 2000}, {"long-3000", 20000}};

static int64_t load_prompt(const json_t *list, const char *name, int32_t ids[MAX_TOKENS])
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(entry, "name")), name) != 0)
            continue;
        const json_t *prompt = json_object_get(entry, "prompt_ids");
        size_t n = json_array_size(prompt);
        cr_assert_leq(n, MAX_TOKENS);
        for (size_t k = 0; k < n; k++)
            ids[k] = (int32_t)json_integer_value(json_array_get(prompt, k));
        return (int64_t)n;
    }
    cr_assert_fail("no prompt %s", name);
    return 0;
}

/* -log softmax(logits)[target] */
static double loss(const double *logits, int64_t vocab, int32_t target)
{
    double largest = logits[oracle_argmax(logits, vocab)], sum = 0;
    for (int64_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - largest);
    return log(sum) + largest - logits[target];
}

/* Scores tokens [STRIDE, n) of a window; reference[i] is the loss of the window's token i. */
static void check_window(const struct oracle_model *model, const int32_t *ids, int64_t n,
                         const double *reference, int64_t begin)
{
    int64_t vocab = oracle_model_extents(model).vocab_size, first = STRIDE - 1;
    double *logits = malloc((size_t)((n - first) * vocab) * sizeof *logits), worst = 0;
    cr_assert_not_null(logits);
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
    fixture_forward(session, ids, n,
                    &(struct oracle_outputs){.logits = logits, .first_logits = first});
    oracle_session_free(session);
    for (int64_t t = STRIDE; t < n; t++)
        worst =
            fmax(worst, fabs(loss(logits + (t - 1 - first) * vocab, vocab, ids[t]) - reference[t]));
    /* A loss is a difference of two quantities, each as far off as the logits are. */
    double allowed = 2 * fixture_allowance(9, n, fixture_max_abs(logits, (n - first) * vocab));
    cr_log_info("window at %lld: %lld losses, largest difference %.1e of %.1e", (long long)begin,
                (long long)(n - STRIDE), worst, allowed);
    cr_assert_leq(worst, allowed, "window at %lld: %g above %g", (long long)begin, worst, allowed);
    free(logits);
}

Test(model_oracle, nll)
{
    static int32_t ids[MAX_TOKENS];
    struct oracle_model *model = fixture_model();
    struct oracle_archive *archive = fixture_archive("nll-per-token-f64.safetensors");
    json_error_t error;
    json_t *list = json_load_file(FIXTURE_REFERENCES "/greedy.json", 0, &error);
    cr_assert(json_is_array(list), "greedy.json: %s", error.text);
    int64_t count;
    double *losses = fixture_tensor(archive, "prose", &count); /* entry i: token i + 1 */
    int windows = 0;
    for (size_t e = 0; e < sizeof excerpts / sizeof excerpts[0]; e++) {
        int64_t from = excerpts[e].begin, to = from + load_prompt(list, excerpts[e].name, ids);
        int64_t begin = (from + STRIDE - 1) / STRIDE * STRIDE;
        for (; begin + STRIDE < to; begin += STRIDE, windows++) {
            int64_t n = to - begin < WINDOW ? to - begin : WINDOW;
            check_window(model, ids + (begin - from), n, losses + begin - 1, begin);
        }
    }
    cr_assert_eq(windows, 5, "%d windows", windows);
    free(losses);
    json_decref(list);
    oracle_archive_close(archive);
    oracle_model_close(model);
}
