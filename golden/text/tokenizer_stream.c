/* SPDX-License-Identifier: MIT
 *
 * The incremental detokeniser: what it has emitted is whole characters at every moment, and the
 * sum of all parts is the reference's text wherever the stream is cut.
 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <utf8proc.h>

#include <assay/testing.h>

#include "text_support.h"

struct part {
    char *text;
    size_t bytes, capacity;
};

static void push(struct assay_detokenizer *detokenizer, int32_t id, struct part *part)
{
    struct assay_error error = {0};
    cr_assert(assay_detokenizer_push(detokenizer, id, &part->text, &part->bytes, &part->capacity,
                                     &error) == ASSAY_OK,
              "%s", error.message);
    for (size_t at = 0; at < part->bytes;) {
        utf8proc_int32_t code_point;
        utf8proc_ssize_t length =
            utf8proc_iterate((const utf8proc_uint8_t *)part->text + at,
                             (utf8proc_ssize_t)(part->bytes - at), &code_point);
        cr_assert(length > 0, "half a character at byte %zu of \"%s\"", at, part->text);
        at += (size_t)length;
    }
}

/* Pushes all ids; what comes after the first `cut` goes to a second buffer. */
static void check_cut(const assay_tokenizer *tokenizer, const int32_t *ids, size_t count,
                      size_t cut, bool skip_special, const char *expected, size_t expected_bytes)
{
    struct assay_detokenizer detokenizer;
    struct part parts[2] = {{0}};
    assay_detokenizer_init(&detokenizer, tokenizer, skip_special);
    for (size_t i = 0; i < count; i++)
        push(&detokenizer, ids[i], &parts[i >= cut]);
    for (int again = 0; again < 2; again++) /* after the first there is nothing to finish */
        cr_assert(assay_detokenizer_finish(&detokenizer, &parts[1].text, &parts[1].bytes,
                                           &parts[1].capacity, NULL) == ASSAY_OK);
    cr_assert(parts[0].bytes + parts[1].bytes == expected_bytes &&
                  memcmp(expected, parts[0].bytes ? parts[0].text : "", parts[0].bytes) == 0 &&
                  memcmp(expected + parts[0].bytes, parts[1].bytes ? parts[1].text : "",
                         parts[1].bytes) == 0,
              "cut at %zu: \"%s\" + \"%s\" instead of \"%s\"", cut,
              parts[0].text ? parts[0].text : "", parts[1].text ? parts[1].text : "", expected);
    assay_text_free(parts[0].text);
    assay_text_free(parts[1].text);
}

static void check_line(const assay_tokenizer *tokenizer, const json_t *line, const char *key,
                       bool skip_special)
{
    const json_t *array = json_object_get(line, "ids"), *expected = json_object_get(line, key);
    size_t count = json_array_size(array);
    int32_t *ids = calloc(count + 1, sizeof *ids);
    cr_assert_not_null(ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    for (size_t cut = 0; cut <= count; cut++)
        check_cut(tokenizer, ids, count, cut, skip_special, json_string_value(expected),
                  json_string_length(expected));
    free(ids);
}

Test(tokenizer_stream, fixtures)
{
    static const char *const folders[] = {ASSAY_GOLDEN_DIR "/references/tokenizer/",
                                          SUPPORT_MARKS "/"};
    static const char *const dirs[] = {SUPPORT_TINY, SUPPORT_MARKS};
    for (size_t f = 0; f < 2; f++) {
        assay_tokenizer *tokenizer = support_open(dirs[f]);
        char path[512];
        snprintf(path, sizeof path, "%stokenizer-decode.jsonl", folders[f]);
        json_t *decode = support_lines(path);
        snprintf(path, sizeof path, "%stokenizer-encode.jsonl", folders[f]);
        json_t *encode = support_lines(path);
        for (size_t i = 0; i < json_array_size(decode); i++) {
            check_line(tokenizer, json_array_get(decode, i), "decoded", false);
            check_line(tokenizer, json_array_get(decode, i), "decoded_skip_special", true);
        }
        for (size_t i = 0; i < json_array_size(encode); i++)
            check_line(tokenizer, json_array_get(encode, i), "decoded", false);
        json_decref(decode);
        json_decref(encode);
        assay_tokenizer_close(tokenizer);
    }
    cr_assert(assay_live_allocations() == 0);
}

/* Byte tokens in any order, most of them leads and continuations at the edges of their ranges. */
Test(tokenizer_stream, invalid_bytes)
{
    enum { SEQUENCES = 20000, LONGEST = 12 };
    static const unsigned char edges[] = {0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                          0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
                                          0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    struct support_dir dir;
    support_dir_make(&dir);
    json_t *root = support_small_tokenizer(support_pattern);
    support_dir_write_json(&dir, "tokenizer.json", root);
    assay_tokenizer *tokenizer = support_open(dir.path);
    struct support_random random = {7};
    for (int s = 0; s < SEQUENCES; s++) {
        int32_t ids[LONGEST];
        unsigned char bytes[LONGEST];
        size_t count = 1 + support_below(&random, LONGEST), expected_bytes;
        for (size_t i = 0; i < count; i++) {
            bytes[i] = edges[support_below(&random, sizeof edges)];
            ids[i] = bytes[i];
        }
        char *expected = support_replace(bytes, count, &expected_bytes);
        check_cut(tokenizer, ids, count, support_below(&random, LONGEST), false, expected,
                  expected_bytes);
        free(expected);
    }
    assay_tokenizer_close(tokenizer);
    json_decref(root);
    support_dir_remove(&dir);
}
