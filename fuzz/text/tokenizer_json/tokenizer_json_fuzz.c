/* SPDX-License-Identifier: MIT
 *
 * tokenizer_json: the bytes are tokenizer.json; what opens must encode and decode.
 */
#include "fuzz_folder.h"

#include <string.h>

#include <assay/testing.h>
#include <assay/tokenizer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const assay_tokenizer *tokenizer)
{
    static const char text[] = "Don't  stop \r\n e\xCC\x81 12 <think> \xE4\xB8\xAD!<|im_end|>";
    struct assay_error error = {.status = ASSAY_OK};
    int32_t *ids = NULL;
    size_t count = 0, bytes = 0;
    assay_status status = assay_encode(tokenizer, text, sizeof text - 1, &ids, &count, &error);
    fuzz_check_record(status, &error);
    if (status != ASSAY_OK)
        return;
    char *decoded = NULL;
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= assay_tokenizer_size(tokenizer))
            fuzz_fail("an id that the tokenizer does not have");
    status = assay_decode(tokenizer, ids, count, false, &decoded, &bytes, &error);
    fuzz_check_record(status, &error);
    if (status != ASSAY_OK || decoded[bytes] != '\0')
        fuzz_fail("what it encoded it cannot decode");
    assay_text_free(decoded);
    assay_tokens_free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error error = {.status = ASSAY_OK};
    assay_tokenizer *tokenizer = NULL;
    fuzz_folder_write("tokenizer.json", data, size);
    const assay_status status = assay_tokenizer_open(fuzz_folder(), &tokenizer, &error);
    fuzz_check_record(status, &error);
    if ((status == ASSAY_OK) != (tokenizer != NULL))
        fuzz_fail("status and tokenizer contradict each other");
    if (tokenizer != NULL)
        use(tokenizer);
    assay_tokenizer_close(tokenizer);
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
