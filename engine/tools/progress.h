/* SPDX-License-Identifier: MIT
 *
 * Progress of long work on stderr: one line that is rewritten on a terminal, a plain line every few
 * seconds elsewhere.
 */
#ifndef ASSAY_TOOLS_PROGRESS_H
#define ASSAY_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* "verify" */
    int64_t total;
    bool terminal;
    double start, last_shown;
};

void progress_begin(struct progress *progress, const char *what, int64_t total);
/* Cheap: shows at most ten times a second on a terminal, every 10 s elsewhere. Call it from one
 * thread at a time. */
void progress_update(struct progress *progress, int64_t done, const char *detail);
/* Clears the line on a terminal. */
void progress_end(struct progress *progress);
/* Seconds on a clock that only goes forward. */
double progress_now(void);

#endif
