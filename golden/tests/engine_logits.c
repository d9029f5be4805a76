/* SPDX-License-Identifier: MIT
 *
 * Logits and recurrent states of whole forward passes against the float64 references.
 *
 * What may differ. Arithmetic is binary32 (unit roundoff 2^-24) and the KV cache is bf16 (unit
 * roundoff 2^-8, two full-attention layers in this model); everything else is exact or binary32.
 *
 * Before the first full-attention layer only binary32 acts: the state of layer 0 is a sum over 96
 * tokens of products of normalised rows of length 256, so each element sees fewer than about 2^9
 * roundings in a row: 2^9 * 2^-24 = 2^-15 relative to the state's norm.
 *
 * Behind a full-attention layer, rounding v moves the output by at most 2^-8 of its size, and
 * rounding k moves every score by at most 2^-8 scale ||q|| ||k||, about as much again for the
 * scores of order one that a trained model has. Two layers, each with k and v, are four unrelated
 * perturbations of at most 2^-8: sqrt(4) * 2^-8 = 2^-7 of the norm of a row of logits, when the
 * layers behind pass a relative change on with gain one. The gain is an assumption, so this is a
 * budget and not a proof; runs print what is used of it. A wrong formula (a missing gate, a norm
 * without its offset, a rotation in the wrong pairing) costs tens of per cent; a slightly wrong
 * epsilon or scale shows in the state of layer 0.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "engine_common.h"

#define F32_BUDGET     0x1p-15
#define BF16_KV_BUDGET 0x1p-7

Test(engine_logits, references)
{
    struct engine engine;
    engine_open(&engine, NULL);
    engine_check_logits(&engine, TINY_REFERENCES "/logits-f64.safetensors", "prose-verse",
                        BF16_KV_BUDGET);
    engine_check_logits(&engine, TINY_REFERENCES "/logits-f64.safetensors", "chat-sum",
                        BF16_KV_BUDGET);
    engine_check_logits(&engine, TINY_REFERENCES "/logits-f32.safetensors", "unicode",
                        BF16_KV_BUDGET);
    engine_close(&engine);
}

static void check_state(const struct engine *engine, const char *path, int64_t layer, double budget)
{
    char tensor[64];
    struct assay_error error = {0};
    int64_t count;
    snprintf(tensor, sizeof tensor, "layers.%lld.state", (long long)layer);
    double *expected = reference_tensor(path, tensor, &count);
    float *state = malloc((size_t)count * sizeof *state);
    cr_assert(state != NULL);
    engine_expect_ok(assay_session_gdn_state(engine->session, layer, state, &error), &error,
                     tensor);
    const double off = relative_l2(state, expected, count);
    printf("%s: relative L2 %.3g of %.3g\n", tensor, off, budget);
    cr_assert(off <= budget, "%s: off by %.3g of its norm, budget %.3g", tensor, off, budget);
    free(state);
    free(expected);
}

/* Recurrent states and last logits after 96 tokens, by both forms of the delta rule. */
Test(engine_logits, states)
{
    const char *path = TINY_REFERENCES "/trace32of96-f64.safetensors";
    const int64_t limits[] = {1, 512};
    int64_t num_ids, count;
    int32_t *ids = reference_ids(path, "input_ids", &num_ids);
    double *expected = reference_tensor(path, "logits_last", &count);
    struct engine engine;
    engine_open(&engine, NULL);
    float *logits = malloc((size_t)engine.vocab * sizeof *logits);
    cr_assert(logits != NULL && count == engine.vocab);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct assay_error error = {0};
        struct assay_session_options options = assay_session_defaults();
        options.recurrent_limit = limits[i];
        engine_session(&engine, &options);
        engine_expect_ok(
            assay_session_forward(engine.session, ids, num_ids, ASSAY_LOGITS_LAST, logits, &error),
            &error, "forward");
        check_state(&engine, path, 0, F32_BUDGET);
        check_state(&engine, path, 6, BF16_KV_BUDGET);
        const double off = relative_l2(logits, expected, count);
        printf("logits_last, recurrent limit %lld: relative L2 %.3g\n", (long long)limits[i], off);
        cr_assert(off <= BF16_KV_BUDGET, "logits_last: off by %.3g", off);
    }
    free(logits);
    engine_close(&engine);
    free(expected);
    free(ids);
}
