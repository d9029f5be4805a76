/* SPDX-License-Identifier: MIT
 *
 * assay_artifact: the bytes up to the first zero are artifact.json, the rest is payload.bin.
 */
#include "open_fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t text = end != NULL ? (size_t)(end - data) : size;
    const size_t rest = end != NULL ? size - text - 1 : 0;
    char folder[] = "/tmp/assay-fuzz-XXXXXX", directory[64], payload[64];

    if (mkdtemp(folder) == NULL)
        open_fuzz_fail("no temporary folder");
    snprintf(directory, sizeof directory, "%s/artifact.json", folder);
    snprintf(payload, sizeof payload, "%s/payload.bin", folder);
    open_fuzz_write(directory, data, text);
    open_fuzz_write(payload, end != NULL ? end + 1 : data, rest);
    open_fuzz_try(folder, true);
    open_fuzz_try(folder, false);
    unlink(directory);
    unlink(payload);
    rmdir(folder);
    return 0;
}
