/* SPDX-License-Identifier: MIT
 *
 * Negative controls of integer products on a whole model: activations with outliers, made out of
 * tiny-hybrid without changing what it computes. A channel that the norm before an MLP multiplies
 * by 32 and the columns of gate and up divide by 32 is the same function, and its 8-bit products
 * are not: one scale a token, and one a row without equalised channels, must show.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/precision.h>

#include "engine_common.h"
#include "words.h"

#define BIT(trade) (1u << ASSAY_TRADE_##trade)

enum { HIDDEN = 256, WIDTH = 640, LAYERS = 8, SCORED = 128, GAIN = 32 };

static const int channels[] = {40, 201}; /* of two groups of 64 */

static char folder[32], source[64], outliers[64];

static bool is_outlier(int64_t channel)
{
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        if (channel == channels[i])
            return true;
    return false;
}

/* value -> value * gain + offset for the outlier channels of a bf16 tensor in whichever of the two
 * files has it. */
static void scale(const char *tensor, int64_t count, double gain, double offset)
{
    size_t bytes = 0;
    long at = -1;
    char path[160];
    for (int f = 1; f <= 2 && at < 0; f++) {
        snprintf(path, sizeof path, "%s/model-%05d-of-00002.safetensors", source, f);
        at = reference_offset(path, tensor, &bytes);
    }
    cr_assert(at >= 0 && bytes == (size_t)count * 2, "%s: not found, or %zu bytes", tensor, bytes);
    void *words = malloc(bytes);
    FILE *file = fopen(path, "r+b");
    cr_assert(words != NULL && file != NULL);
    cr_assert(fseek(file, at, SEEK_SET) == 0 && fread(words, 1, bytes, file) == bytes);
    const struct assay_tensor view = assay_tensor_1d(words, ASSAY_BF16, count);
    for (int64_t i = 0; i < count; i++)
        if (is_outlier(i % HIDDEN))
            oracle_put(&view, i, oracle_get(&view, i) * gain + offset);
    cr_assert(fseek(file, at, SEEK_SET) == 0 && fwrite(words, 1, bytes, file) == bytes);
    cr_assert(fclose(file) == 0);
    free(words);
}

