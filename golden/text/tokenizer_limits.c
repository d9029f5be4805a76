/* SPDX-License-Identifier: MIT
 *
 * Hostile texts, bad calls, and the n-th allocation or file operation that fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/testing.h>

#include "text_support.h"

static assay_tokenizer *open_json(json_t *root)
{
    struct support_dir dir;
    support_dir_make(&dir);
    support_dir_write_json(&dir, "tokenizer.json", root);
    json_decref(root);
    assay_tokenizer *tokenizer = support_open(dir.path);
    support_dir_remove(&dir);
    return tokenizer;
}

/* ---- long texts ----------------------------------------------------------------------------- */

/* Encodes `times` copies of `part` and decodes them again; returns the number of tokens. */
static size_t encode_run(const assay_tokenizer *tokenizer, const char *part, size_t times,
                         double limit_seconds)
{
    size_t part_bytes = strlen(part), bytes = part_bytes * times, count, decoded_bytes;
    char *text = malloc(bytes + 1), *decoded;
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * part_bytes, part, part_bytes);
    int32_t *ids;
    struct assay_error error = {0};
    double start = support_seconds();
    assay_status status = assay_encode(tokenizer, text, bytes, &ids, &count, &error);
    double seconds = support_seconds() - start;
    cr_assert(status == ASSAY_OK, "\"%s\": %s", part, error.message);
    cr_assert(seconds < limit_seconds, "%zu times \"%s\": %.1f s", times, part, seconds);
    cr_assert(assay_decode(tokenizer, ids, count, false, &decoded, &decoded_bytes, NULL) ==
              ASSAY_OK);
    cr_assert(decoded_bytes == bytes && memcmp(decoded, text, bytes) == 0, "\"%s\"", part);
    assay_text_free(decoded);
    assay_tokens_free(ids);
    free(text);
    return count;
}

/* A megabyte of one thing for each class of the pattern. Quadratic work would take minutes. */
Test(tokenizer_limits, long_runs)
{
    enum { MEGABYTE = 1000000 };
    const double limit = 20; /* a sanitizer's factor included; about 0.5 s without */
    static const char *const parts[] = {"a",
                                        "aB",
                                        " ",
                                        "\t",
                                        "\n",
                                        " \n",
                                        "1",
                                        "!",
                                        "! ",
                                        "'",
                                        "'s",
                                        "\xC3\xA9",
                                        "\xE4\xB8\xAD",
                                        "\xF0\x9F\x98\x80",
                                        "<",
                                        "<|im_st",
                                        "<think",
                                        "th",
                                        "\xC2\x85",
                                        "\r\n",
                                        "\xE2\x80\xA8",
                                        "the quick ",
                                        "\xCC\x81",
                                        "a\xCC\xA7",
                                        "!\xCC\x81"};
    /* Those for which the patterns of the two differ come last. */
    enum { PARTS = sizeof parts / sizeof parts[0], SAME = PARTS - 3 };
    assay_tokenizer *tokenizer = support_open(SUPPORT_TINY);
    for (size_t i = 0; i < PARTS; i++)
        encode_run(tokenizer, parts[i], MEGABYTE / strlen(parts[i]), limit);
    assay_tokenizer_close(tokenizer);
    tokenizer = support_open(SUPPORT_MARKS);
    for (size_t i = SAME; i < PARTS; i++)
        encode_run(tokenizer, parts[i], MEGABYTE / strlen(parts[i]), limit);
    assay_tokenizer_close(tokenizer);

    /* One word that merges all the way: 2^20 letters become tokens of 64. */
    json_t *root = support_small_tokenizer(support_pattern);
    char side[33] = "a";
    for (size_t length = 1; length < 64; length *= 2) {
        memset(side, 'a', length);
        support_add_merge(root, side, side);
    }
    tokenizer = open_json(root);
    cr_assert(encode_run(tokenizer, "a", 1 << 20, limit) == (1 << 20) / 64);
    cr_assert(encode_run(tokenizer, "a", (1 << 20) + 37, limit) == (1 << 20) / 64 + 3);
    assay_tokenizer_close(tokenizer);
}

