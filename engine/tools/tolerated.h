/* SPDX-License-Identifier: MIT
 *
 * Tolerated failures: a list of findings that are known, each with a reason and a last day. Their
 * cases run all the same. A finding that is not listed, or no longer, fails as ever, and so does an
 * entry whose route has no such finding any more: it is to be removed.
 *
 *     {"tolerated": [{"route": "linear.tiled.cuda", "finding": "element",
 *                     "reason": "what is wrong, and where it is followed up", "expires":
 * "2027-01-31"}]}
 */
#ifndef ASSAY_TOOLS_TOLERATED_H
#define ASSAY_TOOLS_TOLERATED_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>

#include "verdict.h"

struct tolerated_entry {
    char route[64], reason[256], expires[16];
    enum verdict_finding finding;
    bool expired;
    int64_t cases; /* tolerated so far */
};

struct tolerated_list {
    struct tolerated_entry *entries;
    int count;
};

/* ASSAY_E_NOT_FOUND, ASSAY_E_PARSE with the entry and the key, ASSAY_E_MEMORY. today: 2026-11-30.
 * tolerated_free in any case. */
ASSAY_MUST_USE assay_status tolerated_read(const char *path, const char *today,
                                           struct tolerated_list *list, struct assay_error *error);
void tolerated_free(struct tolerated_list *list);
/* The entry that a finding falls under, if it has not expired; else NULL. */
struct tolerated_entry *tolerated_find(const struct tolerated_list *list, const char *route,
                                       enum verdict_finding finding);

#endif
