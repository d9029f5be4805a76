/* SPDX-License-Identifier: MIT
 *
 * Whole passes through the CUDA kernels without a device: a session on backend simt against the
 * float64 reference, by the budget that engine_logits.c derives for the cpu. Few tokens, since
 * every thread of every kernel is a fiber here; row t of a reference depends on tokens 0 .. t only,
 * so the first rows of a long one serve.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "engine_common.h"

#define BF16_KV_BUDGET 0x1p-7
enum { NUM_PREFILL = 3, NUM_DECODE = 2 };

static void check_rows(const float *logits, const double *expected, int64_t first, int64_t count,
                       int64_t vocab)
{
    for (int64_t t = 0; t < count; t++) {
        const double off = relative_l2(logits + t * vocab, expected + (first + t) * vocab, vocab);
        printf("row %lld: relative L2 %.3g of %.3g\n", (long long)(first + t), off, BF16_KV_BUDGET);
        /* Written so that a NaN fails. */
        cr_assert(off <= BF16_KV_BUDGET, "row %lld is off by %.3g of its norm, budget %.3g",
                  (long long)(first + t), off, BF16_KV_BUDGET);
    }
}

Test(engine_simt, prefill_and_decode)
{
    const char *path = TINY_REFERENCES "/logits-f64.safetensors";
    struct assay_error error = {0};
    int64_t num_ids, count;
    int32_t *ids = reference_ids(path, "prose-verse.input_ids", &num_ids);
    double *expected = reference_tensor(path, "prose-verse.logits", &count);
    struct engine engine = {0};
    struct assay_context_options context = assay_context_defaults();
    context.backend = ASSAY_SIMT;
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 300; /* more than the first tier of decode steps */

    engine_expect_ok(assay_model_open(TINY_MODEL, &engine.model, &error), &error, "model");
    engine_expect_ok(assay_context_create(&context, &engine.context, &error), &error, "context");
    engine_session(&engine, &options);
    engine.vocab = assay_model_config(engine.model)->vocab_size;
    cr_assert(num_ids >= NUM_PREFILL + NUM_DECODE && count == num_ids * engine.vocab);
    float *logits = malloc((size_t)(NUM_PREFILL * engine.vocab) * sizeof *logits);
    cr_assert(logits != NULL);
    engine_expect_ok(assay_session_poison(engine.session, &error), &error, "poison");
    engine_expect_ok(
        assay_session_forward(engine.session, ids, NUM_PREFILL, ASSAY_LOGITS_ALL, logits, &error),
        &error, "prefill");
    check_rows(logits, expected, 0, NUM_PREFILL, engine.vocab);
    for (int64_t t = NUM_PREFILL; t < NUM_PREFILL + NUM_DECODE; t++) {
        engine_expect_ok(assay_session_poison(engine.session, &error), &error, "poison");
        engine_expect_ok(
            assay_session_forward(engine.session, ids + t, 1, ASSAY_LOGITS_LAST, logits, &error),
            &error, "decode");
        check_rows(logits, expected, t, 1, engine.vocab);
    }

    /* Graphs are not of this backend. */
    assay_session *session;
    options.cuda_graphs = ASSAY_CUDA_GRAPHS_ON;
    cr_assert(assay_session_create(engine.context, engine.model, &options, &session, &error) ==
              ASSAY_E_UNSUPPORTED);
    free(logits);
    engine_close(&engine);
    free(expected);
    free(ids);
}
