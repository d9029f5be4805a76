/* SPDX-License-Identifier: MIT
 *
 * What the tests of tokenizer and template share. Nothing here calls the engine but
 * support_open.
 */
#ifndef ASSAY_GOLDEN_TEXT_TEXT_SUPPORT_H
#define ASSAY_GOLDEN_TEXT_TEXT_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <assay/tokenizer.h>

#define SUPPORT_TINY  ASSAY_GOLDEN_DIR "/models/tiny-hybrid"
#define SUPPORT_MARKS ASSAY_GOLDEN_DIR "/references/tokenizer-qwen35-pattern"

/* The split patterns of the Qwen2/3 and the Qwen3.5 families. */
extern const char support_pattern[], support_pattern_marks[];

/* Whole file, zero-terminated, from malloc; fails the test when it cannot be read. */
char *support_read(const char *path, size_t *bytes);
/* An array of the file's lines. */
json_t *support_lines(const char *path);
/* Opens a tokenizer; fails the test with the error's words when it cannot. */
assay_tokenizer *support_open(const char *dir);
/* Seconds of this process's CPU time: other work on the machine does not count. */
double support_seconds(void);

/* ---- texts ----------------------------------------------------------------------------------- */
struct support_random {
    uint64_t state;
};
uint64_t support_next(struct support_random *random);
/* 0 .. limit - 1 */
uint32_t support_below(struct support_random *random, uint32_t limit);
/* UTF-8 of a code point, 1..4 bytes. */
size_t support_utf8(uint32_t code_point, char *out);
/* `count` code points from all of Unicode, assigned or not, without surrogates; zero-terminated.
 * out: 4 * count + 1 bytes. Returns the bytes. */
size_t support_any_text(struct support_random *random, size_t count, char *out);
/* NFC by utf8proc's own one-call interface, from malloc. */
char *support_nfc(const char *text, size_t bytes, size_t *nfc_bytes);
/* Python's bytes.decode(errors="replace"), from malloc. Written from its definition: the longest
 * part at each place that some character begins with. */
char *support_replace(const unsigned char *data, size_t bytes, size_t *text_bytes);

/* ---- tokenizer files --------------------------------------------------------------------------
 */
/* The stand-in of a byte in tokenizer files, zero-terminated UTF-8. */
void support_stand_in(int byte, char out[5]);
/* A valid tokenizer.json with the 256 bytes as ids 0..255 and no merges. */
json_t *support_small_tokenizer(const char *pattern);
/* Appends the merge of two byte strings of the vocabulary, and its result with the next free id. */
void support_add_merge(json_t *root, const char *left, const char *right);

/* A folder of its own with the two files (config may be NULL). */
struct support_dir {
    char path[64];
};
void support_dir_make(struct support_dir *dir);
void support_dir_write(const struct support_dir *dir, const char *name, const char *data,
                       size_t bytes);
void support_dir_write_json(const struct support_dir *dir, const char *name, const json_t *json);
void support_dir_remove(const struct support_dir *dir);

#endif
