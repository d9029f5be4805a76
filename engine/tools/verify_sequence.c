/* SPDX-License-Identifier: MIT
 *
 * Plays one program over sessions, as a line has it.
 */
#include "tools/verify_sequence.h"

#include <stdio.h>
#include <string.h>

#include "sequence.h"
#include "tools/tool.h"

bool is_sequence(const char *argument)
{
    return strncmp(argument, "sequence ", sizeof "sequence " - 1) == 0;
}

int verify_sequence(const char *text)
{
    struct sequence_program program, smallest;
    char reason[SEQUENCE_REASON_BYTES], shortest[SEQUENCE_TEXT_BYTES];
    if (!sequence_parse(text, &program, reason)) {
        fprintf(stderr, "assay verify: %s\n", reason);
        return TOOL_USAGE;
    }
    struct sequence_world *world = sequence_open(reason);
    if (world == NULL) {
        fprintf(stderr, "assay verify: %s\n", reason);
        return TOOL_USAGE;
    }
    const bool good = sequence_play(world, &program, reason);
    if (good) {
        printf("pass: %d steps\n", program.num_steps);
    } else {
        printf("FAILED sequence: %s\n", reason);
        sequence_shrink(world, &program, &smallest);
        sequence_print(&smallest, shortest);
        printf("  repeat: assay verify '%s'\n", shortest);
    }
    sequence_close(world);
    const int flushed = tool_flush_stdout();
    return good ? flushed : TOOL_FAILED;
}
