/* SPDX-License-Identifier: MIT
 *
 * What a session says it takes against what it must take: bytes of encoded matrices by the format's
 * own arithmetic and by the heap, workspace against the arena; and that every session of a trade
 * reads the same bytes.
 */
#include <criterion/criterion.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/precision.h>

#include "engine_common.h"

#define BIT(trade) (1u << ASSAY_TRADE_##trade)

/* tiny-hybrid: embedding and head are [2048, 256] bf16, not tied. */
enum { ROWS = 2048, COLUMNS = 256, PLAIN = ROWS * COLUMNS * 2 };

/* Bytes of a row by docs/formats.md: a nibble a weight, for q6g64 two bits more, and a scale of two
 * bytes for each 64. */
enum {
    Q4_ROW = COLUMNS / 2 + COLUMNS / 64 * 2,
    Q6_ROW = COLUMNS / 2 + COLUMNS / 4 + COLUMNS / 64 * 2
};

static struct assay_session_memory memory_of(struct engine *engine, assay_trade_set trades)
{
    struct assay_error error = {0};
    struct assay_session_memory memory;
    struct assay_session_options options = assay_session_defaults();
    options.trades = trades;
    engine_session(engine, &options);
    engine_expect_ok(assay_session_memory(engine->session, &memory, &error), &error, "memory");
    return memory;
}

/* Less by exactly what was predicted, and nothing else moves. */
Test(engine_memory, predicted)
{
    static const struct {
        assay_trade_set trades;
        int64_t saved, saved_reads, copied;
    } rows[] = {
        {BIT(EMBEDDING_Q4), PLAIN - ROWS * Q4_ROW, COLUMNS * 2 - Q4_ROW, ROWS * Q4_ROW},
        {BIT(EMBEDDING_Q6), PLAIN - ROWS * Q6_ROW, COLUMNS * 2 - Q6_ROW, ROWS * Q6_ROW},
        {BIT(LM_HEAD_Q6), PLAIN - ROWS * Q6_ROW, PLAIN - ROWS * Q6_ROW, ROWS * Q6_ROW},
        {BIT(LM_HEAD_Q4), PLAIN - ROWS * Q4_ROW, PLAIN - ROWS * Q4_ROW, ROWS * Q4_ROW},
        {BIT(EMBEDDING_Q4) | BIT(LM_HEAD_Q6), 2 * PLAIN - ROWS * (Q4_ROW + Q6_ROW),
         COLUMNS * 2 - Q4_ROW + PLAIN - ROWS * Q6_ROW, ROWS * (Q4_ROW + Q6_ROW)},
    };
    struct engine engine;
    engine_open(&engine, NULL);
    const struct assay_session_memory plain = memory_of(&engine, 0);
    cr_assert(plain.weight_copies == 0 && plain.weights > 2 * PLAIN &&
              plain.decode_reads == plain.weights - PLAIN + 2 * COLUMNS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct assay_session_memory m = memory_of(&engine, rows[i].trades);
        cr_assert(plain.weights - m.weights == (size_t)rows[i].saved, "row %zu: %zu bytes less", i,
                  plain.weights - m.weights);
        cr_assert(plain.decode_reads - m.decode_reads == (size_t)rows[i].saved_reads,
                  "row %zu: %zu", i, plain.decode_reads - m.decode_reads);
        cr_assert(m.weight_copies == (size_t)rows[i].copied, "row %zu: %zu", i, m.weight_copies);
        cr_assert(m.kv == plain.kv && m.states == plain.states && m.scratch == plain.scratch);
    }
    const struct assay_session_memory half = memory_of(&engine, BIT(GDN_STATE_FP16));
    /* 6 layers, 2 heads of 128 x 128. */
    cr_assert(plain.states - half.states == 6 * 2 * 128 * 128 * 2 && half.weights == plain.weights);
    engine_close(&engine);
}

/* The heap agrees: what a session with the trade allocates more is the encoded matrix, to a page
 * and the allocator's own words. */
Test(engine_memory, allocated)
{
    struct engine engine;
    size_t grown[2];
    engine_open(&engine, NULL);
    for (int with = 0; with < 2; with++) {
        assay_session_destroy(engine.session);
        engine.session = NULL;
        const struct mallinfo2 before = mallinfo2();
        (void)memory_of(&engine, with ? BIT(EMBEDDING_Q4) : 0);
        const struct mallinfo2 after = mallinfo2();
        if (after.uordblks == 0) /* another allocator, a sanitizer's: it does not count here */
            cr_skip_test("the heap cannot be asked");
        grown[with] = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    }
    /* A table of layers comes with the copy, 8 of 3.6 KiB, and what a session with trades keeps
     * beside it: 17 KiB. */
    const size_t more = grown[1] - grown[0], table = ROWS * Q4_ROW;
    cr_assert(more >= table && more < table + 48000, "%zu bytes more, the matrix has %d", more,
              ROWS * Q4_ROW);
    engine_close(&engine);
}

