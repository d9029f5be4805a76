/* SPDX-License-Identifier: MIT
 *
 * gguf: the bytes are a .gguf file.
 */
#include "open_fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/assay-fuzz-XXXXXX.gguf";
    const int descriptor = mkstemps(path, (int)strlen(".gguf"));

    if (descriptor < 0)
        open_fuzz_fail("no temporary file");
    close(descriptor);
    open_fuzz_write(path, data, size);
    open_fuzz_try(path, true);
    open_fuzz_try(path, false);
    unlink(path);
    return 0;
}
