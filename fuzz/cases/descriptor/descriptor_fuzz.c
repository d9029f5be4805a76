/* SPDX-License-Identifier: MIT
 *
 * descriptor: the bytes are a case's descriptor. What is read prints as a descriptor that reads the
 * same.
 */
#include "fuzz_folder.h"

#include <stdlib.h>
#include <string.h>

#include "case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[256] = "", first[CASE_TEXT_BYTES], second[CASE_TEXT_BYTES];
    struct assay_case c, again;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (!case_parse(text, &c, message, sizeof message)) {
        if (message[0] == '\0')
            fuzz_fail("refused without a reason");
    } else {
        case_print(&c, first);
        if (!case_parse(first, &again, message, sizeof message))
            fuzz_fail("what it printed it does not read");
        case_print(&again, second);
        if (strcmp(first, second) != 0)
            fuzz_fail("a descriptor that does not repeat itself");
    }
    free(text);
    return 0;
}
