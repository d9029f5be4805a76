/* SPDX-License-Identifier: MIT
 *
 * Logits of the mixture of experts against the float64 references, by the budget of
 * engine_logits.c: this model has one full-attention layer. Where two experts' probabilities nearly
 * tie at the k-th place, a perturbation exchanges them; their weights there are equal within it, so
 * that the output jumps by that weight times the difference of two experts: no prompt below has
 * such a tie, and none is excused.
 */
#include <criterion/criterion.h>

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
