/* SPDX-License-Identifier: MIT
 *
 * The tokenizer against the reference library's fixtures, the held-out texts' token counts, and
 * NFC round trips.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/testing.h>

#include "text_support.h"

enum { ENCODE_LINES = 358, DECODE_LINES = 121 };

static const struct family {
    const char *tokenizer, *fixtures;
} families[] = {
    {SUPPORT_TINY, ASSAY_GOLDEN_DIR "/references/tokenizer"},
    {SUPPORT_MARKS, SUPPORT_MARKS},
};
enum { NUM_FAMILIES = sizeof families / sizeof families[0] };

static json_t *fixture_lines(const struct family *family, const char *name, size_t expected)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", family->fixtures, name);
    json_t *lines = support_lines(path);
    cr_assert(json_array_size(lines) == expected, "%s: %zu lines", path, json_array_size(lines));
    return lines;
}

static int32_t *ids_of(const json_t *array)
{
    size_t count = json_array_size(array);
    int32_t *ids = malloc((count + 1) * sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return ids;
}

static void check_decode(const assay_tokenizer *tokenizer, const json_t *line, const char *key,
                         bool skip_special, size_t index)
{
    const json_t *array = json_object_get(line, "ids"), *expected = json_object_get(line, key);
    int32_t *ids = ids_of(array);
    char *text;
    size_t bytes;
    struct assay_error error = {0};
    assay_status status =
        assay_decode(tokenizer, ids, json_array_size(array), skip_special, &text, &bytes, &error);
    cr_assert(status == ASSAY_OK, "line %zu: %s", index + 1, error.message);
    cr_assert(bytes == json_string_length(expected) &&
                  memcmp(text, json_string_value(expected), bytes) == 0,
              "line %zu: %s: \"%s\" instead of \"%s\"", index + 1, key, text,
              json_string_value(expected));
    cr_assert(text[bytes] == '\0');
    assay_text_free(text);
    free(ids);
}

static void check_encode(const assay_tokenizer *tokenizer, const json_t *line, size_t index)
{
    const json_t *text = json_object_get(line, "text"), *expected = json_object_get(line, "ids");
    int32_t *ids;
    size_t count;
    struct assay_error error = {0};
    assay_status status = assay_encode(tokenizer, json_string_value(text), json_string_length(text),
                                       &ids, &count, &error);
    cr_assert(status == ASSAY_OK, "line %zu: %s", index + 1, error.message);
    cr_assert(count == json_array_size(expected), "line %zu: \"%s\": %zu ids instead of %zu",
              index + 1, json_string_value(text), count, json_array_size(expected));
    for (size_t i = 0; i < count; i++)
        cr_assert(ids[i] == json_integer_value(json_array_get(expected, i)),
                  "line %zu: \"%s\": id %zu is %d instead of %d", index + 1,
                  json_string_value(text), i, (int)ids[i],
                  (int)json_integer_value(json_array_get(expected, i)));
    assay_tokens_free(ids);
}

Test(tokenizer_golden, fixtures)
{
    for (size_t f = 0; f < NUM_FAMILIES; f++) {
        assay_tokenizer *tokenizer = support_open(families[f].tokenizer);
        cr_assert(assay_tokenizer_size(tokenizer) == 2048);
        cr_assert(assay_tokenizer_added(tokenizer, "<|im_end|>") == 2045);
        cr_assert(assay_tokenizer_added(tokenizer, "</think>") == 2047);
        cr_assert(assay_tokenizer_added(tokenizer, "the") == -1);
        json_t *encode = fixture_lines(&families[f], "tokenizer-encode.jsonl", ENCODE_LINES);
        json_t *decode = fixture_lines(&families[f], "tokenizer-decode.jsonl", DECODE_LINES);
        for (size_t i = 0; i < ENCODE_LINES; i++) {
            check_encode(tokenizer, json_array_get(encode, i), i);
            check_decode(tokenizer, json_array_get(encode, i), "decoded", false, i);
        }
        for (size_t i = 0; i < DECODE_LINES; i++) {
            check_decode(tokenizer, json_array_get(decode, i), "decoded", false, i);
            check_decode(tokenizer, json_array_get(decode, i), "decoded_skip_special", true, i);
        }
        json_decref(encode);
        json_decref(decode);
        assay_tokenizer_close(tokenizer);
    }
    cr_assert(assay_live_allocations() == 0);
}

/* decode(encode(text)) is NFC(text): pieces, merges and byte alphabet lose nothing. */
static size_t round_trip(const assay_tokenizer *tokenizer, const char *text, size_t bytes)
{
    int32_t *ids;
    size_t count, decoded_bytes, nfc_bytes;
    char *decoded, *nfc = support_nfc(text, bytes, &nfc_bytes);
    cr_assert(assay_encode(tokenizer, text, bytes, &ids, &count, NULL) == ASSAY_OK);
    cr_assert(assay_decode(tokenizer, ids, count, false, &decoded, &decoded_bytes, NULL) ==
              ASSAY_OK);
    cr_assert(decoded_bytes == nfc_bytes && memcmp(decoded, nfc, nfc_bytes) == 0,
              "\"%.200s\" comes back as \"%.200s\"", nfc, decoded);
    assay_tokens_free(ids);
    assay_text_free(decoded);
    free(nfc);
    return count;
}

