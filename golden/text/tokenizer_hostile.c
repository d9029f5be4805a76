/* SPDX-License-Identifier: MIT
 *
 * Hostile tokenizer files: each is refused with an error that names file and field, or opens; none
 * crashes, hangs, leaks or takes memory beyond a bound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <criterion/criterion.h>

#include <assay/testing.h>

#include "text_support.h"

/* Opens, works with what opened, closes. */
static assay_status try_dir(const struct support_dir *dir, struct assay_error *error)
{
    assay_tokenizer *tokenizer;
    assay_error_clear(error);
    assay_status status = assay_tokenizer_open(dir->path, &tokenizer, error);
    if (status == ASSAY_OK) {
        static const char text[] = "Don't  stop \r\n e\xCC\x81 12 <think> \xE4\xB8\xAD!<|end|>";
        int32_t *ids;
        size_t count, bytes;
        char *decoded;
        if (assay_encode(tokenizer, text, sizeof text - 1, &ids, &count, error) == ASSAY_OK) {
            cr_assert(assay_decode(tokenizer, ids, count, true, &decoded, &bytes, error) ==
                      ASSAY_OK);
            assay_text_free(decoded);
            assay_tokens_free(ids);
        }
    } else {
        cr_assert(tokenizer == NULL && error->status == status);
        cr_assert(strncmp(error->where, "tokenizer", 9) == 0, "no file named: %s", error->where);
        cr_assert(error->what[0] != '\0' && error->message[0] != '\0', "no field or message");
    }
    assay_tokenizer_close(tokenizer);
    cr_assert(assay_live_allocations() == 0, "%s: %s: %s leaks", error->where, error->what,
              error->message);
    return status;
}

static json_t *small(void)
{
    json_t *root = support_small_tokenizer(support_pattern);
    support_add_merge(root, "t", "h");
    support_add_merge(root, "th", "e");
    support_add_merge(root, "o", "p");
    return root;
}

/* ---- one field at a time ------------------------------------------------------------------- */

/* Sets root.a.b[2].c = value; NULL deletes. */
static void set_path(json_t *root, const char *path, json_t *value)
{
    char copy[128], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    json_t *at = root;
    for (char *step; (step = strsep(&rest, ".")) != NULL;) {
        char *bracket = step[0] != '[' ? strchr(step, '[') : NULL;
        if (bracket != NULL) { /* name[2] is name, then [2] */
            *bracket = '\0';
            at = json_object_get(at, step);
            step = bracket;
            step[strlen(step) - 1] = '\0';
            size_t index = (size_t)atoi(step + 1);
            if (rest == NULL) {
                json_array_set_new(at, index, value);
                return;
            }
            at = json_array_get(at, index);
        } else if (rest == NULL && value == NULL) {
            cr_assert(json_object_del(at, step) == 0, "%s is not there", path);
        } else if (rest == NULL) {
            json_object_set_new(at, step, value);
        } else {
            at = json_object_get(at, step);
        }
        cr_assert(at != NULL, "no %s", path);
    }
}

#define SPLIT      "pre_tokenizer.pretokenizers[0]"
#define REGEX      SPLIT ".pattern.Regex"
#define BYTE_LEVEL "pre_tokenizer.pretokenizers[1]"

