/* SPDX-License-Identifier: MIT
 *
 * The table of `assay verify --invariance`.
 */
#ifndef ASSAY_TOOLS_VERIFY_INVARIANCE_H
#define ASSAY_TOOLS_VERIFY_INVARIANCE_H

#include <stdbool.h>

#include <assay/context.h>

/* Prints a line for every route of the context's backend that is wanted; an enum tool_exit. */
int verify_invariance_report(assay_context *context,
                             bool (*wanted)(const void *user, const char *op, const char *route),
                             const void *user);

#endif
