/* SPDX-License-Identifier: MIT
 *
 * Files of sessions: what is refused and what the message names, hostile content, operations that
 * fail. What a restored session gives is judged by programs (sequence.h); here the session that a
 * file was refused by must be as it was.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include <assay/testing.h>

#include "sequence_plain.h"

enum { TOKENS = 37, CHECKSUM = 32, TOKENS_AT = 24, MOST_BYTES = 1 << 16 };

static struct sequence_world *open_world(void)
{
    char reason[SEQUENCE_REASON_BYTES];
    struct sequence_world *world = sequence_open(reason);
    cr_assert(world != NULL, "%s", reason);
    cr_assert(sodium_init() >= 0);
    return world;
}

static assay_session *open_session(struct sequence_world *world,
                                   const struct assay_session_options *options)
{
    assay_session *session;
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_session_create(sequence_context(world, ASSAY_CPU, false), world->model,
                                      options, &session, &error),
                 ASSAY_OK, "%s", error.message);
    return session;
}

static void feed(assay_session *session, int text, int count)
{
    int32_t ids[SEQUENCE_CAPACITY];
    const int64_t length = assay_session_length(session);
    for (int i = 0; i < count; i++)
        ids[i] = plain_text(text, (int)length + i);
    cr_assert_eq(assay_session_forward(session, ids, count, ASSAY_LOGITS_NONE, NULL, NULL),
                 ASSAY_OK);
}

static void save(const assay_session *session, const char *path)
{
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_session_save(session, path, &error), ASSAY_OK, "%s", error.message);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void expect_refusal(assay_session *session, const char *path, assay_status status,
                           const char *what)
{
    struct assay_error error = {.status = ASSAY_OK};
    float before[SEQUENCE_LAYERS][SEQUENCE_STATE], after[SEQUENCE_LAYERS][SEQUENCE_STATE];
    const int64_t length = assay_session_length(session);
    cr_assert(plain_states(session, before));
    cr_assert_eq(assay_session_restore(session, path, &error), status, "%s: %s instead: %s", what,
                 assay_status_name(error.status), error.message);
    cr_assert(strstr(error.what, what) != NULL, "%s: the message names %s: %s", what, error.what,
              error.message);
    cr_assert(plain_states(session, after));
    cr_assert(!assay_session_broken(session) && assay_session_length(session) == length &&
                  memcmp(before, after, sizeof before) == 0,
              "%s: the session is not as it was", what);
}

/* One option changed at a time. */
Test(session_file, settings)
{
    struct sequence_world *world = open_world();
    const struct sequence_program plain = {.chunked = true};
    const struct {
        const char *what;
        struct assay_session_options change; /* fields that are not 0 */
    } cases[] = {
        {"format of recurrent states", {.trades = 1u << ASSAY_TRADE_GDN_STATE_FP16}},
        {"format of the embedding", {.trades = 1u << ASSAY_TRADE_EMBEDDING_Q4}},
        {"format of the embedding", {.trades = 1u << ASSAY_TRADE_EMBEDDING_Q6}},
        {"format of the output head", {.trades = 1u << ASSAY_TRADE_LM_HEAD_Q6}},
        {"product of projections", {.trades = 1u << ASSAY_TRADE_NO_PREFILL_A8}},
        {"product of gate and up in decode", {.trades = 1u << ASSAY_TRADE_MLP_A8_DECODE}},
        {"prefill_chunk", {.prefill_chunk = SEQUENCE_CHUNK + 1}},
        {"gdn_chunk", {.gdn_chunk = 9}},
        {"recurrent_limit", {.recurrent_limit = 2}},
    };
    struct assay_session_options options = plain_options(&plain);
    char path[512];
    sequence_file(world, 0, path);
    assay_session *saved = open_session(world, &options);
    feed(saved, 1, TOKENS);
    save(saved, path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct assay_session_options *const change = &cases[i].change;
        struct assay_session_options other = options;
        other.trades |= change->trades;
        other.prefill_chunk =
            change->prefill_chunk > 0 ? change->prefill_chunk : options.prefill_chunk;
        other.gdn_chunk = change->gdn_chunk > 0 ? change->gdn_chunk : options.gdn_chunk;
        other.recurrent_limit =
            change->recurrent_limit > 0 ? change->recurrent_limit : options.recurrent_limit;
        assay_session *session = open_session(world, &other);
        feed(session, 2, 5);
        expect_refusal(session, path, ASSAY_E_ARG, cases[i].what);
        assay_session_destroy(session);
    }
    /* Room is no setting, but it must do. */
    options.capacity = TOKENS - 1;
    assay_session *small = open_session(world, &options);
    feed(small, 2, 5);
    expect_refusal(small, path, ASSAY_E_FULL, "capacity");
    assay_session_destroy(small);
    options.capacity = TOKENS + 2;
    small = open_session(world, &options);
    cr_assert_eq(assay_session_restore(small, path, NULL), ASSAY_OK);
    const int32_t more[] = {plain_text(4, 1), plain_text(4, 2)};
    float logits[2][2 * SEQUENCE_VOCAB];
    cr_assert_eq(assay_session_verify(saved, more, 2, logits[0], NULL), ASSAY_OK);
    cr_assert_eq(assay_session_verify(small, more, 2, logits[1], NULL), ASSAY_OK);
    cr_assert_eq(memcmp(logits[0], logits[1], sizeof logits[0]), 0);
    assay_session_destroy(small);
    assay_session_destroy(saved);
    unlink(path);
    sequence_close(world);
}

