/* SPDX-License-Identifier: MIT
 *
 * Matrices in grouped formats: a trade that encodes one while the model loads gives the bits that a
 * conversion gives, a stored format is used as it is or refused, and converted models run.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/convert.h>
#include <assay/precision.h>

#include "engine_common.h"

enum { NUM_IDS = 9, PROMPT = 6 };
static const int32_t ids[NUM_IDS] = {5, 60, 7, 80, 9, 100, 11, 120, 13};
static char folder[64];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/assay-weights-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

/* NAME.assay below the folder, from the bf16 model. rules: of a recipe file, or NULL: `name` is a
 * built-in recipe. */
static void convert(const char *name, const char *rules, char path[256])
{
    char recipe[256];
    struct assay_error error = {0};
    struct assay_convert_options options = assay_convert_defaults();
    snprintf(path, 256, "%s/%s.assay", folder, name);
    snprintf(recipe, sizeof recipe, "%s/%s.json", folder, name);
    if (rules != NULL) {
        FILE *file = fopen(recipe, "w");
        cr_assert_not_null(file);
        fprintf(file, "{\"name\": \"%s\", \"rules\": [%s]}", name, rules);
        cr_assert(fclose(file) == 0);
    }
    options.model = TINY_MODEL;
    options.output = path;
    options.recipe = rules != NULL ? recipe : name;
    engine_expect_ok(assay_convert(&options, NULL, &error), &error, name);
}

/* Logits of all tokens: a prompt, then one at a time. False: the session was refused, *status says
 * why and text[256] in words. */
static bool logits(const char *path, assay_trade_set trades, int64_t vocab, float *out,
                   assay_status *status, char *text)
{
    struct assay_error error = {0};
    assay_model *model = NULL;
    assay_context *context = NULL;
    assay_session *session = NULL;
    struct assay_session_options options = assay_session_defaults();
    struct assay_context_options two = assay_context_defaults();
    two.num_threads = 2;
    options.trades = trades;
    engine_expect_ok(assay_model_open(path, &model, &error), &error, path);
    engine_expect_ok(assay_context_create(&two, &context, &error), &error, "context");
    *status = assay_session_create(context, model, &options, &session, &error);
    snprintf(text, 256, "%.255s", error.message);
    if (*status == ASSAY_OK) {
        cr_assert(vocab == assay_model_config(model)->vocab_size);
        engine_expect_ok(assay_session_forward(session, ids, PROMPT, ASSAY_LOGITS_ALL, out, &error),
                         &error, "prompt");
        for (int i = PROMPT; i < NUM_IDS; i++)
            engine_expect_ok(assay_session_forward(session, ids + i, 1, ASSAY_LOGITS_LAST,
                                                   out + i * vocab, &error),
                             &error, "token");
    }
    assay_session_destroy(session);
    assay_context_destroy(context);
    assay_model_close(model);
    return *status == ASSAY_OK;
}

static int64_t vocab_of(void)
{
    struct assay_model_config config;
    struct assay_error error = {0};
    engine_expect_ok(assay_config_read(TINY_MODEL, &config, &error), &error, "config");
    return config.vocab_size;
}