static void set_up(void)
{
    char command[256];
    snprintf(folder, sizeof folder, "/tmp/assay-outliers-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(source, sizeof source, "%s/source", folder);
    snprintf(outliers, sizeof outliers, "%s/q8.assay", folder);
    snprintf(command, sizeof command, "cp -r '%s' '%s' && chmod -R u+w '%s'", TINY_MODEL, source,
             source);
    cr_assert(system(command) == 0);
    for (int i = 0; i < LAYERS; i++) {
        static const char *const matrices[] = {"gate_proj", "up_proj"};
        char name[96];
        /* The norm multiplies by 1 + w. */
        snprintf(name, sizeof name, "model.layers.%d.post_attention_layernorm.weight", i);
        scale(name, HIDDEN, GAIN, GAIN - 1);
        for (int m = 0; m < 2; m++) {
            snprintf(name, sizeof name, "model.layers.%d.mlp.%s.weight", i, matrices[m]);
            scale(name, (int64_t)WIDTH * HIDDEN, 1.0 / GAIN, 0);
        }
    }
    engine_convert(source, "q8", outliers);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

/* ---- scoring -------------------------------------------------------------------------------- */

struct text {
    struct engine *engine;
    const int32_t *ids; /* SCORED + 1 */
    int64_t floats;
    float *exact, *logits; /* with 16-bit activations, and of the last run */
    double losses[SCORED]; /* of the run with 16-bit activations, by token */
};

struct distance {
    double change; /* of the mean loss: differences of either sign cancel in so short a text */
    double loss;   /* mean magnitude of a token's change */
    double logits; /* root of the mean square */
};

static void score(const struct text *text, assay_trade_set trades, float *logits,
                  double losses[SCORED])
{
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    options.trades = trades;
    engine_session(text->engine, &options);
    engine_expect_ok(assay_session_forward(text->engine->session, text->ids, SCORED,
                                           ASSAY_LOGITS_ALL, logits, &error),
                     &error, "text");
    for (int t = 0; t < SCORED; t++) {
        const int64_t vocab = text->engine->vocab;
        const float *row = logits + t * vocab;
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < vocab; i++)
            largest = fmax(largest, (double)row[i]);
        for (int64_t i = 0; i < vocab; i++)
            sum += exp((double)row[i] - largest);
        losses[t] = log(sum) + largest - (double)row[text->ids[t + 1]];
    }
}

/* With the route forced, or NULL. */
static struct distance measure(struct text *text, assay_trade_set trades, const char *route)
{
    struct distance d = {0};
    struct assay_error error = {0};
    const struct case_mutant *mutant = route == NULL ? NULL : engine_mutant(route);
    if (mutant != NULL) {
        engine_expect_ok(assay_route_add(&mutant->route, &error), &error, route);
        cr_assert(assay_context_force_route(text->engine->context, route) == ASSAY_OK);
    }
    double losses[SCORED];
    score(text, trades, text->logits, losses);
    for (int t = 0; t < SCORED; t++) {
        d.change += (losses[t] - text->losses[t]) / SCORED;
        d.loss += fabs(losses[t] - text->losses[t]) / SCORED;
    }
    if (mutant != NULL) {
        cr_assert(assay_context_route_count(text->engine->context, route) > 0);
        cr_assert(assay_context_force_route(text->engine->context, NULL) == ASSAY_OK);
        assay_route_remove(&mutant->route);
    }
    for (int64_t i = 0; i < text->floats; i++) {
        const double lacks = (double)text->logits[i] - (double)text->exact[i];
        d.logits += lacks * lacks;
    }
    d.logits = sqrt(d.logits / (double)text->floats);
    cr_log_info("%s: loss %+.2e, of a token %.2e, logits %.4f", route == NULL ? "the op" : route,
                d.change, d.loss, d.logits);
    return d;
}

Test(engine_outliers, controls, .init = set_up, .fini = tear_down)
{
    size_t num;
    struct engine engine;
    struct greedy_prompt *prompts = greedy_read(TINY_REFERENCES "/greedy.json", &num);
    const struct greedy_prompt *longest = greedy_longest(prompts, num);
    cr_assert(longest->num_prompt > SCORED);
    engine_open_model(&engine, outliers);
    struct text text = {.engine = &engine, .ids = longest->prompt};
    text.floats = SCORED * engine.vocab;
    text.exact = malloc((size_t)text.floats * sizeof *text.exact);
    text.logits = malloc((size_t)text.floats * sizeof *text.logits);
    cr_assert(text.exact != NULL && text.logits != NULL);
    score(&text, BIT(NO_PREFILL_A8), text.exact, text.losses);

    const assay_trade_set part = BIT(PREFILL_CUBLAS) | BIT(NO_PREFILL_CUBLAS_PROJECTIONS);
    const struct distance a8 = measure(&text, 0, NULL);
    const struct distance token = measure(&text, 0, "linear_a8.mutant.token_scale.cpu");
    const struct distance row = measure(&text, part, NULL);
    const struct distance plain = measure(&text, part, "linear_w8row.mutant.not_equalised.cpu");
    cr_assert(token.logits > 1.5 * a8.logits && token.loss > 1.5 * a8.loss,
              "one scale a token: logits %.4f and %.4f, losses %.2e and %.2e", token.logits,
              a8.logits, token.loss, a8.loss);
    cr_assert(plain.logits > 1.5 * row.logits && plain.loss > 1.5 * row.loss,
              "channels not equalised: logits %.4f and %.4f, losses %.2e and %.2e", plain.logits,
              row.logits, plain.loss, row.loss);
    free(text.exact);
    free(text.logits);
    greedy_free(prompts, num);
    engine_close(&engine);
}