/* Marks in falling order of class: canonical reordering must not be quadratic, nor wrong. */
Test(tokenizer_limits, long_runs_of_marks)
{
    enum { SHORT = 3000, LONG = 500000 };
    assay_tokenizer *tokenizer = support_open(SUPPORT_MARKS);
    for (size_t pairs = SHORT; pairs <= LONG; pairs += LONG - SHORT) {
        char *text = malloc(4 * pairs + 2), *decoded;
        text[0] = 'q';
        for (size_t i = 0; i < pairs; i++) /* above (class 230), below (220) */
            memcpy(text + 1 + 4 * i, "\xCC\x81\xCC\xA3", 4);
        size_t bytes = 4 * pairs + 1, count, decoded_bytes;
        int32_t *ids;
        double start = support_seconds();
        cr_assert(assay_encode(tokenizer, text, bytes, &ids, &count, NULL) == ASSAY_OK);
        cr_assert(support_seconds() - start < 20);
        cr_assert(assay_decode(tokenizer, ids, count, false, &decoded, &decoded_bytes, NULL) ==
                  ASSAY_OK);
        cr_assert(decoded_bytes == bytes);
        cr_assert(memcmp(decoded + 1, "\xCC\xA3\xCC\xA3", 4) == 0);
        cr_assert(memcmp(decoded + bytes - 4, "\xCC\x81\xCC\x81", 4) == 0);
        if (pairs == SHORT) {
            size_t nfc_bytes;
            char *nfc = support_nfc(text, bytes, &nfc_bytes);
            cr_assert(nfc_bytes == decoded_bytes && memcmp(nfc, decoded, nfc_bytes) == 0);
            free(nfc);
        }
        assay_text_free(decoded);
        assay_tokens_free(ids);
        free(text);
    }
    assay_tokenizer_close(tokenizer);
}

/* Patterns that backtrack without end, or scan the rest of the text at each place. */
Test(tokenizer_limits, patterns)
{
    enum { BYTES = 300000 };
    static const struct {
        const char *pattern;
        assay_status status;
    } cases[] = {
        {"(?:a|a)+[bc]|\\s", ASSAY_E_UNSUPPORTED},
        {"(?:a+)+[bc]", ASSAY_E_UNSUPPORTED},
        {"(?:a*)*[bc]", ASSAY_E_UNSUPPORTED},
        {"(?:(?:a?){30}){30}[bc]|x", ASSAY_E_UNSUPPORTED},
        {"(?=(?:a|aa)+[bc])a|a", ASSAY_E_UNSUPPORTED},
        {"(?=a*[yz])a|a", ASSAY_E_UNSUPPORTED}, /* few steps, each over the whole rest */
        {"a{1,3}", ASSAY_OK},
        {"(?:)", ASSAY_OK}, /* an empty match is a cut: one letter a word */
        {"x*", ASSAY_OK},
        {"z", ASSAY_OK}, /* no match: one word */
    };
    char *text = malloc(BYTES);
    memset(text, 'a', BYTES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_tokenizer *tokenizer = open_json(support_small_tokenizer(cases[i].pattern));
        int32_t *ids;
        size_t count;
        struct assay_error error = {0};
        double start = support_seconds();
        assay_status status = assay_encode(tokenizer, text, BYTES, &ids, &count, &error);
        double seconds = support_seconds() - start;
        cr_assert(status == cases[i].status, "%s: %s %s", cases[i].pattern,
                  assay_status_name(status), error.message);
        cr_assert(seconds < 30, "%s: %.1f s", cases[i].pattern, seconds);
        if (status == ASSAY_OK)
            cr_assert(count == BYTES);
        else
            cr_assert(strcmp(error.where, "tokenizer.json") == 0 && ids == NULL && count == 0);
        assay_tokens_free(ids);
        assay_tokenizer_close(tokenizer);
        cr_assert(assay_live_allocations() == 0);
    }
    free(text);
}

