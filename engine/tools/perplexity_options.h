/* SPDX-License-Identifier: MIT
 *
 * The command line of assay perplexity.
 */
#ifndef ASSAY_TOOLS_PERPLEXITY_OPTIONS_H
#define ASSAY_TOOLS_PERPLEXITY_OPTIONS_H

#include <stdbool.h>

#include "quality.h"

struct perplexity_options {
    struct quality_options measure;
    bool ungated;
    const char *ledger; /* NULL: the default ledger */
    const char *json;   /* NULL: none */
    bool windows;       /* a line for every window */
};

/* Parses and checks everything that the command line alone can get wrong; leaves the process with
 * TOOL_USAGE and a message when it is wrong. */
void perplexity_options_parse(struct perplexity_options *options, int argc, char **argv);

#endif
