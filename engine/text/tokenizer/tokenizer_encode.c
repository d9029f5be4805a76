/* SPDX-License-Identifier: MIT
 *
 * Text to ids.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include "core/core.h"
#include "text/utf8.h"

/* NFC makes at most three bytes of one, and positions inside a word are 32 bits wide. */
enum { MAX_TEXT_BYTES = 1 << 29 };

struct encoding {
    const struct assay_tokenizer *tokenizer;
    struct merge_scratch scratch;
    int32_t *ids;
    size_t count, capacity;
};

static assay_status no_memory(struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, "assay_encode", "ids", "no memory for the ids");
}

static bool reserve(struct encoding *encoding, size_t more)
{
    if (more <= encoding->capacity - encoding->count)
        return true;
    size_t capacity = encoding->count + more;
    capacity += capacity / 2 + 16;
    int32_t *ids = assay_resize(encoding->ids, capacity, sizeof *ids);
    if (ids == NULL)
        return false;
    encoding->ids = ids;
    encoding->capacity = capacity;
    return true;
}

/* The word's bytes become tokens at the end of ids and are merged there. */
static bool encode_word(struct encoding *encoding, const unsigned char *word, size_t bytes)
{
    const struct assay_tokenizer *tokenizer = encoding->tokenizer;
    if (!reserve(encoding, bytes))
        return false;
    int32_t *ids = encoding->ids + encoding->count;
    if (tokenizer->whole_words) {
        int32_t id = token_table_find(&tokenizer->table, word, bytes);
        if (id >= 0 && tokenizer->table.tokens[id].kind == TOKEN_PLAIN) {
            ids[0] = id;
            encoding->count++;
            return true;
        }
    }
    for (size_t i = 0; i < bytes; i++)
        ids[i] = tokenizer->byte_ids[word[i]];
    int64_t count = merge_word(&tokenizer->merges, &encoding->scratch, ids, bytes);
    if (count < 0)
        return false;
    encoding->count += (size_t)count;
    return true;
}

static assay_status encode_words(struct encoding *encoding, const unsigned char *text, size_t bytes,
                                 struct assay_error *error)
{
    struct split_run run;
    ASSAY_TRY(split_run_begin(&run, encoding->tokenizer->pattern, bytes, error));
    assay_status status = ASSAY_OK;
    for (size_t at = 0, end; at < bytes && status == ASSAY_OK; at = end) {
        status = split_run_next(&run, text, bytes, at, &end, error);
        if (status == ASSAY_OK && !encode_word(encoding, text + at, end - at))
            status = no_memory(error);
    }
    split_run_end(&run);
    return status;
}

/* A part of the text that holds no added token. */
static assay_status encode_part(struct encoding *encoding, const unsigned char *text, size_t bytes,
                                struct assay_error *error)
{
    if (bytes == 0)
        return ASSAY_OK;
    const unsigned char *normal = text;
    unsigned char *owned = NULL;
    if (encoding->tokenizer->normalize && !normal_form_c(text, bytes, &normal, &bytes, &owned))
        return no_memory(error);
    assay_status status = encode_words(encoding, normal, bytes, error);
    assay_free(owned);
    return status;
}

static assay_status encode_text(struct encoding *encoding, const unsigned char *text, size_t bytes,
                                struct assay_error *error)
{
    const struct assay_tokenizer *tokenizer = encoding->tokenizer;
    size_t part = 0, at = 0;
    while (at < bytes) {
        int32_t id =
            added_tokens_match(&tokenizer->added, &tokenizer->table, text + at, bytes - at);
        if (id < 0) {
            at++;
            continue;
        }
        ASSAY_TRY(encode_part(encoding, text + part, at - part, error));
        if (!reserve(encoding, 1))
            return no_memory(error);
        encoding->ids[encoding->count++] = id;
        at += tokenizer->table.tokens[id].length;
        part = at;
    }
    return encode_part(encoding, text + part, bytes - part, error);
}

assay_status assay_encode(const assay_tokenizer *tokenizer, const char *text, size_t bytes,
                          int32_t **ids, size_t *num_ids, struct assay_error *error)
{
    if (ids != NULL)
        *ids = NULL;
    if (num_ids != NULL)
        *num_ids = 0;
    if (tokenizer == NULL || (text == NULL && bytes > 0) || ids == NULL || num_ids == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_encode",
                          tokenizer == NULL ? "tokenizer"
                          : ids == NULL     ? "ids"
                          : num_ids == NULL ? "num_ids"
                                            : "text",
                          "must not be NULL");
    if (bytes > MAX_TEXT_BYTES)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "assay_encode", "bytes",
                          "at most %d, is %zu: encode in parts", (int)MAX_TEXT_BYTES, bytes);
    size_t valid = utf8_valid_prefix((const unsigned char *)text, bytes);
    if (valid < bytes)
        return assay_fail(error, ASSAY_E_PARSE, "assay_encode", "text",
                          "invalid UTF-8 at byte offset %zu (0x%02X)", valid,
                          (unsigned)(unsigned char)text[valid]);
    struct encoding encoding = {.tokenizer = tokenizer};
    /* Also for an empty text, so that *ids is never NULL on success. */
    assay_status status = reserve(&encoding, bytes / 3 + 1) ? ASSAY_OK : no_memory(error);
    if (status == ASSAY_OK)
        status = encode_text(&encoding, (const unsigned char *)text, bytes, error);
    merge_scratch_free(&encoding.scratch);
    if (status != ASSAY_OK) {
        assay_free(encoding.ids);
        return status;
    }
    *ids = encoding.ids;
    *num_ids = encoding.count;
    return ASSAY_OK;
}

void assay_tokens_free(int32_t *ids)
{
    assay_free(ids);
}
