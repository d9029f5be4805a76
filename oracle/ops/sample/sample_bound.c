/* SPDX-License-Identifier: MIT
 *
 * sample's ids are compared as integers with value and alternative; where more ids are acceptable
 * than these two, the contract makes no promise that one comparison can check (sample_bound.md).
 */
#include "sample_oracle.h"

#include <math.h>

void oracle_sample_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs)
{
    (void)args;
    (void)route;
    struct oracle_output *ids = &outputs[0];
    for (int64_t t = 0; t < ids->count; t++)
        if (ids->aux[SAMPLE_AUX_UNDECIDED][t] != 0)
            ids->term[ORACLE_TERM_FUNCTIONS][t] = INFINITY;
}
