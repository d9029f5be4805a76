/* SPDX-License-Identifier: MIT
 *
 * assay devices: what backend cuda could run on.
 */
#include <stdio.h>

#include <assay/device.h>

#include "tools/tool.h"

static const char doc[] =
    "Lists the CUDA devices; --device of the other commands takes the number in the first column."
    "\vExits with 1 when there is none.\n\n"
    "Examples:\n"
    "  assay devices\n"
    "  assay devices && assay verify --backend cuda --device 0\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "takes no argument");
    return 0;
}

int tool_devices(int argc, char **argv)
{
    static const struct argp argp = {.parser = parse, .doc = doc};
    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return TOOL_USAGE;
    int count = assay_device_count();
    if (count == 0) {
        puts("no CUDA device");
        int flushed = tool_flush_stdout();
        return flushed != TOOL_OK ? flushed : TOOL_FAILED;
    }
    for (int i = 0; i < count; i++) {
        struct assay_device d;
        struct assay_error error = {.status = ASSAY_OK};
        if (assay_device_describe(i, &d, &error) != ASSAY_OK)
            return tool_report(&error);
        printf("%d  %s  sm_%d%d  %d multiprocessors  %.1f GB  L2 %.0f MB  driver %d.%d\n", i,
               d.name, d.major, d.minor, d.num_multiprocessors, 1e-9 * (double)d.memory_bytes,
               1e-6 * (double)d.cache_bytes, d.driver / 1000, d.driver % 1000 / 10);
    }
    return tool_flush_stdout();
}
