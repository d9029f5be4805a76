/* SPDX-License-Identifier: MIT
 *
 * The switch of the planted faults: one process runs with at most one.
 */
#include "planted_switch.h"

#include <stdlib.h>
#include <string.h>

static const char *active;

/* Before main: tests run in children, some of them in threads. */
__attribute__((constructor)) static void read_switch(void)
{
    active = getenv("ASSAY_PLANTED");
}

bool planted(const char *name)
{
    return active != NULL && strcmp(active, name) == 0;
}

__attribute__((noinline)) size_t planted_recursion(size_t depth)
{
    volatile char frame[64]; /* of a matcher; keeps the call from becoming a loop */
    frame[0] = 1;
    return depth == 0 ? 0 : planted_recursion(depth - 1) + (size_t)frame[0];
}