/* Of the cpu backend; a file of one instruction set is none of another. */
Test(session_file, machine)
{
    struct sequence_world *world = open_world();
    const struct sequence_program plain = {.chunked = true};
    const struct assay_session_options options = plain_options(&plain);
    struct assay_context_options portable = assay_context_defaults();
    assay_context *context;
    assay_session *other;
    char path[512];
    sequence_file(world, 0, path);
    assay_session *session = open_session(world, &options);
    feed(session, 1, TOKENS);
    save(session, path);
    portable.max_isa = ASSAY_ISA_PORTABLE;
    cr_assert_eq(assay_context_create(&portable, &context, NULL), ASSAY_OK);
    cr_assert_eq(assay_session_create(context, world->model, &options, &other, NULL), ASSAY_OK);
    if (assay_isa_detect() != ASSAY_ISA_PORTABLE)
        expect_refusal(other, path, ASSAY_E_ARG, "instruction set");
    assay_session_destroy(other);
    assay_context_destroy(context);
    context = sequence_context(world, ASSAY_SIMT, false);
    if (context != NULL) {
        cr_assert_eq(assay_session_create(context, world->model, &options, &other, NULL), ASSAY_OK);
        expect_refusal(other, path, ASSAY_E_ARG, "backend");
        assay_session_destroy(other);
    }
    assay_session_destroy(session);
    unlink(path);
    sequence_close(world);
}

/* Changes a byte of a file of the model's folder. */
static void change_byte(const struct sequence_world *world, const char *name, const char *after,
                        long offset)
{
    static char text[1 << 20];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    FILE *file = fopen(path, "r+b");
    cr_assert(file != NULL);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    const char *const found = after != NULL ? strstr(text, after) : text + size;
    cr_assert(found != NULL);
    const long at = (long)(found - text) + (after != NULL ? (long)strlen(after) : 0) + offset;
    cr_assert(fseek(file, at, SEEK_SET) == 0);
    fputc(text[at] ^ 1, file);
    cr_assert_eq(fclose(file), 0);
}

