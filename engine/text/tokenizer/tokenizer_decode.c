/* SPDX-License-Identifier: MIT
 *
 * Ids to text. Whole sequences go through the incremental detokeniser, so both give the same text.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include "core/core.h"
#include "text/text_buffer.h"
#include "text/utf8.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void assay_detokenizer_init(struct assay_detokenizer *detokenizer, const assay_tokenizer *tokenizer,
                            bool skip_special)
{
    *detokenizer = (struct assay_detokenizer){.tokenizer = tokenizer, .skip_special = skip_special};
}

/* One byte more. `out` has room for two characters: the byte may end an invalid part and be
 * invalid itself. */
static void push_byte(struct assay_detokenizer *detokenizer, unsigned char byte,
                      struct text_buffer *out)
{
    unsigned char *pending = detokenizer->pending;
    pending[detokenizer->num_pending++] = byte;
    struct utf8_part part;
    while (detokenizer->num_pending > 0 &&
           (part = utf8_first(pending, (size_t)detokenizer->num_pending)).kind != UTF8_UNFINISHED) {
        if (part.kind == UTF8_COMPLETE)
            (void)text_buffer_append(out, (const char *)pending, (size_t)part.length);
        else
            (void)text_buffer_append(out, replacement, sizeof replacement - 1);
        detokenizer->num_pending -= part.length;
        memmove(pending, pending + part.length, (size_t)detokenizer->num_pending);
    }
}

assay_status assay_detokenizer_push(struct assay_detokenizer *detokenizer, int32_t id, char **text,
                                    size_t *bytes, size_t *capacity, struct assay_error *error)
{
    if (detokenizer == NULL || detokenizer->tokenizer == NULL || text == NULL || bytes == NULL ||
        capacity == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_detokenizer_push", "arguments",
                          "must not be NULL");
    const struct token_table *table = &detokenizer->tokenizer->table;
    if (id < 0 || id >= table->size || table->tokens[id].kind == TOKEN_NONE)
        return assay_fail(error, ASSAY_E_RANGE, "assay_detokenizer_push", "id",
                          "%d names no token; ids are 0 to %lld", (int)id,
                          (long long)table->size - 1);
    const struct token *token = &table->tokens[id];
    if (detokenizer->skip_special && token->kind == TOKEN_SPECIAL)
        return ASSAY_OK;
    /* At worst each byte becomes a U+FFFD of three. With the room made here nothing below fails. */
    struct text_buffer out = {*text, *bytes, *capacity};
    size_t most = 3 * ((size_t)token->length + (size_t)detokenizer->num_pending);
    bool reserved = text_buffer_reserve(&out, most);
    if (reserved)
        for (uint32_t i = 0; i < token->length; i++)
            push_byte(detokenizer, table->bytes[token->offset + i], &out);
    *text = out.data;
    *bytes = out.bytes;
    *capacity = out.capacity;
    return reserved ? ASSAY_OK
                    : assay_fail(error, ASSAY_E_MEMORY, "assay_detokenizer_push", "text",
                                 "no memory for the text");
}

assay_status assay_detokenizer_finish(struct assay_detokenizer *detokenizer, char **text,
                                      size_t *bytes, size_t *capacity, struct assay_error *error)
{
    if (detokenizer == NULL || text == NULL || bytes == NULL || capacity == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_detokenizer_finish", "arguments",
                          "must not be NULL");
    if (detokenizer->num_pending == 0)
        return ASSAY_OK;
    struct text_buffer out = {*text, *bytes, *capacity};
    bool appended = text_buffer_append(&out, replacement, sizeof replacement - 1);
    *text = out.data;
    *bytes = out.bytes;
    *capacity = out.capacity;
    if (!appended)
        return assay_fail(error, ASSAY_E_MEMORY, "assay_detokenizer_finish", "text",
                          "no memory for the text");
    detokenizer->num_pending = 0; /* an unfinished character is one maximal part */
    return ASSAY_OK;
}

assay_status assay_decode(const assay_tokenizer *tokenizer, const int32_t *ids, size_t num_ids,
                          bool skip_special, char **text, size_t *bytes, struct assay_error *error)
{
    if (text != NULL)
        *text = NULL;
    if (bytes != NULL)
        *bytes = 0;
    if (tokenizer == NULL || (ids == NULL && num_ids > 0) || text == NULL || bytes == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_decode", "arguments", "must not be NULL");
    struct text_buffer out = {0};
    struct assay_detokenizer detokenizer;
    assay_detokenizer_init(&detokenizer, tokenizer, skip_special);
    assay_status status = ASSAY_OK;
    if (!text_buffer_reserve(&out, 0)) /* an empty text is a text */
        status = assay_fail(error, ASSAY_E_MEMORY, "assay_decode", "text", "no memory");
    for (size_t i = 0; i < num_ids && status == ASSAY_OK; i++)
        status = assay_detokenizer_push(&detokenizer, ids[i], &out.data, &out.bytes, &out.capacity,
                                        error);
    if (status == ASSAY_OK)
        status =
            assay_detokenizer_finish(&detokenizer, &out.data, &out.bytes, &out.capacity, error);
    if (status != ASSAY_OK) {
        assay_free(out.data);
        return status;
    }
    *text = out.data;
    *bytes = out.bytes;
    return ASSAY_OK;
}

void assay_text_free(char *text)
{
    assay_free(text);
}
