/* SPDX-License-Identifier: MIT
 *
 * What a route's failing cases have in common that its passing ones have not: where to look.
 */
#ifndef ASSAY_TOOLS_PLUGIN_HINTS_H
#define ASSAY_TOOLS_PLUGIN_HINTS_H

#include "verify.h"

struct hint_case {
    struct assay_case c;
    enum verdict_finding finding;
};

struct hint_cases {
    struct hint_case *cases;
    int64_t num_cases, capacity;
};

/* Out of memory loses hints, no verdict. */
void hints_add(struct hint_cases *seen, const struct verify_outcome *outcome);
/* Prints lines about the route on stdout, none where all its cases pass. */
void hints_print(const struct hint_cases *seen, const char *route);
void hints_free(struct hint_cases *seen);

#endif