/* The same shapes and formats, one bit of the model changed. */
Test(session_file, models)
{
    static const struct {
        const char *file, *after;
        long offset;
        const char *what;
    } cases[] = {
        {"config.json", "rope_theta\":1e", 0, "config.json"},
        {"model.safetensors", NULL, -2, "head"}, /* the last words are the head's */
        {"model.safetensors", NULL, -2 - 2 * (SEQUENCE_VOCAB + 1) * 32, "layers"},
    };
    struct sequence_world *world = open_world();
    const struct sequence_program plain = {.chunked = true};
    const struct assay_session_options options = plain_options(&plain);
    char path[512];
    sequence_file(world, 0, path);
    assay_session *session = open_session(world, &options);
    feed(session, 1, TOKENS);
    save(session, path);
    assay_session_destroy(session);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct assay_error error = {.status = ASSAY_OK};
        assay_model_close(world->model);
        change_byte(world, cases[i].file, cases[i].after, cases[i].offset);
        cr_assert_eq(assay_model_open(world->folder, &world->model, &error), ASSAY_OK, "%s",
                     error.message);
        session = open_session(world, &options);
        expect_refusal(session, path, ASSAY_E_ARG, cases[i].what);
        assay_session_destroy(session);
        assay_model_close(world->model);
        change_byte(world, cases[i].file, cases[i].after, cases[i].offset);
        cr_assert_eq(assay_model_open(world->folder, &world->model, &error), ASSAY_OK);
    }
    session = open_session(world, &options);
    cr_assert_eq(assay_session_restore(session, path, NULL), ASSAY_OK);
    assay_session_destroy(session);
    unlink(path);
    sequence_close(world);
}

/* ---- hostile content ----------------------------------------------------------------------- */

struct content {
    uint8_t bytes[MOST_BYTES];
    size_t size;
};

static void read_content(const char *path, struct content *content)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL);
    content->size = fread(content->bytes, 1, sizeof content->bytes, file);
    cr_assert(content->size < sizeof content->bytes);
    fclose(file);
}

static void write_content(const char *path, const struct content *content, size_t size)
{
    unlink(path); /* a file that is cut to be written again may be flushed to disk each time */
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fwrite(content->bytes, 1, size, file) == size);
    cr_assert_eq(fclose(file), 0);
}

/* The checksum of what is there now. */
static void seal(struct content *content)
{
    const size_t covered = content->size - CHECKSUM;
    crypto_generichash(content->bytes + covered, CHECKSUM, content->bytes, covered, NULL, 0);
}

static void put(struct content *content, size_t at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        content->bytes[at + (size_t)i] = (uint8_t)(number >> 8 * i);
}

/* Every truncation, every byte changed: refused. With a checksum that fits, still what cannot be.
 */
