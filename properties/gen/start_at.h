/* SPDX-License-Identifier: MIT
 *
 * The case parameter "start_at" of ops whose start may lie in memory: absent, or [1] i32 that
 * counts as min(max(*start_at, 0), start).
 */
#ifndef PROPERTIES_GEN_START_AT_H
#define PROPERTIES_GEN_START_AT_H

#include "case.h"

enum { AT_ABSENT, AT_BOUND, AT_BELOW, AT_NEGATIVE, AT_ABOVE };
extern const char *const start_at_names[];

#define START_AT_PARAM                                                                   \
    {                                                                                    \
        .name = "start_at", .kind = CASE_CHOICE, .hi = AT_ABOVE, .names = start_at_names \
    }

/* The start that counts: the bound, about half of it, or what lies outside, held to 0 or to the
 * bound. */
int64_t start_at_effective(const struct assay_case *c);
/* Makes the tensor; leaves it as it is when absent. */
void start_at_put(struct trial *trial, struct assay_tensor *start_at);

#endif
