/* SPDX-License-Identifier: MIT
 *
 * Byte-level BPE tokenizer from tokenizer.json (and tokenizer_config.json where present), and the
 * ChatML template. qwen3_5.md section 9.
 */
#ifndef ASSAY_TOKENIZER_H
#define ASSAY_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_tokenizer assay_tokenizer;

/* Reads DIR/tokenizer.json and merges the added tokens of DIR/tokenizer_config.json. */
ASSAY_MUST_USE assay_status assay_tokenizer_open(const char *dir, assay_tokenizer **tokenizer,
                                                 struct assay_error *error);
void assay_tokenizer_close(assay_tokenizer *tokenizer);
/* One past the largest id that decodes to something: the limit of argmax and sampling. */
int64_t assay_tokenizer_size(const assay_tokenizer *tokenizer);
/* Id of an added token by its exact text, -1 when there is none. */
int64_t assay_tokenizer_added(const assay_tokenizer *tokenizer, const char *text);

/* Encodes text[0, bytes): added tokens by exact match, the rest through NFC, the split pattern
 * and merges. text must be valid UTF-8 (ASSAY_E_PARSE names the byte offset). *ids is allocated;
 * free it with assay_tokens_free. */
ASSAY_MUST_USE assay_status assay_encode(const assay_tokenizer *tokenizer, const char *text,
                                         size_t bytes, int32_t **ids, size_t *num_ids,
                                         struct assay_error *error);
/* Decodes a whole sequence. Invalid byte sequences become U+FFFD, one for each maximal invalid
 * part. *text is zero-terminated; free it with assay_text_free. Ids that name no token are
 * ASSAY_E_RANGE. */
ASSAY_MUST_USE assay_status assay_decode(const assay_tokenizer *tokenizer, const int32_t *ids,
                                         size_t num_ids, bool skip_special, char **text,
                                         size_t *bytes, struct assay_error *error);
void assay_tokens_free(int32_t *ids);
void assay_text_free(char *text);

/* Incremental decoding: bytes are held back until a character is complete. */
struct assay_detokenizer {
    const assay_tokenizer *tokenizer;
    bool skip_special;
    unsigned char pending[8]; /* bytes of an unfinished character */
    int num_pending;
};

void assay_detokenizer_init(struct assay_detokenizer *detokenizer, const assay_tokenizer *tokenizer,
                            bool skip_special);
/* Appends the text that id completes to the growing buffer *text (*bytes used, *capacity; start
 * with NULL, 0, 0; free with assay_text_free): complete UTF-8 characters only. The concatenation
 * over a sequence plus assay_detokenizer_finish equals assay_decode of it. */
ASSAY_MUST_USE assay_status assay_detokenizer_push(struct assay_detokenizer *detokenizer,
                                                   int32_t id, char **text, size_t *bytes,
                                                   size_t *capacity, struct assay_error *error);
/* Appends what an unfinished character at the end decodes to (U+FFFD), if anything. */
ASSAY_MUST_USE assay_status assay_detokenizer_finish(struct assay_detokenizer *detokenizer,
                                                     char **text, size_t *bytes, size_t *capacity,
                                                     struct assay_error *error);

/* One turn of a conversation. role: "system", "user" or "assistant". */
struct assay_message {
    const char *role;
    const char *content;
    const char *reasoning; /* assistant turns: NULL, or text shown in a think block when kept */
};

struct assay_template_options {
    bool add_generation_prompt;
    bool thinking;          /* generation prompt opens "<think>\n", else an empty think block */
    bool preserve_thinking; /* keep the reasoning of all assistant turns, not only recent ones */
};

/* Renders ChatML. *text is allocated; free it with assay_text_free. Errors (ASSAY_E_PARSE): no
 * message, unknown role, a system message that is not the first, no user message. */
ASSAY_MUST_USE assay_status assay_template_render(const struct assay_message *messages,
                                                  size_t num_messages,
                                                  const struct assay_template_options *options,
                                                  char **text, size_t *bytes,
                                                  struct assay_error *error);
/* Reads a JSON array of {"role", "content"[, "reasoning_content"]} and renders it. */
ASSAY_MUST_USE assay_status assay_template_render_json(const char *json, size_t json_bytes,
                                                       const struct assay_template_options *options,
                                                       char **text, size_t *bytes,
                                                       struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