Test(session_file, hostile)
{
    static struct content good, bad;
    struct sequence_world *world = open_world();
    const struct sequence_program plain = {.chunked = true};
    const struct assay_session_options options = plain_options(&plain);
    char path[512];
    sequence_file(world, 0, path);
    assay_session *session = open_session(world, &options);
    feed(session, 1, TOKENS);
    save(session, path);
    read_content(path, &good);
    const size_t payload = good.size;
    for (size_t size = 0; size < payload; size += size < 400 ? 1 : 97) {
        write_content(path, &good, size);
        expect_refusal(session, path, ASSAY_E_CORRUPT, "");
    }
    for (size_t at = 0; at < payload; at += at < 400 || at > payload - 40 ? 1 : 89) {
        struct assay_error error = {.status = ASSAY_OK};
        bad = good;
        bad.bytes[at] ^= (uint8_t)(1u << at % 8);
        write_content(path, &bad, bad.size);
        cr_assert(assay_session_restore(session, path, &error) != ASSAY_OK, "byte %zu", at);
        cr_assert(error.status != ASSAY_E_INTERNAL && error.message[0] != '\0');
        cr_assert(!assay_session_broken(session) && assay_session_length(session) == TOKENS);
    }
    /* Where the tokens begin: behind the header, whose length the sizes of the rest give. */
    size_t tokens = 0;
    for (size_t at = 0; tokens == 0 && at + 4 * TOKENS < payload; at++)
        if (memcmp(good.bytes + at, assay_session_tokens(session), 4 * TOKENS) == 0)
            tokens = at;
    cr_assert(tokens > 0);
    const struct {
        const char *what;
        size_t at;
        uint64_t number;
        int bytes;
    } cases[] = {
        {"tokens", tokens, SEQUENCE_VOCAB, 4},
        {"tokens", tokens + 4 * (TOKENS - 1), UINT32_MAX, 4},
        {"passes", tokens + 4 * TOKENS, 0, 1},     /* no pass begins at the first token */
        {"passes", tokens + 4 * TOKENS + 5, 3, 1}, /* no such mark */
        {"passes", tokens + 4 * TOKENS + SEQUENCE_CHUNK, 0, 1}, /* a pass too long */
        {"bytes", TOKENS_AT, TOKENS - 1, 8},
        {"bytes", TOKENS_AT, TOKENS + 1, 8},
        {"tokens", TOKENS_AT, UINT64_MAX, 8},
        {"tokens", TOKENS_AT, (uint64_t)1 << 62, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bad = good;
        put(&bad, cases[i].at, cases[i].number, cases[i].bytes);
        seal(&bad);
        write_content(path, &bad, bad.size);
        expect_refusal(session, path, ASSAY_E_CORRUPT, cases[i].what);
    }
    put(&bad, TOKENS_AT, TOKENS, 8);
    put(&bad, 8, 2, 4);
    write_content(path, &bad, bad.size);
    expect_refusal(session, path, ASSAY_E_UNSUPPORTED, "version");
    write_content(path, &good, good.size);
    cr_assert_eq(assay_session_restore(session, path, NULL), ASSAY_OK);
    assay_session_destroy(session);
    unlink(path);
    sequence_close(world);
}

/* ---- operations that fail ------------------------------------------------------------------ */

static int count_files(const char *folder)
{
    DIR *entries = opendir(folder);
    int count = 0;
    cr_assert(entries != NULL);
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

struct calls {
    assay_session *session;
    const char *path;
};

static assay_status call_save(struct calls *calls, struct assay_error *error)
{
    return assay_session_save(calls->session, calls->path, error);
}

static assay_status call_restore(struct calls *calls, struct assay_error *error)
{
    return assay_session_restore(calls->session, calls->path, error);
}

static assay_status call_fork(struct calls *calls, struct assay_error *error)
{
    assay_session *copy = NULL;
    const assay_status status = assay_session_fork(calls->session, &copy, error);
    cr_assert_eq(status == ASSAY_OK, copy != NULL);
    assay_session_destroy(copy);
    return status;
}

static assay_status call_checkpoint(struct calls *calls, struct assay_error *error)
{
    return assay_session_checkpoint(calls->session, error);
}

/* Each operation of each call fails once: an error, no leak, no file left, the session as it was.
 */
Test(session_file, failing)
{
    static assay_status (*const functions[])(struct calls *, struct assay_error *) = {
        call_save, call_restore, call_fork, call_checkpoint};
    struct sequence_world *world = open_world();
    const struct sequence_program plain = {.chunked = true};
    const struct assay_session_options options = plain_options(&plain);
    char path[512];
    sequence_file(world, 0, path);
    struct calls calls = {.session = open_session(world, &options), .path = path};
    feed(calls.session, 1, TOKENS);
    save(calls.session, path);
    const int files = count_files(world->folder);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const int64_t live = assay_live_allocations();
        int64_t n = 1;
        for (; n < 200; n++) {
            struct assay_error error = {.status = ASSAY_OK};
            assay_fault_after(n);
            const assay_status status = functions[i](&calls, &error);
            const bool happened = assay_fault_happened();
            assay_fault_after(0);
            if (status == ASSAY_OK) {
                cr_assert(!happened, "call %zu ignores a failure", i);
                break;
            }
            cr_assert(happened && status == error.status && error.message[0] != '\0');
            /* A checkpoint keeps the part of its memory that it got. */
            cr_assert(assay_live_allocations() <= live + (functions[i] == call_checkpoint));
            cr_assert_eq(count_files(world->folder), files);
            cr_assert(!assay_session_broken(calls.session));
            cr_assert_eq(assay_session_length(calls.session), TOKENS);
        }
        cr_assert(n > 1 && n < 200, "call %zu: %d operations", i, (int)n - 1);
    }
    assay_session_destroy(calls.session);
    unlink(path);
    sequence_close(world);
    cr_assert_eq(assay_live_allocations(), 0);
}