Test(engine_weights, trade_is_conversion, .init = set_up, .fini = tear_down)
{
    static const struct {
        const char *name, *rule;
        enum assay_trade trade;
    } cases[] = {
        {"e4", "embed_tokens.weight\", \"format\": \"q4g64", ASSAY_TRADE_EMBEDDING_Q4},
        {"e6", "embed_tokens.weight\", \"format\": \"q6g64", ASSAY_TRADE_EMBEDDING_Q6},
        {"h6", "lm_head.weight\", \"format\": \"q6g64", ASSAY_TRADE_LM_HEAD_Q6},
        {"h4", "lm_head.weight\", \"format\": \"q4g64", ASSAY_TRADE_LM_HEAD_Q4},
    };
    const int64_t vocab = vocab_of(), count = NUM_IDS * vocab;
    const size_t bytes = (size_t)count * sizeof(float);
    float *plain = malloc(bytes), *traded = malloc(bytes), *converted = malloc(bytes);
    cr_assert(plain != NULL && traded != NULL && converted != NULL);
    assay_status status;
    char text[256];
    cr_assert(logits(TINY_MODEL, 0, vocab, plain, &status, text));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256], rules[256];
        snprintf(rules, sizeof rules, "{\"pattern\": \"*%s\", \"encoder\": \"clip25\"}",
                 cases[i].rule);
        convert(cases[i].name, rules, path);
        cr_assert(logits(path, 0, vocab, converted, &status, text), "%s", text);
        for (int again = 0; again < 2; again++) {
            cr_assert(logits(TINY_MODEL, 1u << cases[i].trade, vocab, traded, &status, text));
            cr_assert(memcmp(traded, converted, bytes) == 0,
                      "%s: the encoded matrix is not the converted one",
                      assay_trade_name(cases[i].trade));
        }
        cr_assert(memcmp(traded, plain, bytes) != 0, "%s changed nothing",
                  assay_trade_name(cases[i].trade));
    }
    free(plain);
    free(traded);
    free(converted);
}

/* Stored as the trade would have it: used as it is. Stored in few bits already: no second loss. */
Test(engine_weights, stored_formats, .init = set_up, .fini = tear_down)
{
    const int64_t vocab = vocab_of();
    const size_t bytes = (size_t)(NUM_IDS * vocab) * sizeof(float);
    float *plain = malloc(bytes), *traded = malloc(bytes);
    cr_assert(plain != NULL && traded != NULL);
    char path[256], text[256];
    assay_status status;
    convert("six", "{\"pattern\": \"*embed_tokens.weight\", \"format\": \"q6g64\"}", path);
    cr_assert(logits(path, 0, vocab, plain, &status, text));
    cr_assert(logits(path, 1u << ASSAY_TRADE_EMBEDDING_Q6, vocab, traded, &status, text), "%s",
              text);
    cr_assert(memcmp(plain, traded, bytes) == 0);
    cr_assert(!logits(path, 1u << ASSAY_TRADE_EMBEDDING_Q4, vocab, traded, &status, text));
    cr_assert(status == ASSAY_E_UNSUPPORTED && strstr(text, "stored as q6g64") != NULL &&
                  strstr(text, "recipe") != NULL,
              "%s", text);
    const assay_trade_set both = 1u << ASSAY_TRADE_EMBEDDING_Q4 | 1u << ASSAY_TRADE_EMBEDDING_Q6;
    cr_assert(!logits(TINY_MODEL, both, vocab, traded, &status, text));
    cr_assert(status == ASSAY_E_EXCLUSIVE, "%s", text);
    free(plain);
    free(traded);
}

/* Every built-in recipe runs, and more bits are nearer to bf16. */
Test(engine_weights, recipes, .init = set_up, .fini = tear_down)
{
    static const char *const rising[] = {"q4-mixed", "q8", "bf16"};
    const int64_t vocab = vocab_of(), count = NUM_IDS * vocab;
    float *plain = malloc((size_t)count * sizeof *plain);
    float *other = malloc((size_t)count * sizeof *other);
    double *exact = malloc((size_t)count * sizeof *exact), last = 1;
    cr_assert(plain != NULL && other != NULL && exact != NULL);
    assay_status status;
    char path[256], text[256];
    cr_assert(logits(TINY_MODEL, 0, vocab, plain, &status, text));
    for (int64_t i = 0; i < count; i++)
        exact[i] = (double)plain[i];
    for (size_t i = 0; i < sizeof rising / sizeof *rising; i++) {
        convert(rising[i], NULL, path);
        cr_assert(logits(path, 0, vocab, other, &status, text), "%s: %s", rising[i], text);
        const double error = relative_l2(other, exact, count);
        cr_assert(error < last, "%s: relative L2 %g, of fewer bits %g", rising[i], error, last);
        last = error;
    }
    cr_assert(last == 0, "bf16 weights came back changed");
    free(plain);
    free(other);
    free(exact);
}