static const struct change {
    const char *path, *value; /* JSON; NULL: the field is deleted */
    const char *field;        /* that the error names (begins with) */
    assay_status status;
} changes[] = {
    {"model", NULL, "model", ASSAY_E_PARSE},
    {"model", "[]", "model", ASSAY_E_PARSE},
    {"model", "7", "model", ASSAY_E_PARSE},
    {"model.type", NULL, "model.type", ASSAY_E_UNSUPPORTED},
    {"model.type", "\"WordPiece\"", "model.type", ASSAY_E_UNSUPPORTED},
    {"model.type", "{}", "model.type", ASSAY_E_UNSUPPORTED},
    {"model.dropout", "0.1", "model.dropout", ASSAY_E_UNSUPPORTED},
    {"model.continuing_subword_prefix", "\"##\"", "model.continuing", ASSAY_E_UNSUPPORTED},
    {"model.end_of_word_suffix", "\"</w>\"", "model.end_of", ASSAY_E_UNSUPPORTED},
    {"model.byte_fallback", "true", "model.byte_fallback", ASSAY_E_UNSUPPORTED},
    {"model.byte_fallback", "1", "model.byte_fallback", ASSAY_E_PARSE},
    {"model.ignore_merges", "\"no\"", "model.ignore_merges", ASSAY_E_PARSE},
    {"model.vocab", NULL, "model.vocab", ASSAY_E_PARSE},
    {"model.vocab", "[]", "model.vocab", ASSAY_E_PARSE},
    {"model.vocab", "{}", "model.vocab", ASSAY_E_UNSUPPORTED},
    {"model.vocab", "null", "model.vocab", ASSAY_E_PARSE},
    {"model.vocab.a", "-1", "model.vocab[\"a\"]", ASSAY_E_RANGE},
    {"model.vocab.a", "98", "model.vocab[\"", ASSAY_E_CORRUPT}, /* twice */
    {"model.vocab.a", "16777216", "model.vocab[\"a\"]", ASSAY_E_RANGE},
    {"model.vocab.a", "4294967296", "model.vocab[\"a\"]", ASSAY_E_RANGE},
    {"model.vocab.a", "4294967393", "model.vocab[\"a\"]", ASSAY_E_RANGE}, /* 97 in 32 bits */
    {"model.vocab.a", "9223372036854775807", "model.vocab[\"a\"]", ASSAY_E_RANGE},
    {"model.vocab.a", "-9223372036854775808", "model.vocab[\"a\"]", ASSAY_E_RANGE},
    {"model.vocab.a", "16777215", "model.vocab", ASSAY_E_CORRUPT}, /* not dense */
    {"model.vocab.a", "97.0", "model.vocab[\"a\"]", ASSAY_E_PARSE},
    {"model.vocab.a", "\"97\"", "model.vocab[\"a\"]", ASSAY_E_PARSE},
    {"model.vocab.a", "null", "model.vocab[\"a\"]", ASSAY_E_PARSE},
    {"model.vocab.a", "[97]", "model.vocab[\"a\"]", ASSAY_E_PARSE},
    {"model.vocab.a", NULL, "model.vocab", ASSAY_E_UNSUPPORTED}, /* a byte without a token */
    {"model.vocab.new token", "300", "model.vocab[\"new token\"]", ASSAY_E_UNSUPPORTED},
    {"model.vocab.\xE6\x97\xA5", "300", "model.vocab[", ASSAY_E_UNSUPPORTED},
    {"model.vocab.", "300", "model.vocab[\"\"]", ASSAY_E_CORRUPT},
    {"model.merges", NULL, "model.merges", ASSAY_E_PARSE},
    {"model.merges", "{}", "model.merges", ASSAY_E_PARSE},
    {"model.merges", "\"t h\"", "model.merges", ASSAY_E_PARSE},
    {"model.merges[1]", "\"\"", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "\"th\"", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "\"t h e\"", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "\" \"", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "\"th \"", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "[\"t\"]", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "[\"t\",\"h\",\"e\"]", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "[\"t\",5]", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "[\"th\",\"\"]", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "[\"t h\",\"e\"]", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "[\"zz\",\"e\"]", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "[\"t\",\"ee\"]", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "[\"a\",\"b\"]", "model.merges[1]", ASSAY_E_CORRUPT}, /* result unknown */
    {"model.merges[1]", "[\"t\",\"h\"]", "model.merges[1]", ASSAY_E_CORRUPT}, /* repeated */
    {"model.merges[1]", "\"t h\"", "model.merges[1]", ASSAY_E_CORRUPT},
    {"model.merges[1]", "null", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "1", "model.merges[1]", ASSAY_E_PARSE},
    {"model.merges[1]", "[\"<|end|\",\">\"]", "model.merges[1]", ASSAY_E_CORRUPT},
    {"added_tokens", "{}", "added_tokens", ASSAY_E_PARSE},
    {"added_tokens", "\"<|end|>\"", "added_tokens", ASSAY_E_PARSE},
    {"added_tokens[0]", "null", "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0]", "[]", "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].id", NULL, "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].id", "-1", "added_tokens[0]", ASSAY_E_RANGE},
    {"added_tokens[0].id", "4294967552", "added_tokens[0]", ASSAY_E_RANGE},
    {"added_tokens[0].id", "16777215", "model.vocab", ASSAY_E_CORRUPT},
    {"added_tokens[0].id", "257", "added_tokens[1]", ASSAY_E_CORRUPT},
    {"added_tokens[0].id", "97", "added_tokens[0]", ASSAY_E_CORRUPT},
    {"added_tokens[0].id", "256.5", "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].content", NULL, "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].content", "\"\"", "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].content", "7", "added_tokens[0]", ASSAY_E_PARSE},
    {"added_tokens[0].content", "\"a\"", "added_tokens[0]", ASSAY_E_CORRUPT},
    {"added_tokens[0].content", "\"<think>\"", "added_tokens[1]", ASSAY_E_CORRUPT},
    {"added_tokens[0].lstrip", "true", "added_tokens[0]", ASSAY_E_UNSUPPORTED},
    {"added_tokens[0].rstrip", "true", "added_tokens[0]", ASSAY_E_UNSUPPORTED},
    {"added_tokens[0].single_word", "true", "added_tokens[0]", ASSAY_E_UNSUPPORTED},
    {"added_tokens[0].normalized", "true", "added_tokens[0]", ASSAY_E_UNSUPPORTED},
    {"added_tokens[0].normalized", "0", "added_tokens[0]", ASSAY_E_UNSUPPORTED},
    {"added_tokens[0].special", "1", "added_tokens[0]", ASSAY_E_PARSE},
    {"normalizer", "{\"type\":\"NFKC\"}", "normalizer", ASSAY_E_UNSUPPORTED},
    {"normalizer", "{}", "normalizer", ASSAY_E_UNSUPPORTED},
    {"normalizer", "\"NFC\"", "normalizer", ASSAY_E_UNSUPPORTED},
    {"normalizer", "{\"type\":\"Sequence\"}", "normalizer", ASSAY_E_UNSUPPORTED},
    {"normalizer",
     "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Lower\"}]}",
     "normalizer.normalizers[1]", ASSAY_E_UNSUPPORTED},
    {"pre_tokenizer", NULL, "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {"pre_tokenizer", "null", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {"pre_tokenizer.type", "\"ByteLevel\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {"pre_tokenizer.pretokenizers", "[]", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {"pre_tokenizer.pretokenizers", "{}", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {SPLIT, "null", SPLIT, ASSAY_E_UNSUPPORTED},
    {SPLIT ".type", "\"Digits\"", SPLIT, ASSAY_E_UNSUPPORTED},
    {SPLIT ".behavior", "\"Removed\"", SPLIT ".behavior", ASSAY_E_UNSUPPORTED},
    {SPLIT ".behavior", NULL, SPLIT ".behavior", ASSAY_E_UNSUPPORTED},
    {SPLIT ".invert", "true", SPLIT ".invert", ASSAY_E_UNSUPPORTED},
    {SPLIT ".pattern", "{\"String\":\" \"}", SPLIT ".pattern", ASSAY_E_UNSUPPORTED},
    {SPLIT ".pattern", "\" \"", SPLIT ".pattern", ASSAY_E_UNSUPPORTED},
    {BYTE_LEVEL ".type", "\"Metaspace\"", BYTE_LEVEL, ASSAY_E_UNSUPPORTED},
    {BYTE_LEVEL ".add_prefix_space", "true", BYTE_LEVEL ".add", ASSAY_E_UNSUPPORTED},
    {BYTE_LEVEL ".add_prefix_space", NULL, BYTE_LEVEL ".add", ASSAY_E_UNSUPPORTED},
    {BYTE_LEVEL ".use_regex", "true", BYTE_LEVEL ".use_regex", ASSAY_E_UNSUPPORTED},
    {BYTE_LEVEL ".use_regex", NULL, BYTE_LEVEL ".use_regex", ASSAY_E_UNSUPPORTED},
    {"post_processor", "{\"type\":\"TemplateProcessing\"}", "post_processor", ASSAY_E_UNSUPPORTED},
    {"decoder", NULL, "decoder", ASSAY_E_UNSUPPORTED},
    {"decoder", "{\"type\":\"WordPiece\"}", "decoder", ASSAY_E_UNSUPPORTED},
    {"decoder", "{\"type\":\"Sequence\",\"decoders\":[]}", "decoder", ASSAY_E_UNSUPPORTED},
    /* regular expressions: broken ones, and those that engines read in different ways */
    {REGEX, "\"\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"(\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"a)\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"*a\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"[a\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"[]a]\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"[z-a]\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"\\\\\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"\\\\p{Nonsense}\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"\\\\p{L\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"\\\\p\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"a{99999}\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"(?:(?:(?:\\\\p{L}{999}){999}){999}){999}\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"(?<=a+)b\"", "pre_tokenizer", ASSAY_E_PARSE},
    {REGEX, "\"\\\\w+\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"\\\\bx\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"\\\\C\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"a\\\\Kb\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"[\\\\S]\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"[[:alpha:]]\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"[a&&b]\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"a{,3}\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"a{1,3}+\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"(?R)\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"(*UTF)a\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"^a\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"a$\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
    {REGEX, "\"(a)\\\\1\"", "pre_tokenizer", ASSAY_E_UNSUPPORTED},
};
enum { NUM_CHANGES = sizeof changes / sizeof changes[0] };

Test(tokenizer_hostile, fields)
{
    struct support_dir dir;
    struct assay_error error = {0};
    support_dir_make(&dir);
    json_t *valid = small();
    support_dir_write_json(&dir, "tokenizer.json", valid);
    cr_assert(try_dir(&dir, &error) == ASSAY_OK, "%s: %s", error.what, error.message);
    for (size_t i = 0; i < NUM_CHANGES; i++) {
        json_t *root = json_deep_copy(valid);
        json_t *value = NULL;
        if (changes[i].value != NULL) {
            value = json_loads(changes[i].value, JSON_DECODE_ANY, NULL);
            cr_assert(value != NULL, "change %zu is no JSON", i);
        }
        set_path(root, changes[i].path, value);
        support_dir_write_json(&dir, "tokenizer.json", root);
        json_decref(root);
        assay_status status = try_dir(&dir, &error);
        cr_assert(status == changes[i].status, "%s = %s: %s: %s: %s", changes[i].path,
                  changes[i].value ? changes[i].value : "(deleted)", assay_status_name(status),
                  error.what, error.message);
        cr_assert(strcmp(error.where, "tokenizer.json") == 0 &&
                      strncmp(error.what, changes[i].field, strlen(changes[i].field)) == 0,
                  "%s = %s: the error names %s: %s", changes[i].path,
                  changes[i].value ? changes[i].value : "(deleted)", error.where, error.what);
    }
    json_decref(valid);
    support_dir_remove(&dir);
}

Test(tokenizer_hostile, config)
{
    static const struct {
        const char *text, *field;
        assay_status status;
    } cases[] = {
        {"", "JSON", ASSAY_E_PARSE},
        {"[]", "JSON", ASSAY_E_PARSE},
        {"{\"added_tokens_decoder\":[]}", "added_tokens_decoder", ASSAY_E_PARSE},
        {"{\"added_tokens_decoder\":{\"x\":{}}}", "added_tokens_decoder[\"x\"]", ASSAY_E_RANGE},
        {"{\"added_tokens_decoder\":{\"\":{}}}", "added_tokens_decoder[\"\"]", ASSAY_E_RANGE},
        {"{\"added_tokens_decoder\":{\"-1\":{}}}", "added_tokens_decoder[\"-1\"]", ASSAY_E_RANGE},
        {"{\"added_tokens_decoder\":{\"18446744073709551873\":{}}}", "added_tokens_decoder",
         ASSAY_E_RANGE},
        {"{\"added_tokens_decoder\":{\"300\":7}}", "added_tokens_decoder[\"300\"]", ASSAY_E_PARSE},
        {"{\"added_tokens_decoder\":{\"300\":{}}}", "added_tokens_decoder[\"300\"]", ASSAY_E_PARSE},
        {"{\"added_tokens_decoder\":{\"256\":{\"content\":\"<|other|>\"}}}",
         "added_tokens_decoder[\"256\"]", ASSAY_E_CORRUPT},
        {"{\"added_tokens_decoder\":{\"300\":{\"content\":\"<|end|>\"}}}",
         "added_tokens_decoder[\"300\"]", ASSAY_E_CORRUPT},
        {"{\"added_tokens_decoder\":{\"300\":{\"content\":\"<a>\",\"lstrip\":true}}}",
         "added_tokens_decoder[\"300\"]", ASSAY_E_UNSUPPORTED},
        {"{\"added_tokens_decoder\":null}", "", ASSAY_OK},
        {"{}", "", ASSAY_OK},
    };
    struct support_dir dir;
    support_dir_make(&dir);
    json_t *root = small();
    support_dir_write_json(&dir, "tokenizer.json", root);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_error error = {0};
        support_dir_write(&dir, "tokenizer_config.json", cases[i].text, strlen(cases[i].text));
        assay_status status = try_dir(&dir, &error);
        cr_assert(status == cases[i].status, "%s: %s: %s", cases[i].text, error.what,
                  error.message);
        cr_assert(status == ASSAY_OK ||
                      (strcmp(error.where, "tokenizer_config.json") == 0 &&
                       strncmp(error.what, cases[i].field, strlen(cases[i].field)) == 0),
                  "%s: the error names %s: %s", cases[i].text, error.where, error.what);
    }
    json_decref(root);
    support_dir_remove(&dir);
    struct assay_error error = {0};
    cr_assert(try_dir(&dir, &error) == ASSAY_E_NOT_FOUND);
}

/* ---- damaged bytes ------------------------------------------------------------------------- */

Test(tokenizer_hostile, damage)
{
    enum { CUTS = 60, FLIPS = 600 };
    struct support_dir dir;
    struct assay_error error = {0};
    support_dir_make(&dir);
    json_t *root = small();
    char *text = json_dumps(root, JSON_COMPACT);
    size_t bytes = strlen(text);
    for (size_t i = 0; i < CUTS; i++) { /* the last one lacks the closing brace only */
        support_dir_write(&dir, "tokenizer.json", text, i * (bytes - 1) / (CUTS - 1));
        cr_assert(try_dir(&dir, &error) == ASSAY_E_PARSE, "cut %zu: %s", i, error.message);
    }
    struct support_random random = {3};
    int refused = 0;
    for (int i = 0; i < FLIPS; i++) { /* many still mean something: other names of other fields */
        size_t at = support_below(&random, (uint32_t)bytes);
        char kept = text[at];
        text[at] = (char)(kept ^ 1 << support_below(&random, 8));
        support_dir_write(&dir, "tokenizer.json", text, bytes);
        refused += try_dir(&dir, &error) != ASSAY_OK;
        text[at] = kept;
    }
    cr_assert(refused > FLIPS / 2, "only %d of %d flips were refused", refused, FLIPS);
    free(text);
    json_decref(root);
    support_dir_remove(&dir);
}

/* ---- size and depth ------------------------------------------------------------------------ */

static void repeat_file(const struct support_dir *dir, const char *begin, const char *part,
                        size_t times, const char *end)
{
    size_t part_bytes = strlen(part), bytes = 0;
    char *text = malloc(strlen(begin) + times * part_bytes + strlen(end) + 1);
    bytes += (size_t)sprintf(text, "%s", begin);
    for (size_t i = 0; i < times; i++, bytes += part_bytes)
        memcpy(text + bytes, part, part_bytes);
    bytes += (size_t)sprintf(text + bytes, "%s", end);
    support_dir_write(dir, "tokenizer.json", text, bytes);
    free(text);
}

Test(tokenizer_hostile, size)
{
    enum { MANY = 10 * 1000 * 1000, MAX_MIB = 1200 };
    struct support_dir dir;
    struct assay_error error = {0};
    support_dir_make(&dir);
    static const struct {
        const char *begin, *part;
        size_t times;
        const char *end;
        assay_status status;
    } cases[] = {
        {"", "[", MANY, "", ASSAY_E_UNSUPPORTED},
        {"", "[", 100000, "", ASSAY_E_PARSE},
        {"{\"model\":", "{\"a\":", 100000, "", ASSAY_E_PARSE},
        {"[[]", ",[]", MANY, "]", ASSAY_E_UNSUPPORTED},
        {"{\"model\":[0", ",0", MANY, "]}", ASSAY_E_UNSUPPORTED},
        {"{\"model\":[0", ",0", 4000000, "]}", ASSAY_E_UNSUPPORTED}, /* read, then refused */
        {"{\"model\":\"", "a", MANY, "\"}", ASSAY_E_UNSUPPORTED},
        {"{\"model\":\"", "\\\"", MANY, "\"}", ASSAY_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        repeat_file(&dir, cases[i].begin, cases[i].part, cases[i].times, cases[i].end);
        cr_assert(try_dir(&dir, &error) == cases[i].status, "case %zu: %s: %s", i, error.what,
                  error.message);
    }
#ifndef __SANITIZE_ADDRESS__
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    cr_assert(usage.ru_maxrss / 1024 < MAX_MIB, "%ld MiB", usage.ru_maxrss / 1024);
#endif
    support_dir_remove(&dir);
}
