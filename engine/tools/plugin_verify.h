/* SPDX-License-Identifier: MIT
 *
 * Verification and fuzzing of a plugin's routes, in children.
 */
#ifndef ASSAY_TOOLS_PLUGIN_VERIFY_H
#define ASSAY_TOOLS_PLUGIN_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

struct plugin_verify_options {
    const char *path;
    char **patterns; /* ops, globs over routes, or one descriptor; none: all routes */
    int num_patterns;
    uint64_t seed;
    int jobs, threads, device;
    bool full;
    double time_limit;   /* of one call, seconds */
    double fuzz_seconds; /* 0: the sweep's cases; else random ones for so long */
    const char *json, *junit;
    const char *tolerate; /* list of tolerated failures, or NULL */
};

/* Returns an enum tool_exit. */
int plugin_verify(const struct plugin_verify_options *options);

#endif