Test(tokenizer_golden, held_out_texts)
{
    static const struct {
        const char *name;
        size_t tokens; /* corpora/README.md */
    } texts[] = {{"prose", 102056}, {"structured", 69872}, {"unicode", 27887}};
    assay_tokenizer *tokenizer = support_open(SUPPORT_TINY);
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, ASSAY_GOLDEN_DIR "/corpora/heldout-%s.txt", texts[i].name);
        size_t bytes, count;
        char *text = support_read(path, &bytes);
        int32_t *ids;
        double start = support_seconds();
        cr_assert(assay_encode(tokenizer, text, bytes, &ids, &count, NULL) == ASSAY_OK);
        double seconds = support_seconds() - start;
        cr_log_info("%s: %.1f MB/s", texts[i].name, 1e-6 * (double)bytes / seconds);
        cr_assert(count == texts[i].tokens, "%s: %zu tokens instead of %zu", texts[i].name, count,
                  texts[i].tokens);
        cr_assert(round_trip(tokenizer, text, bytes) == count);
        assay_tokens_free(ids);
        free(text);
    }
    assay_tokenizer_close(tokenizer);
}

Test(tokenizer_golden, round_trip)
{
    enum { TEXTS = 4000, LONGEST = 60 };
    struct support_random random = {20240229};
    assay_tokenizer *tokenizer = support_open(SUPPORT_MARKS);
    char text[4 * LONGEST + 1];
    for (int i = 0; i < TEXTS; i++) {
        size_t count = 1 + support_below(&random, LONGEST);
        round_trip(tokenizer, text, support_any_text(&random, count, text));
    }
    /* Marks of every class in falling order, Hangul parts, and marks that compose past others. */
    static const char *const hard[] = {"",
                                       "a\u0345\u0301\u0323\u0327\u0334",
                                       "\u1100\u1161\u11A8\u1100\u1161",
                                       "\u0344\u0F73",
                                       "\u0958\u2126\uFB2A",
                                       "q\u0307\u0323",
                                       "\u0301",
                                       "\u0C47\u0C56\u0FB5"};
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++)
        round_trip(tokenizer, hard[i], strlen(hard[i]));
    assay_tokenizer_close(tokenizer);
}

/* Options of tokenizer.json that the models do not use but other files of the family do. */
Test(tokenizer_golden, file_forms)
{
    struct support_dir dir;
    support_dir_make(&dir);
    json_t *root = support_small_tokenizer(support_pattern);
    support_add_merge(root, "a", "b");
    support_add_merge(root, "ab", "c");
    support_add_merge(root, "b", "c");
    json_t *model = json_object_get(root, "model");
    json_object_set_new(json_object_get(model, "vocab"), "xyz", json_integer(261));
    json_array_set_new(json_object_get(model, "merges"), 0, json_string("a b")); /* older form */
    json_object_set_new(root, "normalizer", json_null());
    support_dir_write_json(&dir, "tokenizer.json", root);
    /* id 262 only here, 257 becomes special here; 263 has text outside the byte alphabet */
    static const char config[] =
        "{\"added_tokens_decoder\":{\"262\":{\"content\":\"<think>>\",\"special\":false},"
        "\"257\":{\"content\":\"<think>\",\"special\":true},"
        "\"263\":{\"content\":\"\xE6\x97\xA5 \xC3\xA9\",\"special\":false}}}";
    support_dir_write(&dir, "tokenizer_config.json", config, sizeof config - 1);

    static const struct {
        const char *text;
        bool whole_words;
        int32_t ids[8]; /* ends with -1 */
    } cases[] = {
        {"abc", false, {259, -1}},
        {"bc", false, {260, -1}},
        {"xyz", false, {'x', 'y', 'z', -1}}, /* no merge makes it */
        {"xyz", true, {261, -1}},
        {"<think>>", false, {262, -1}}, /* the longest at a place */
        {"<<think>", false, {'<', 257, -1}},
        {"e\xCC\x81", false, {'e', 0xCC, 0x81, -1}}, /* without the normalizer: as it is */
        {"a\xE6\x97\xA5 \xC3\xA9", false, {'a', 263, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_object_set_new(model, "ignore_merges", json_boolean(cases[i].whole_words));
        support_dir_write_json(&dir, "tokenizer.json", root);
        assay_tokenizer *tokenizer = support_open(dir.path);
        int32_t *ids;
        size_t count, expected = 0;
        const char *text = cases[i].text;
        while (cases[i].ids[expected] >= 0)
            expected++;
        cr_assert(assay_encode(tokenizer, text, strlen(text), &ids, &count, NULL) == ASSAY_OK);
        cr_assert(count == expected && memcmp(ids, cases[i].ids, count * sizeof *ids) == 0,
                  "case %zu: \"%s\": %zu ids, the first is %d", i, text, count, (int)ids[0]);
        char *decoded;
        size_t bytes;
        cr_assert(assay_decode(tokenizer, ids, count, false, &decoded, &bytes, NULL) == ASSAY_OK);
        cr_assert(strcmp(decoded, text) == 0, "\"%s\" instead of \"%s\"", decoded, text);
        assay_text_free(decoded);
        assay_tokens_free(ids);
        int32_t think = 257;
        cr_assert(assay_decode(tokenizer, &think, 1, true, &decoded, &bytes, NULL) == ASSAY_OK);
        cr_assert(bytes == 0 && assay_tokenizer_size(tokenizer) == 264);
        assay_text_free(decoded);
        assay_tokenizer_close(tokenizer);
    }
    json_decref(root);
    support_dir_remove(&dir);
}