/* Where words end shows through merges: "ab" merges inside a word only. */
Test(tokenizer_limits, gaps_and_cuts)
{
    static const struct {
        const char *pattern, *text;
        size_t tokens;
    } cases[] = {
        {"z", "abab", 2},     /* no match: one word */
        {"b", "abab", 4},     /* the gaps are "a" */
        {"(?=b)", "abab", 4}, /* empty matches before each b */
        {"(?=a)", "abab", 2}, /* before each a */
        {"ba", "abab", 4},    /* a, ba, b */
        {"\\s+(?!\\S)|\\s+", "ab  ab", 4},
        {"(?<=a)b", "abab", 4}, /* lookbehind sees across the cut */
        {"(?<=\xC3\xA9)ab|\xC3\xA9",
         "\xC3\xA9"
         "ab",
         3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *root = support_small_tokenizer(cases[i].pattern);
        support_add_merge(root, "a", "b");
        assay_tokenizer *tokenizer = open_json(root);
        int32_t *ids;
        size_t count;
        cr_assert(assay_encode(tokenizer, cases[i].text, strlen(cases[i].text), &ids, &count,
                               NULL) == ASSAY_OK);
        cr_assert(count == cases[i].tokens, "%s on \"%s\": %zu tokens", cases[i].pattern,
                  cases[i].text, count);
        assay_tokens_free(ids);
        assay_tokenizer_close(tokenizer);
    }
}

/* ---- bad calls ------------------------------------------------------------------------------ */

static const struct invalid_text {
    const char *text;
    size_t bytes, offset;
} invalid_texts[] = {
    {"\x80", 1, 0},
    {"ab\xFF", 3, 2},
    {"\xC3", 1, 0},
    {"a\xC0\x80", 3, 1},
    {"\xE0\x80\x80", 3, 0},
    {"x\xED\xA0\x80", 4, 1},
    {"\xF4\x90\x80\x80", 4, 0},
    {"\xC3\xA9\xE4\xB8", 4, 2},
    {"<think>\xF0\x9F\x98", 10, 7},
};

Test(tokenizer_limits, bad_calls)
{
    assay_tokenizer *tokenizer = open_json(support_small_tokenizer(support_pattern)), *none = NULL;
    int32_t *ids = (int32_t *)1;
    size_t count = 9, bytes = 9;
    char *text = (char *)1;
    struct assay_error error = {0};
    cr_assert(assay_tokenizer_open(NULL, &none, NULL) == ASSAY_E_ARG);
    cr_assert(assay_tokenizer_open("/tmp", NULL, NULL) == ASSAY_E_ARG);
    cr_assert(assay_tokenizer_open("/nonexistent", &none, &error) == ASSAY_E_NOT_FOUND);
    cr_assert(assay_encode(NULL, "", 0, &ids, &count, NULL) == ASSAY_E_ARG && ids == NULL);
    cr_assert(assay_encode(tokenizer, NULL, 1, &ids, &count, NULL) == ASSAY_E_ARG && count == 0);
    cr_assert(assay_encode(tokenizer, "a", 1, NULL, &count, NULL) == ASSAY_E_ARG);
    cr_assert(assay_encode(tokenizer, "a", 1, &ids, NULL, NULL) == ASSAY_E_ARG);
    cr_assert(assay_encode(tokenizer, "a", (size_t)1 << 40, &ids, &count, NULL) ==
              ASSAY_E_UNSUPPORTED);
    cr_assert(assay_encode(tokenizer, NULL, 0, &ids, &count, NULL) == ASSAY_OK && count == 0 &&
              ids != NULL);
    assay_tokens_free(ids);
    for (size_t i = 0; i < sizeof invalid_texts / sizeof invalid_texts[0]; i++) {
        const struct invalid_text *invalid = &invalid_texts[i];
        char offset[64];
        snprintf(offset, sizeof offset, "offset %zu ", invalid->offset);
        assay_error_clear(&error);
        cr_assert(assay_encode(tokenizer, invalid->text, invalid->bytes, &ids, &count, &error) ==
                  ASSAY_E_PARSE);
        cr_assert(strstr(error.message, offset) != NULL, "text %zu: %s", i, error.message);
    }
    static const int32_t bad_ids[] = {-1, 258, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        int32_t sequence[] = {97, bad_ids[i]};
        cr_assert(assay_decode(tokenizer, sequence, 2, false, &text, &bytes, NULL) ==
                      ASSAY_E_RANGE &&
                  text == NULL && bytes == 0);
    }
    cr_assert(assay_decode(NULL, NULL, 0, false, &text, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_decode(tokenizer, NULL, 1, false, &text, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_decode(tokenizer, NULL, 0, false, &text, &bytes, NULL) == ASSAY_OK);
    cr_assert(bytes == 0 && text != NULL && text[0] == '\0');
    assay_text_free(text);
    cr_assert(assay_tokenizer_added(tokenizer, NULL) == -1 && assay_tokenizer_size(NULL) == 0);
    assay_tokenizer_close(tokenizer);
    assay_tokenizer_close(NULL);
    assay_tokens_free(NULL);
    assay_text_free(NULL);
    cr_assert(assay_live_allocations() == 0);
}

/* ---- the n-th failure ----------------------------------------------------------------------- */

struct products {
    assay_tokenizer *tokenizer;
    int32_t *ids;
    size_t num_ids, bytes, capacity;
    char *text;
};

static assay_status open_step(const char *dir, struct products *made, struct assay_error *error)
{
    return assay_tokenizer_open(dir, &made->tokenizer, error);
}

static const char fault_text[] =
    "The  e\xCC\x81nd.\n<think>\xE4\xB8\xAD\xE6\x96\x87 123 <|end|> and a tail that outgrows the "
    "first buffer of a decoded text";

static assay_status encode_step(const char *dir, struct products *made, struct assay_error *error)
{
    (void)dir;
    return assay_encode(made->tokenizer, fault_text, sizeof fault_text - 1, &made->ids,
                        &made->num_ids, error);
}

static assay_status decode_step(const char *dir, struct products *made, struct assay_error *error)
{
    (void)dir;
    return assay_decode(made->tokenizer, made->ids, made->num_ids, false, &made->text, &made->bytes,
                        error);
}

/* A failed push changes nothing, so that it can be repeated. */
static assay_status stream_step(const char *dir, struct products *made, struct assay_error *error)
{
    (void)dir;
    struct assay_detokenizer detokenizer;
    made->text = NULL;
    made->bytes = made->capacity = 0;
    assay_detokenizer_init(&detokenizer, made->tokenizer, false);
    assay_status first = ASSAY_OK, status;
    for (size_t i = 0; i < made->num_ids; i++) {
        while ((status = assay_detokenizer_push(&detokenizer, made->ids[i], &made->text,
                                                &made->bytes, &made->capacity, error)) != ASSAY_OK)
            first = status;
    }
    status =
        assay_detokenizer_finish(&detokenizer, &made->text, &made->bytes, &made->capacity, error);
    cr_assert(status == ASSAY_OK); /* nothing is unfinished */
    cr_assert(made->bytes > 0 && strstr(made->text, "\xE4\xB8\xAD\xE6\x96\x87 123") != NULL);
    if (first != ASSAY_OK)
        assay_text_free(made->text);
    return first;
}

static assay_status render_step(const char *dir, struct products *made, struct assay_error *error)
{
    (void)dir;
    static const char json[] = "[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\","
                               "\"content\":\"<think>x</think>y\"}]";
    struct assay_template_options options = {.add_generation_prompt = true};
    return assay_template_render_json(json, sizeof json - 1, &options, &made->text, &made->bytes,
                                      error);
}

static assay_status messages_step(const char *dir, struct products *made, struct assay_error *error)
{
    (void)dir;
    static const struct assay_message messages[] = {
        {.role = "user", .content = "Hi"},
        {.role = "assistant", .content = "y", .reasoning = "x"},
    };
    struct assay_template_options options = {.add_generation_prompt = true};
    return assay_template_render(messages, 2, &options, &made->text, &made->bytes, error);
}

Test(tokenizer_limits, fail_the_nth)
{
    static const struct {
        const char *name;
        assay_status (*run)(const char *dir, struct products *made, struct assay_error *error);
        /* Failures that must have been tried: the countdown really reaches the code, and where JSON
         * is read also the library's allocations. */
        int fewest;
    } steps[] = {{"open", open_step, 500},    {"encode", encode_step, 8},
                 {"decode", decode_step, 2},  {"stream", stream_step, 1},
                 {"render", render_step, 20}, {"messages", messages_step, 1}};
    struct support_dir dir;
    support_dir_make(&dir);
    json_t *root = support_small_tokenizer(support_pattern);
    support_add_merge(root, "T", "h");
    support_dir_write_json(&dir, "tokenizer.json", root);
    support_dir_write(&dir, "tokenizer_config.json", "{}", 2);
    json_decref(root);
    struct products made = {0};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        int64_t live = assay_live_allocations();
        int failures = 0;
        for (int64_t n = 1;; n++) {
            struct assay_error error = {0};
            assay_fault_after(n);
            assay_status status = steps[s].run(dir.path, &made, &error);
            bool happened = assay_fault_happened();
            assay_fault_after(0);
            if (!happened) {
                cr_assert(status == ASSAY_OK, "%s: %s", steps[s].name, error.message);
                break;
            }
            failures++;
            if (status == ASSAY_OK) { /* it could do without: undo and go on */
                cr_assert(s == 0 || s == 1, "%s succeeds without its memory", steps[s].name);
                if (s == 0)
                    assay_tokenizer_close(made.tokenizer);
                else
                    assay_tokens_free(made.ids);
            } else {
                cr_assert(status == ASSAY_E_MEMORY || status == ASSAY_E_IO, "%s, n = %d: %s %s",
                          steps[s].name, (int)n, assay_status_name(status), error.message);
                cr_assert(error.status == status && error.message[0] != '\0');
            }
            cr_assert(assay_live_allocations() == live, "%s, n = %d leaks", steps[s].name, (int)n);
        }
        cr_assert(failures >= steps[s].fewest, "%s: %d failures", steps[s].name, failures);
        assay_text_free(made.text);
        made.text = NULL;
    }
    assay_tokens_free(made.ids);
    assay_tokenizer_close(made.tokenizer);
    cr_assert(assay_live_allocations() == 0);
    support_dir_remove(&dir);
}