/* ---- the bytes ------------------------------------------------------------------------------ */

static void digest_of(struct engine *engine, assay_session *session, char digest[65])
{
    struct assay_error error = {0};
    engine_expect_ok(
        assay_session_weights_digest(session == NULL ? engine->session : session, digest, &error),
        &error, "digest");
}

/* Embedding and head of a model that was converted so. */
static void converted_digest(const char *rules, char digest[65])
{
    char folder[64] = "/tmp/assay-memory-XXXXXX", recipe[128], output[128], command[128];
    struct engine engine;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(recipe, sizeof recipe, "%s/recipe.json", folder);
    snprintf(output, sizeof output, "%s/m.assay", folder);
    FILE *file = fopen(recipe, "w");
    cr_assert_not_null(file);
    fprintf(file, "{\"name\": \"m\", \"rules\": [%s]}", rules);
    cr_assert(fclose(file) == 0);
    engine_convert(TINY_MODEL, recipe, output);
    engine_open_model(&engine, output);
    engine_session(&engine, NULL);
    digest_of(&engine, NULL, digest);
    engine_close(&engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

/* A second session beside the first, one after it, and one of another context and number of threads
 * read the same bytes, which are those of a conversion. */
Test(engine_memory, bytes)
{
    struct engine engine;
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    char plain[65], first[65], other[65];
    engine_open(&engine, NULL);
    digest_of(&engine, NULL, plain);
    options.trades = BIT(EMBEDDING_Q6) | BIT(LM_HEAD_Q4);
    engine_session(&engine, &options);
    digest_of(&engine, NULL, first);
    cr_assert(strcmp(plain, first) != 0);
    assay_session *beside = NULL;
    engine_expect_ok(assay_session_create(engine.context, engine.model, &options, &beside, &error),
                     &error, "");
    digest_of(&engine, beside, other);
    cr_assert(strcmp(first, other) == 0, "a session beside it reads other bytes");
    assay_session_destroy(beside);
    for (int threads = 1; threads <= 3; threads++) {
        engine_threads(&engine, threads);
        engine_session(&engine, &options);
        digest_of(&engine, NULL, other);
        cr_assert(strcmp(first, other) == 0, "made anew by %d threads it has other bytes", threads);
    }
    engine_session(&engine, NULL);
    digest_of(&engine, NULL, other);
    cr_assert(strcmp(plain, other) == 0, "a session without the trade reads other bytes");
    engine_close(&engine);

    converted_digest(
        "{\"pattern\": \"*embed_tokens.weight\", \"format\": \"q6g64\", \"encoder\": \"clip25\"}, "
        "{\"pattern\": \"*lm_head.weight\", \"format\": \"q4g64\", \"encoder\": \"clip25\"}",
        other);
    cr_assert(strcmp(first, other) == 0, "a conversion has other bytes");
}

/* ---- workspace ------------------------------------------------------------------------------ */

/* Planned before a pass runs: an arena of fixed size that is too small is refused when the session
 * is made, and the message says how to get out. */
Test(engine_memory, workspace)
{
    char folder[64] = "/tmp/assay-memory-XXXXXX", output[128], command[128];
    struct assay_error error = {0};
    struct assay_session_memory memory[2];
    struct engine engine;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(output, sizeof output, "%s/q4.assay", folder);
    engine_convert(TINY_MODEL, "q4-mixed", output);
    engine_open_model(&engine, output);
    for (int with = 0; with < 2; with++)
        memory[with] = memory_of(&engine, with ? BIT(PREFILL_CUBLAS) : 0);
    /* Of the widest product, down_proj [256, 640], at 512 tokens: the weights' image and the codes
     * of x as bytes. */
    cr_assert(memory[1].workspace >= 640 * 256 + 512 * 640, "%zu", memory[1].workspace);
    cr_assert(memory[1].workspace != memory[0].workspace);

    struct assay_context_options small = assay_context_defaults();
    struct assay_session_options options = assay_session_defaults();
    assay_context *context = NULL;
    assay_session *session = NULL;
    options.trades = BIT(PREFILL_CUBLAS);
    small.num_threads = 2;
    small.workspace_bytes = memory[1].workspace - 64;
    engine_expect_ok(assay_context_create(&small, &context, &error), &error, "context");
    const assay_status status =
        assay_session_create(context, engine.model, &options, &session, &error);
    cr_assert(status == ASSAY_E_WORKSPACE && strstr(error.message, "smaller prefill chunk") != NULL,
              "%s: %s", assay_status_name(status), error.message);
    assay_context_destroy(context);
    engine_close(&engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}
