/* SPDX-License-Identifier: MIT
 *
 * model.oracle.greedy and model.oracle.greedy.long: the two best tokens, their logits and the MTP
 * head's draft at each of the 128 greedy steps of every prompt. One pass over prompt and generated
 * tokens gives the logits of all steps (model.oracle.logits shows that cutting changes no bit).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "oracle_fixture.h"

#define STEPS       128
#define LONG_PROMPT 100 /* tokens from which on a prompt belongs to the slow test */

static json_t *load_greedy(void)
{
    json_error_t error;
    json_t *list = json_load_file(FIXTURE_REFERENCES "/greedy.json", 0, &error);
    cr_assert(json_is_array(list), "greedy.json: %s", error.text);
    return list;
}

/* Appends a JSON list of token ids at ids[n]; returns the new length. */
static int64_t append_ids(const json_t *list, int32_t *ids, int64_t n)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        ids[n++] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static int32_t second_best(const double *logits, int64_t count, int32_t best)
{
    int64_t second = best == 0 ? 1 : 0;
    for (int64_t i = 0; i < count; i++)
        if (i != best && logits[i] > logits[second])
            second = i;
    return (int32_t)second;
}

/* Returns the larger of the two logits' differences. */
static double check_step(const json_t *step, const char *name, int i, const double *logits,
                         int64_t vocab)
{
    int32_t best = oracle_argmax(logits, vocab), second = second_best(logits, vocab, best);
    cr_assert_eq(best, json_integer_value(json_object_get(step, "top1")), "%s: step %d: best %d",
                 name, i, best);
    cr_assert_eq(second, json_integer_value(json_object_get(step, "top2")),
                 "%s: step %d: second %d", name, i, second);
    double first_off = fabs(logits[best] - json_real_value(json_object_get(step, "logit1")));
    double second_off = fabs(logits[second] - json_real_value(json_object_get(step, "logit2")));
    return fmax(first_off, second_off);
}

/* The head sees (hidden state of token t, token t + 1) from the beginning of the prompt. */
static void check_drafts(struct oracle_session *session, const json_t *entry, const char *name,
                         const int32_t *ids, int64_t n, const double *hidden, double *logits,
                         int64_t vocab)
{
    char message[512] = "";
    struct oracle_outputs outputs = {.logits = logits, .first_logits = n - STEPS};
    assay_status status =
        oracle_mtp_forward(session, ids + 1, hidden, n, &outputs, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    const json_t *drafts = json_object_get(entry, "mtp_depth1_ids");
    for (int i = 0; i < STEPS; i++) {
        int32_t best = oracle_argmax(logits + i * vocab, vocab);
        cr_assert_eq(best, json_integer_value(json_array_get(drafts, (size_t)i)),
                     "%s: draft %d: %d", name, i, best);
    }
}

/* Returns the prompt's largest logit difference. */
static double check_prompt(const struct oracle_model *model, const json_t *entry)
{
    struct oracle_model_extents e = oracle_model_extents(model);
    const char *name = json_string_value(json_object_get(entry, "name"));
    const json_t *prompt = json_object_get(entry, "prompt_ids");
    const json_t *steps = json_object_get(entry, "steps");
    size_t length = json_array_size(prompt);
    int32_t *ids = malloc((length + STEPS) * sizeof *ids);
    double *hidden = malloc((length + STEPS) * (size_t)e.hidden_size * sizeof *hidden);
    double *logits = malloc(STEPS * (size_t)e.vocab_size * sizeof *logits);
    cr_assert(ids != NULL && hidden != NULL && logits != NULL);
    int64_t total =
        append_ids(json_object_get(entry, "generated_ids"), ids, append_ids(prompt, ids, 0));
    cr_assert_eq(total, (int64_t)length + STEPS);
    int64_t n = total - 1; /* nothing is asked of the last token's logits */
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
    fixture_forward(
        session, ids, n,
        &(struct oracle_outputs){.logits = logits, .first_logits = n - STEPS, .hidden = hidden});
    double worst = 0;
    for (int i = 0; i < STEPS; i++)
        worst = fmax(worst, check_step(json_array_get(steps, (size_t)i), name, i,
                                       logits + i * e.vocab_size, e.vocab_size));
    double allowed = fixture_allowance(9, n, fixture_max_abs(logits, STEPS * e.vocab_size));
    cr_log_info("%-12s %5lld tokens: largest logit difference %.1e of %.1e", name, (long long)n,
                worst, allowed);
    cr_assert_leq(worst, allowed, "%s: %g above %g", name, worst, allowed);
    check_drafts(session, entry, name, ids, n, hidden, logits, e.vocab_size);
    oracle_session_free(session);
    free(logits);
    free(hidden);
    free(ids);
    return worst;
}

static void check_prompts(bool long_ones, int expected)
{
    struct oracle_model *model = fixture_model();
    json_t *list = load_greedy();
    int checked = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        bool is_long = json_array_size(json_object_get(entry, "prompt_ids")) >= LONG_PROMPT;
        if (is_long != long_ones)
            continue;
        (void)check_prompt(model, entry);
        checked++;
    }
    cr_assert_eq(checked, expected, "%d prompts", checked);
    json_decref(list);
    oracle_model_close(model);
}

#ifdef ORACLE_GREEDY_LONG
Test(model_oracle, greedy_long)
{
    check_prompts(true, 2);
}
#else
Test(model_oracle, greedy)
{
    check_prompts(false, 14);
}

/* Token by token, as an engine decodes. */
Test(model_oracle, decode)
{
    struct oracle_model *model = fixture_model();
    json_t *list = load_greedy();
    const json_t *entry = json_array_get(list, 0);
    int64_t vocab = oracle_model_extents(model).vocab_size;
    double *logits = malloc((size_t)vocab * sizeof *logits);
    cr_assert_not_null(logits);
    int32_t ids[LONG_PROMPT];
    int64_t n = append_ids(json_object_get(entry, "prompt_ids"), ids, 0);
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
    for (size_t i = 0; i < STEPS; i++) {
        fixture_forward(session, ids, n,
                        &(struct oracle_outputs){.logits = logits, .first_logits = n - 1});
        ids[0] = oracle_argmax(logits, vocab);
        n = 1;
        cr_assert_eq(ids[0],
                     json_integer_value(json_array_get(json_object_get(entry, "generated_ids"), i)),
                     "step %zu: %d", i, ids[0]);
    }
    oracle_session_free(session);
    free(logits);
    json_decref(list);
    oracle_model_close(model);
}
#endif
