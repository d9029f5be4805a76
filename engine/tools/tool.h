/* SPDX-License-Identifier: MIT
 *
 * What the subcommands of the assay program share: exit codes, error reports, number arguments.
 */
#ifndef ASSAY_TOOLS_TOOL_H
#define ASSAY_TOOLS_TOOL_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/status.h>

#include "tools/tool_list.h"

enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1,       /* a verdict or gate said no, or a run went wrong */
    TOOL_INCONCLUSIVE = 2, /* the evidence does not decide */
    TOOL_USAGE = 3,        /* the command line or the environment: files, memory, disk */
    TOOL_INTERRUPTED = 130 /* 128 + SIGINT, as shells report it */
};

/* argv[0] is "assay NAME"; returns an enum tool_exit. */
#define TOOL_DECLARE(name, summary) int tool_##name(int argc, char **argv);
TOOL_TABLE(TOOL_DECLARE)
#undef TOOL_DECLARE

/* The exit code that a status stands for. */
int tool_exit_code(assay_status status);
/* Prints the error as one line on stderr and returns its exit code. */
int tool_report(const struct assay_error *error);

/* A whole number in [least, most], or argp_error (which does not return). `option` names it in the
 * message: "--threads". */
int64_t tool_integer(const struct argp_state *state, const char *option, const char *text,
                     int64_t least, int64_t most);
/* A finite number in [least, most], or argp_error. */
double tool_number(const struct argp_state *state, const char *option, const char *text,
                   double least, double most);

/* The backend of this name, or argp_error. */
enum assay_backend tool_backend(const struct argp_state *state, const char *text);

/* Flushes stdout. On failure reports it once and returns TOOL_USAGE, also on later calls. */
int tool_flush_stdout(void);

#endif
