/* SPDX-License-Identifier: MIT
 *
 * Log lines on stderr: one line a record, levels, no allocation.
 */
#include "core/core.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int log_level = -1; /* -1: not decided yet */

void assay_log_level(int level)
{
    atomic_store(&log_level, level);
}

static int current_level(void)
{
    int level = atomic_load(&log_level);
    if (level >= 0)
        return level;
    const char *wanted = getenv("ASSAY_LOG");
    level = wanted != NULL && wanted[0] >= '0' && wanted[0] <= '3' ? wanted[0] - '0' : 1;
    atomic_store(&log_level, level);
    return level;
}

void assay_log(int level, const char *format, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if (level < 0 || level > 3 || level > current_level())
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "assay: %s: %s\n", names[level], line);
}
