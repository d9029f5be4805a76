/* SPDX-License-Identifier: MIT
 *
 * Exit codes, error reports and number arguments of the assay program.
 */
#include "tools/tool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_exit_code(assay_status status)
{
    switch (status) {
    case ASSAY_OK:
        return TOOL_OK;
    case ASSAY_E_CANCELLED:
        return TOOL_INTERRUPTED;
    case ASSAY_E_ARG:
    case ASSAY_E_USAGE:
    case ASSAY_E_EXCLUSIVE:
    case ASSAY_E_UNSUPPORTED:
    case ASSAY_E_ROUTE_UNKNOWN:
    case ASSAY_E_MEMORY:
    case ASSAY_E_FULL:
    case ASSAY_E_IO:
    case ASSAY_E_NOT_FOUND:
    case ASSAY_E_CORRUPT:
    case ASSAY_E_PARSE:
        return TOOL_USAGE;
    default:
        return TOOL_FAILED;
    }
}

int tool_report(const struct assay_error *error)
{
    char text[1024];
    assay_error_format(error, text, sizeof text);
    fprintf(stderr, "assay: %s\n", text);
    return tool_exit_code(error->status);
}

int64_t tool_integer(const struct argp_state *state, const char *option, const char *text,
                     int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
        argp_error(state, "%s must be a whole number from %lld to %lld, is \"%s\"", option,
                   (long long)least, (long long)most, text);
    return value;
}

enum assay_backend tool_backend(const struct argp_state *state, const char *text)
{
    for (int i = 0; i < ASSAY_NUM_BACKENDS; i++)
        if (strcmp(text, assay_backend_name((enum assay_backend)i)) == 0)
            return (enum assay_backend)i;
    argp_error(state, "--backend must be cpu, cuda or simt, is \"%s\"", text);
    return ASSAY_CPU;
}

double tool_number(const struct argp_state *state, const char *option, const char *text,
                   double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    /* Written so that a NaN fails. */
    if (end == text || *end != '\0' || !(value >= least && value <= most) || !isfinite(value))
        argp_error(state, "%s must be a number from %g to %g, is \"%s\"", option, least, most,
                   text);
    return value;
}

int tool_flush_stdout(void)
{
    static bool failed;
    if (failed)
        return TOOL_USAGE;
    errno = 0;
    /* A write that failed earlier leaves the error flag set, although a later flush may succeed. */
    const bool flushed = fflush(stdout) == 0;
    if (flushed && !ferror(stdout))
        return TOOL_OK;
    failed = true;
    fprintf(stderr, "assay: writing to standard output failed: %s\n",
            errno != 0 ? strerror(errno) : "error in an earlier write");
    return TOOL_USAGE;
}
