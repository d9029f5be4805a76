/* SPDX-License-Identifier: MIT
 *
 * Starts that lie in memory.
 */
#include "start_at.h"

const char *const start_at_names[] = {"absent", "bound", "below", "negative", "above"};

int64_t start_at_effective(const struct assay_case *c)
{
    int64_t start = case_get(c, "start"), at = case_get(c, "start_at");
    return at == AT_BELOW ? start / 2 : at == AT_NEGATIVE ? 0 : start;
}

void start_at_put(struct trial *trial, struct assay_tensor *start_at)
{
    const int64_t one = 1, choice = case_get(trial->c, "start_at");
    if (choice == AT_ABSENT)
        return;
    *start_at = trial_input(trial, "start_at", ASSAY_I32, 1, &one,
                            (struct values){.dist = CASE_DIST_ZEROS, .scale = 1});
    int64_t at = start_at_effective(trial->c);
    int64_t beyond = 1 + trial_below(trial, "beyond", 0, INT32_MAX / 2);
    if (choice == AT_NEGATIVE || choice == AT_ABOVE)
        at = choice == AT_ABOVE ? case_get(trial->c, "start") + beyond : -beyond;
    trial_put_int(trial, start_at, 0, at);
}
