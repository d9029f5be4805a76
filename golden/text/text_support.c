/* SPDX-License-Identifier: MIT
 *
 * What the tests of tokenizer and template share.
 */
#include "text_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <utf8proc.h>

const char support_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
                               "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                               "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const char support_pattern_marks[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

char *support_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*bytes + 1);
    cr_assert(data != NULL && fread(data, 1, *bytes, file) == *bytes, "cannot read %s", path);
    data[*bytes] = '\0';
    fclose(file);
    return data;
}

json_t *support_lines(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "cannot open %s", path);
    json_t *lines = json_array();
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t bytes; (bytes = getline(&line, &capacity, file)) > 0;) {
        json_error_t error;
        json_t *value = json_loadb(line, (size_t)bytes, JSON_ALLOW_NUL, &error);
        cr_assert(value != NULL, "%s: line %zu: %s", path, json_array_size(lines) + 1, error.text);
        json_array_append_new(lines, value);
    }
    free(line);
    fclose(file);
    return lines;
}

assay_tokenizer *support_open(const char *dir)
{
    assay_tokenizer *tokenizer;
    struct assay_error error = {0};
    assay_status status = assay_tokenizer_open(dir, &tokenizer, &error);
    cr_assert(status == ASSAY_OK, "%s: %s: %s: %s", dir, error.where, error.what, error.message);
    return tokenizer;
}

double support_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- texts ----------------------------------------------------------------------------------- */

uint64_t support_next(struct support_random *random) /* splitmix64 */
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t support_below(struct support_random *random, uint32_t limit)
{
    return (uint32_t)((support_next(random) >> 32) * limit >> 32);
}

size_t support_utf8(uint32_t code_point, char *out)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)code_point, (utf8proc_uint8_t *)out);
}

size_t support_any_text(struct support_random *random, size_t count, char *out)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t c;
        do {
            static const uint32_t limits[] = {0x80, 0x800, 0x3100, 0x10000, 0x110000};
            c = support_below(random, limits[support_below(random, 5)]);
            if (support_below(random, 4) == 0)
                c = 0x300 + support_below(random, 0x70); /* combining marks */
        } while (c >= 0xD800 && c <= 0xDFFF);
        bytes += support_utf8(c, out + bytes);
    }
    out[bytes] = '\0';
    return bytes;
}

char *support_nfc(const char *text, size_t bytes, size_t *nfc_bytes)
{
    utf8proc_uint8_t *out = NULL;
    utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &out,
                     (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    cr_assert(length >= 0, "utf8proc: %s", utf8proc_errmsg(length));
    *nfc_bytes = (size_t)length;
    return (char *)out;
}

/* The value that data[0, length) spells as one character of that length, or -1. */
static int64_t value_of(const unsigned char *data, size_t length)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value = length == 1 ? data[0] : data[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((data[i] & 0xC0) != 0x80)
            return -1;
        value = value << 6 | (data[i] & 0x3Fu);
    }
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    return value < smallest[length] || value > 0x10FFFF || surrogate ? -1 : (int64_t)value;
}

static size_t length_by_lead(unsigned char lead)
{
    return lead < 0x80   ? 1
           : lead < 0xC0 ? 0
           : lead < 0xE0 ? 2
           : lead < 0xF0 ? 3
           : lead < 0xF8 ? 4
                         : 0;
}

/* Whether some character begins with data[0, count): every second byte is tried. */
static bool begins_character(const unsigned char *data, size_t count)
{
    size_t length = length_by_lead(data[0]);
    if (length < count || length == 0)
        return false;
    unsigned char whole[4] = {0x80, 0x80, 0x80, 0x80};
    memcpy(whole, data, count);
    if (count > 1)
        return value_of(whole, length) >= 0;
    for (int second = 0x80; second <= 0xBF; second++) {
        whole[1] = (unsigned char)second;
        if (value_of(whole, length) >= 0)
            return true;
    }
    return false;
}

