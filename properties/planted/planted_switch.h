/* SPDX-License-Identifier: MIT
 *
 * What the copies with planted faults include.
 */
#ifndef PROPERTIES_PLANTED_SWITCH_H
#define PROPERTIES_PLANTED_SWITCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this is the fault that ASSAY_PLANTED names. */
bool planted(const char *name);
/* depth, by as many calls inside each other. */
size_t planted_recursion(size_t depth);

#endif
