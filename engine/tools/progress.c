/* SPDX-License-Identifier: MIT
 *
 * Progress lines.
 */
#include "tools/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, int64_t total)
{
    double start = progress_now();
    *progress = (struct progress){.what = what,
                                  .total = total,
                                  .start = start,
                                  .last_shown = start,
                                  .terminal = isatty(STDERR_FILENO) == 1};
}

static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col;
    return 80;
}

void progress_update(struct progress *progress, int64_t done, const char *detail)
{
    double time = progress_now(), interval = progress->terminal ? 0.1 : 10;
    if (time - progress->last_shown < interval || done <= 0)
        return;
    progress->last_shown = time;
    double left = (time - progress->start) * (double)(progress->total - done) / (double)done;
    char line[256];
    snprintf(line, sizeof line, "%s: %lld of %lld, %.0f s left%s%s", progress->what,
             (long long)done, (long long)progress->total, left, detail[0] != '\0' ? ": " : "",
             detail);
    if (progress->terminal)
        fprintf(stderr, "\r\033[K%.*s", columns() - 1, line);
    else
        fprintf(stderr, "%s\n", line);
}

void progress_end(struct progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stderr);
}