char *support_replace(const unsigned char *data, size_t bytes, size_t *text_bytes)
{
    char *text = malloc(3 * bytes + 1);
    size_t used = 0, at = 0;
    while (at < bytes) {
        size_t part = 0;
        while (part < 4 && at + part < bytes && begins_character(data + at, part + 1))
            part++;
        if (part > 0 && part == length_by_lead(data[at])) {
            memcpy(text + used, data + at, part);
            used += part;
        } else {
            memcpy(text + used, "\xEF\xBF\xBD", 3);
            used += 3;
        }
        at += part > 0 ? part : 1;
    }
    text[used] = '\0';
    *text_bytes = used;
    return text;
}

/* ---- tokenizer files --------------------------------------------------------------------------
 */

void support_stand_in(int byte, char out[5])
{
    int next = 0x100, code_point = byte;
    for (int b = 0; b <= byte; b++) {
        bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        code_point = printable ? b : next++;
    }
    out[support_utf8((uint32_t)code_point, out)] = '\0';
}

json_t *support_small_tokenizer(const char *pattern)
{
    json_error_t error;
    json_t *root = json_pack_ex(
        &error, 0,
        "{s:s, s:n, s:n, s:[{s:i,s:s,s:b,s:b,s:b,s:b,s:b},{s:i,s:s,s:b,s:b,s:b,s:b,s:b}], s:{s:s},"
        " s:{s:s,s:[{s:s,s:{s:s},s:s,s:b},{s:s,s:b,s:b,s:b}]}, s:n, s:{s:s},"
        " s:{s:s,s:n,s:n,s:b,s:b,s:{},s:[]}}",
        "version", "1.0", "truncation", "padding", "added_tokens", "id", 256, "content", "<|end|>",
        "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1, "id", 257,
        "content", "<think>", "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
        "special", 0, "normalizer", "type", "NFC", "pre_tokenizer", "type", "Sequence",
        "pretokenizers", "type", "Split", "pattern", "Regex", pattern, "behavior", "Isolated",
        "invert", 0, "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0, "use_regex", 0,
        "post_processor", "decoder", "type", "ByteLevel", "model", "type", "BPE", "dropout",
        "unk_token", "byte_fallback", 0, "ignore_merges", 0, "vocab", "merges");
    cr_assert(root != NULL, "json_pack: %s", error.text);
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    for (int byte = 0; byte < 256; byte++) {
        char key[5];
        support_stand_in(byte, key);
        json_object_set_new(vocab, key, json_integer(byte));
    }
    return root;
}

static void spell(const char *bytes, char *out)
{
    *out = '\0';
    for (; *bytes != '\0'; bytes++) {
        char stand_in[5];
        support_stand_in((unsigned char)*bytes, stand_in);
        strcat(out, stand_in);
    }
}

void support_add_merge(json_t *root, const char *left, const char *right)
{
    char spelled[2][64], result[128];
    spell(left, spelled[0]);
    spell(right, spelled[1]);
    snprintf(result, sizeof result, "%s%s", spelled[0], spelled[1]);
    json_t *model = json_object_get(root, "model");
    json_t *vocab = json_object_get(model, "vocab");
    if (json_object_get(vocab, result) == NULL) /* 256 and 257 are the added tokens */
        json_object_set_new(vocab, result, json_integer((json_int_t)json_object_size(vocab) + 2));
    json_array_append_new(json_object_get(model, "merges"),
                          json_pack("[s,s]", spelled[0], spelled[1]));
}

void support_dir_make(struct support_dir *dir)
{
    snprintf(dir->path, sizeof dir->path, "/tmp/assay-text-XXXXXX");
    cr_assert(mkdtemp(dir->path) != NULL, "cannot make a folder in /tmp");
}

void support_dir_write(const struct support_dir *dir, const char *name, const char *data,
                       size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0,
              "cannot write %s", path);
}

void support_dir_write_json(const struct support_dir *dir, const char *name, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    support_dir_write(dir, name, text, strlen(text));
    free(text);
}

void support_dir_remove(const struct support_dir *dir)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir->path, names[i]);
        unlink(path);
    }
    rmdir(dir->path);
}
