/* SPDX-License-Identifier: MIT
 *
 * bpe: the bytes are a text. Decoding what was encoded gives the text in NFC, which encodes to
 * itself; token by token it decodes to the same bytes.
 */
#include "fuzz_folder.h"

#include <stdlib.h>
#include <string.h>

#include <assay/testing.h>
#include <assay/tokenizer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static assay_tokenizer *tokenizer;

static void close_tokenizer(void)
{
    assay_tokenizer_close(tokenizer);
}

struct ids {
    int32_t *list;
    size_t count;
};

static struct ids encode(const char *text, size_t bytes)
{
    struct assay_error error = {.status = ASSAY_OK};
    struct ids ids = {NULL, 0};
    fuzz_check_record(assay_encode(tokenizer, text, bytes, &ids.list, &ids.count, &error), &error);
    return error.status == ASSAY_OK ? ids : (struct ids){NULL, 0};
}

static char *decode(struct ids ids, size_t *bytes)
{
    struct assay_error error = {.status = ASSAY_OK};
    char *text = NULL;
    if (assay_decode(tokenizer, ids.list, ids.count, false, &text, bytes, &error) != ASSAY_OK)
        fuzz_fail("what it encoded it cannot decode");
    return text;
}

/* The same through the incremental decoder. */
static void check_stream(struct ids ids, const char *text, size_t bytes)
{
    struct assay_error error = {.status = ASSAY_OK};
    struct assay_detokenizer stream;
    char *pieces = NULL;
    size_t used = 0, capacity = 0;
    assay_detokenizer_init(&stream, tokenizer, false);
    for (size_t i = 0; i < ids.count; i++)
        if (assay_detokenizer_push(&stream, ids.list[i], &pieces, &used, &capacity, &error) !=
            ASSAY_OK)
            fuzz_fail("a token that cannot be decoded alone");
    if (assay_detokenizer_finish(&stream, &pieces, &used, &capacity, &error) != ASSAY_OK ||
        used != bytes || (bytes > 0 && memcmp(pieces, text, bytes) != 0))
        fuzz_fail("token by token it decodes to other text");
    assay_text_free(pieces);
}

/* Half of the tokens may end within a character. */
static void check_beginning(struct ids ids)
{
    const struct ids half = {ids.list, ids.count / 2};
    size_t bytes = 0;
    char *text = decode(half, &bytes);
    check_stream(half, text, bytes);
    assay_text_free(text);
}

static void round_trip(const char *text, size_t size)
{
    const struct ids ids = encode(text, size);
    if (ids.list == NULL && ids.count == 0 && size > 0)
        return; /* not UTF-8 */
    size_t bytes = 0, again_bytes = 0;
    char *decoded = decode(ids, &bytes);
    const struct ids again = encode(decoded, bytes);
    char *decoded_again = decode(again, &again_bytes);
    if (again_bytes != bytes || memcmp(decoded, decoded_again, bytes) != 0)
        fuzz_fail("the text that came back does not come back");
    check_stream(ids, decoded, bytes);
    check_beginning(ids);
    assay_text_free(decoded);
    assay_text_free(decoded_again);
    assay_tokens_free(ids.list);
    assay_tokens_free(again.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (tokenizer == NULL) {
        struct assay_error error;
        if (assay_tokenizer_open(fuzz_data("golden/models/tiny-hybrid"), &tokenizer, &error) !=
            ASSAY_OK)
            fuzz_fail(error.message);
        atexit(close_tokenizer);
    }
    const int64_t before = assay_live_allocations();
    char *text = malloc(size + 1); /* exactly as long as it is: what lies behind is not read */
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    round_trip(text, size);
    free(text);
    if (assay_live_allocations() != before)
        fuzz_fail("a leak");
    return 0;
}
