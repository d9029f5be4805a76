/* SPDX-License-Identifier: MIT
 *
 * sequence: the bytes are a program over sessions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_folder.h"
#include "sequence.h"

static struct sequence_world *world;

static void close_world(void)
{
    sequence_close(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sequence_program program;
    char reason[SEQUENCE_REASON_BYTES], text[SEQUENCE_TEXT_BYTES];
    if (world == NULL) {
        world = sequence_open(reason);
        if (world == NULL)
            fuzz_fail(reason);
        atexit(close_world);
    }
    sequence_from_bytes(data, size, &program);
    if (sequence_play(world, &program, reason))
        return 0;
    sequence_print(&program, text);
    fprintf(stderr, "FAILED: %s\n  repeat: assay verify '%s'\n", reason, text);
    abort();
}
