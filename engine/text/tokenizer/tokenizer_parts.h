/* SPDX-License-Identifier: MIT
 *
 * The parts of a tokenizer, private to this folder. qwen3_5.md section 9.
 *
 * A text is cut at added tokens; what lies between goes through NFC, is split by the pattern into
 * words, and the bytes of a word are merged by rank. Everything is immutable after
 * assay_tokenizer_open, so threads may share a tokenizer.
 */
#ifndef ASSAY_TEXT_TOKENIZER_TOKENIZER_PARTS_H
#define ASSAY_TEXT_TOKENIZER_TOKENIZER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <assay/status.h>
#include <assay/tokenizer.h>

#define TOKENIZER_FILE        "tokenizer.json"
#define TOKENIZER_CONFIG_FILE "tokenizer_config.json"

/* ---- byte alphabet (byte_alphabet.c) ------------------------------------------------------- */
/* The byte that a printable stand-in spells, -1 for any other code point. */
int byte_alphabet_byte(uint32_t code_point);
/* Spells back text[0, bytes) (valid UTF-8) into raw bytes, never more than `bytes`.
 * Returns the number of raw bytes, -1 when a character is no stand-in. */
int64_t byte_alphabet_decode(const char *text, size_t bytes, unsigned char *raw);

/* Both indexes are at most half full, where honest entries are found within some 100 probes. The
 * limit keeps a file of chosen collisions from making reading and encoding quadratic. */
enum { TOKENIZER_MAX_PROBES = 1024 };

/* ---- tokens (token_table.c) ---------------------------------------------------------------- */
enum token_kind {
    TOKEN_NONE,    /* the id names nothing */
    TOKEN_PLAIN,   /* of the vocabulary */
    TOKEN_ADDED,   /* found in texts by exact match */
    TOKEN_SPECIAL, /* an added token that skip_special drops */
};

struct token {
    uint32_t offset; /* into token_table.bytes */
    uint32_t length;
    uint32_t kind;
};

struct token_table {
    struct token *tokens; /* [size], by id */
    int64_t size;
    unsigned char *bytes; /* raw bytes of all tokens */
    size_t bytes_used, bytes_reserved;
    int32_t *slots; /* open addressing by raw bytes: id, or -1 */
    uint32_t slot_mask;
};

/* Room for ids [0, size), `reserved` raw bytes altogether and `count` tokens in the index. */
bool token_table_create(struct token_table *table, int64_t size, size_t reserved, size_t count);
void token_table_destroy(struct token_table *table);
/* Id of the token that spells these bytes, -1 when there is none. */
int32_t token_table_find(const struct token_table *table, const unsigned char *raw, size_t bytes);
/* Gives a free id its bytes. The caller has checked that id and bytes are not taken. raw may
 * be the free part of table->bytes. false: too many tokens share a hash. */
bool token_table_put(struct token_table *table, int32_t id, enum token_kind kind,
                     const unsigned char *raw, size_t bytes);

/* ---- merges (merge_table.c, merge_word.c) -------------------------------------------------- */
struct merge {
    int32_t left, right; /* ids; left is -1 in an empty slot */
    int32_t result;
    int32_t rank;
};

struct merge_table {
    struct merge *slots;
    uint32_t slot_mask;
};

bool merge_table_create(struct merge_table *table, size_t count);
void merge_table_destroy(struct merge_table *table);
/* NULL when the two do not merge. */
const struct merge *merge_table_find(const struct merge_table *table, int32_t left, int32_t right);
/* The caller has checked that the pair is not there. false: too many pairs share a hash. */
bool merge_table_put(struct merge_table *table, struct merge merge);

/* Working memory of merge_word, reused from word to word. */
struct merge_scratch {
    struct merge_symbol *symbols;
    struct merge_candidate *heap;
    size_t capacity; /* symbols; the heap holds as many again */
};

void merge_scratch_free(struct merge_scratch *scratch);
/* Merges the byte tokens ids[0, count) in place, lowest rank first and leftmost among equals, and
 * returns how many are left; -1 when out of memory. O(count log count). */
int64_t merge_word(const struct merge_table *table, struct merge_scratch *scratch, int32_t *ids,
                   size_t count);

/* ---- added tokens (added_tokens.c) --------------------------------------------------------- */
struct added_tokens {
    int32_t *ids; /* [count], in order of their bytes */
    int32_t count;
    int32_t first[257]; /* those that begin with byte b: [first[b], first[b + 1]) */
};

bool added_tokens_create(struct added_tokens *added, const struct token_table *table);
void added_tokens_destroy(struct added_tokens *added);
/* The longest added token that begins at text, -1 when none does. */
int32_t added_tokens_match(const struct added_tokens *added, const struct token_table *table,
                           const unsigned char *text, size_t bytes);

/* ---- normal form (normal_form.c) ----------------------------------------------------------- */
/* NFC of valid UTF-8. *out points to text itself when nothing changes, else to *owned, which the
 * caller frees with assay_free. false: out of memory. */
bool normal_form_c(const unsigned char *text, size_t bytes, const unsigned char **out,
                   size_t *out_bytes, unsigned char **owned);

/* ---- split pattern (split_translate.c, split_pattern.c) ------------------------------------ */
/* The pattern in PCRE2's dialect, assay_alloc memory. Constructs that the dialects read in
 * different ways are ASSAY_E_UNSUPPORTED with their offset. */
ASSAY_MUST_USE assay_status split_translate(const char *pattern, char **translated,
                                            struct assay_error *error);

struct split_pattern;
ASSAY_MUST_USE assay_status split_pattern_compile(const char *pattern,
                                                  struct split_pattern **compiled,
                                                  struct assay_error *error);
void split_pattern_free(struct split_pattern *pattern);

/* One pass over one valid UTF-8 text. */
struct split_run {
    const struct split_pattern *pattern;
    void *match_context; /* of PCRE2 */
    void *match_data;
    uint64_t budget;     /* match steps left beyond the base of each word */
    uint64_t scanned;    /* bytes looked at, at most, since the clock was read */
    double cpu_deadline; /* seconds of this thread's CPU time */
};

ASSAY_MUST_USE assay_status split_run_begin(struct split_run *run,
                                            const struct split_pattern *pattern, size_t bytes,
                                            struct assay_error *error);
void split_run_end(struct split_run *run);
/* End of the word that begins at `start` (start < bytes): text between matches is a word too. */
ASSAY_MUST_USE assay_status split_run_next(struct split_run *run, const unsigned char *text,
                                           size_t bytes, size_t start, size_t *end,
                                           struct assay_error *error);

/* ---- the whole ----------------------------------------------------------------------------- */
struct assay_tokenizer {
    struct token_table table;
    struct merge_table merges;
    struct added_tokens added;
    struct split_pattern *pattern;
    int32_t byte_ids[256];
    bool normalize;   /* NFC */
    bool whole_words; /* ignore_merges: a word of the vocabulary is taken before any merge */
};

/* tokenizer_model.c: fills table, merges and byte_ids from the parsed files; config may be NULL. */
ASSAY_MUST_USE assay_status tokenizer_read_model(struct assay_tokenizer *tokenizer,
                                                 const json_t *root, const json_t *config,
                                                 struct assay_error *error);
/* tokenizer_steps.c: checks normalizer, pre_tokenizer, post_processor and decoder; compiles the
 * pattern. */
ASSAY_MUST_USE assay_status tokenizer_read_steps(struct assay_tokenizer *tokenizer,
                                                 const json_t *root, struct assay_error *error);

#endif
