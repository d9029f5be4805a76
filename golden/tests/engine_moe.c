/* SPDX-License-Identifier: MIT
 *
 * Logits of the mixture of experts against the float64 references, by the budget of
 * engine_logits.c: this model has one full-attention layer. Where two experts' probabilities nearly
 * tie at the k-th place, a perturbation exchanges them; their weights there are equal within it, so
 * that the output jumps by that weight times the difference of two experts: no prompt below has
 * such a tie, and none is excused.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_common.h"

#define BF16_KV_BUDGET 0x1p-7

/* A step of one token reads the experts that it has, 4 of 16, and one row of the embedding. */
Test(engine_moe, decode_reads)
{
    enum { H = 256, IM = 128, E = 16, K = 4, LAYERS = 4, VOCAB = 2048 };
    struct assay_session_memory memory;
    struct assay_error error = {0};
    struct engine engine;
    engine_open(&engine, NULL);
    engine_expect_ok(assay_session_memory(engine.session, &memory, &error), &error, "memory");
    const size_t expert = 2 * 3 * H * IM, idle = (size_t)LAYERS * (E - K) * expert;
    const size_t embedding = 2 * (VOCAB - 1) * H;
    cr_assert_eq(memory.decode_reads, memory.weights - idle - embedding, "%zu of %zu bytes",
                 memory.decode_reads, memory.weights);
    engine_close(&engine);
}

Test(engine_moe, logits)
{
    static const char path[] = TINY_REFERENCES "/logits-f64.safetensors";
    struct engine engine;
    engine_open(&engine, NULL);
    cr_assert(assay_model_config(engine.model)->is_moe);
    engine_check_logits(&engine, path, "prose-verse", BF16_KV_BUDGET);
    engine_close(&engine);
}

/* ---- experts in grouped formats ---------------------------------------------------------------
 */

/* A prefill for the kernel of many tokens, and a step for that of few. */
enum { PREFILL = 9, DECODE = 1, TOKENS = PREFILL + DECODE };

struct recipe_case {
    const char *name;
    double budget; /* of relative L2 against the reference in float64 */
    size_t expert; /* bytes of one expert in its formats */
    size_t row;    /* of a row of the embedding */
    bool kernels;  /* run those, too: they take seconds */
};

static bool has_kernels(void)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context = NULL;
    options.backend = ASSAY_SIMT;
    const assay_status status = assay_context_create(&options, &context, NULL);
    assay_context_destroy(context);
    return status == ASSAY_OK;
}

/* Logits of TOKENS tokens, a prefill and steps of one. Returns how often the op's route ran. */
static uint64_t run(const char *path, enum assay_backend backend, const int32_t *ids, float *logits,
                    int64_t vocab)
{
    struct assay_error error = {0};
    struct assay_context_options context = assay_context_defaults();
    struct engine engine = {0};
    const char *const routes[] = {"moe_experts_grouped.avx512.cpu", "moe_experts_grouped.avx2.cpu",
                                  "moe_experts_grouped.plain.cpu", "moe_experts_grouped.gemv.simt",
                                  "moe_experts_grouped.tiled.simt"};
    uint64_t count = 0;
    context.backend = backend;
    engine_expect_ok(assay_model_open(path, &engine.model, &error), &error, path);
    engine_expect_ok(assay_context_create(&context, &engine.context, &error), &error, "context");
    engine_session(&engine, NULL);
    engine_expect_ok(
        assay_session_forward(engine.session, ids, PREFILL, ASSAY_LOGITS_ALL, logits, &error),
        &error, "prefill");
    for (int t = PREFILL; t < TOKENS; t++)
        engine_expect_ok(assay_session_forward(engine.session, ids + t, 1, ASSAY_LOGITS_LAST,
                                               logits + t * vocab, &error),
                         &error, "decode");
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        count += assay_context_route_count(engine.context, routes[i]);
    engine_close(&engine);
    return count;
}

/* What a step of one token reads is the planes of its experts, and one row of the embedding. */
static void check_reads(const char *path, const struct recipe_case *recipe)
{
    enum { E = 16, K = 4, LAYERS = 4, VOCAB = 2048 };
    struct assay_session_memory memory;
    struct assay_error error = {0};
    struct engine engine = {0};
    engine_open_model(&engine, path);
    engine_session(&engine, NULL);
    engine_expect_ok(assay_session_memory(engine.session, &memory, &error), &error, "memory");
    const size_t idle = (size_t)LAYERS * (E - K) * recipe->expert;
    cr_assert_eq(memory.decode_reads, memory.weights - idle - (VOCAB - 1) * recipe->row,
                 "%zu of %zu bytes", memory.decode_reads, memory.weights);
    engine_close(&engine);
}

/* Converted by a recipe the model is near the float64 reference of its bf16 weights, the nearer
 * the more bits, and the kernels are near the host's routes. */
Test(engine_moe, recipes, .timeout = 120)
{
    static const char reference[] = TINY_REFERENCES "/logits-f64.safetensors";
    enum { H = 256, IM = 128 };
    static const struct recipe_case cases[] = {
        {.name = "q4-mixed",
         .budget = 0.15,
         .expert = 2 * IM * (H / 2 + H / 64 * 2) + H * (IM / 2 + IM / 8 + IM / 64 * 2),
         .row = H / 2 + H / 4 + H / 64 * 2,
         .kernels = true},
        {.name = "q8",
         .budget = 0.025,
         .expert = 2 * IM * (H + H / 32 * 2) + H * (IM + IM / 32 * 2),
         .row = H + H / 32 * 2}};
    int64_t num_ids, count;
    int32_t *ids = reference_ids(reference, "prose-verse.input_ids", &num_ids);
    double *expected = reference_tensor(reference, "prose-verse.logits", &count), last = 1;
    const int64_t vocab = count / num_ids, wanted = TOKENS * vocab;
    float *host = malloc((size_t)wanted * sizeof *host);
    float *kernels = malloc((size_t)wanted * sizeof *kernels);
    double *exact = malloc((size_t)wanted * sizeof *exact);
    char folder[] = "/tmp/assay-moe-XXXXXX", path[256], command[300];
    cr_assert(host != NULL && kernels != NULL && exact != NULL && mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "%s/%s.assay", folder, cases[i].name);
        engine_convert(TINY_MODEL, cases[i].name, path);
        check_reads(path, &cases[i]);
        cr_assert(run(path, ASSAY_CPU, ids, host, vocab) == 4 * (1 + DECODE));
        const double off = relative_l2(host, expected, wanted);
        printf("%s: relative L2 %.3g of %.3g\n", cases[i].name, off, cases[i].budget);
        cr_assert(off <= cases[i].budget && off < last, "%s is off by %.3g", cases[i].name, off);
        last = off;
        for (int64_t j = 0; j < wanted; j++)
            exact[j] = (double)host[j];
        if (cases[i].kernels && has_kernels()) {
            cr_assert(run(path, ASSAY_SIMT, ids, kernels, vocab) == 4 * (1 + DECODE));
            const double apart = relative_l2(kernels, exact, wanted);
            printf("%s: kernels %.3g apart\n", cases[i].name, apart);
            cr_assert(apart <= BF16_KV_BUDGET, "%s: %.3g", cases[i].name, apart);
        }
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert(system(command) == 0);
    free(ids);
    free(expected);
    free(host);
    free(kernels);
    free(exact);
}
