/* SPDX-License-Identifier: MIT
 *
 * chat: the first byte holds the options, the others are a JSON array of messages.
 */
#include "fuzz_folder.h"

#include <string.h>

#include <assay/testing.h>
#include <assay/tokenizer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct assay_template_options options = {.add_generation_prompt = (data[0] & 1) != 0,
                                                   .thinking = (data[0] & 2) != 0,
                                                   .preserve_thinking = (data[0] & 4) != 0};
    static const char generation[] = "<|im_start|>assistant\n";
    struct assay_error error = {.status = ASSAY_OK};
    char *text = NULL;
    size_t bytes = 0;
    const assay_status status = assay_template_render_json((const char *)data + 1, size - 1,
                                                           &options, &text, &bytes, &error);
    fuzz_check_record(status, &error);
    if ((status == ASSAY_OK) != (text != NULL))
        fuzz_fail("status and text contradict each other");
    if (text != NULL && (text[bytes] != '\0' || strncmp(text, "<|im_start|>", 12) != 0))
        fuzz_fail("the text does not begin with a turn");
    if (text != NULL && options.add_generation_prompt && strstr(text, generation) == NULL)
        fuzz_fail("no generation prompt");
    assay_text_free(text);
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
