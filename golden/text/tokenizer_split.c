/* SPDX-License-Identifier: MIT
 *
 * Second opinion on the split: Oniguruma, which the reference library uses, cuts the text, and the
 * words are merged here in the plainest way. Every pair of the alphabet's bytes merges, so that a
 * cut in another place shows in the ids.
 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <oniguruma.h>

#include "text_support.h"

/* What decides between alternatives, each with neighbours that do not: spaces of all kinds and
 * U+180E, which is none since Unicode 6.3; contractions and U+017F, which folds to s; marks,
 * digits, letters, punctuation, and characters of all lengths. */
static const uint32_t alphabet[] = {
    ' ',    ' ',    ' ',    '\n',   '\r',   '\t',   0x0B,   0x1C,    0x85,    0xA0,  0x1680,
    0x180E, 0x2003, 0x200B, 0x2028, 0x202F, 0x3000, 0xFEFF, '\'',    '\'',    's',   'S',
    't',    'r',    'e',    'v',    'L',    'l',    'm',    'D',     0x17F,   'K',   0x212A,
    '1',    0x661,  0x2167, 0xBD,   '!',    '-',    '_',    0x2019,  0x301,   0x323, 0x93F,
    0x20E3, 0x4E2D, 0xE9,   0x16A0, 0xAC00, 0x1100, 0x1161, 0x1F600, 0x10FFFF};
enum { ALPHABET = sizeof alphabet / sizeof alphabet[0], BYTES = 256 };

/* Rank of the merge of two bytes, -1 when they do not merge; its id is FIRST_PAIR + rank. */
static int rank_of[BYTES][BYTES];
enum { FIRST_PAIR = 258 };

static json_t *make_tokenizer(const char *pattern)
{
    json_t *root = support_small_tokenizer(pattern);
    bool used[BYTES] = {false};
    for (size_t i = 0; i < ALPHABET; i++) {
        char text[4];
        size_t length = support_utf8(alphabet[i], text);
        for (size_t b = 0; b < length; b++)
            used[(unsigned char)text[b]] = true;
    }
    memset(rank_of, -1, sizeof rank_of);
    /* The order of ranks must not follow that of the bytes: 97 steps through all 256. */
    int rank = 0;
    for (int i = 0; i < BYTES; i++)
        for (int j = 0; j < BYTES; j++) {
            int left = i * 97 % BYTES, right = (j * 61 + i * 29) % BYTES;
            if (!used[left] || !used[right])
                continue;
            char a[2] = {(char)left, 0}, b[2] = {(char)right, 0};
            support_add_merge(root, a, b);
            rank_of[left][right] = rank++;
        }
    return root;
}

/* Appends the word's ids: the lowest rank first, the leftmost of equal ones. */
static size_t merge(const unsigned char *word, size_t bytes, int32_t *ids)
{
    size_t count = bytes;
    for (size_t i = 0; i < bytes; i++)
        ids[i] = word[i];
    for (;;) {
        int best = -1;
        size_t place = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            int rank = ids[i] < BYTES && ids[i + 1] < BYTES ? rank_of[ids[i]][ids[i + 1]] : -1;
            if (rank >= 0 && (best < 0 || rank < best)) {
                best = rank;
                place = i;
            }
        }
        if (best < 0)
            return count;
        ids[place] = FIRST_PAIR + best;
        memmove(ids + place + 1, ids + place + 2, (count - place - 2) * sizeof *ids);
        count--;
    }
}

static size_t expected_ids(regex_t *regex, OnigRegion *region, const unsigned char *text,
                           size_t bytes, int32_t *ids)
{
    size_t count = 0, at = 0;
    while (at < bytes) {
        int found = onig_search(regex, text, text + bytes, text + at, text + bytes, region,
                                ONIG_OPTION_NONE);
        cr_assert(found == (int)at && region->end[0] > found, "the patterns match everywhere");
        size_t end = (size_t)region->end[0];
        count += merge(text + at, end - at, ids + count);
        at = end;
    }
    return count;
}

static void compare_splits(const char *pattern, uint64_t seed)
{
    enum { TEXTS = 20000, LONGEST = 24, MAX_BYTES = 3 * 4 * 4 * LONGEST };
    struct support_dir dir;
    support_dir_make(&dir);
    json_t *root = make_tokenizer(pattern);
    support_dir_write_json(&dir, "tokenizer.json", root);
    assay_tokenizer *tokenizer = support_open(dir.path);
    regex_t *regex;
    OnigErrorInfo info;
    int made =
        onig_new(&regex, (const OnigUChar *)pattern, (const OnigUChar *)pattern + strlen(pattern),
                 ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    cr_assert(made == ONIG_NORMAL);
    OnigRegion *region = onig_region_new();
    struct support_random random = {seed};
    for (int i = 0; i < TEXTS; i++) {
        char text[MAX_BYTES];
        size_t bytes = 0, count, nfc_bytes;
        for (uint32_t left = 1 + support_below(&random, LONGEST); left > 0; left--) {
            uint32_t c = alphabet[support_below(&random, ALPHABET)];
            uint32_t times = support_below(&random, 4) == 0 ? 1 + support_below(&random, 4) : 1;
            for (; times > 0; times--)
                bytes += support_utf8(c, text + bytes);
        }
        char *nfc = support_nfc(text, bytes, &nfc_bytes);
        int32_t expected[MAX_BYTES], *ids;
        size_t expected_count =
            expected_ids(regex, region, (const unsigned char *)nfc, nfc_bytes, expected);
        cr_assert(assay_encode(tokenizer, text, bytes, &ids, &count, NULL) == ASSAY_OK);
        cr_assert(count == expected_count && memcmp(ids, expected, count * sizeof *ids) == 0,
                  "text %d of seed %d, \"%.*s\", is split in another way", i, (int)seed, (int)bytes,
                  text);
        assay_tokens_free(ids);
        free(nfc);
    }
    onig_region_free(region, 1);
    onig_free(regex);
    assay_tokenizer_close(tokenizer);
    json_decref(root);
    support_dir_remove(&dir);
}

Test(tokenizer_split, oniguruma)
{
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    cr_assert(onig_initialize(encodings, 1) == ONIG_NORMAL);
    compare_splits(support_pattern, 1);
    compare_splits(support_pattern_marks, 2);
    /* Lookbehind sees the text before the place; a counted repeat. */
    compare_splits("(?<=\\p{N})\\p{L}{1,3}|[^\\p{L}]|\\p{L}", 3);
    onig_end();
}
