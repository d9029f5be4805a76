/* SPDX-License-Identifier: MIT
 *
 * add's forward-error bound. Derivation: add_bound.md.
 */
#include "add_oracle.h"

#include <math.h>

#include "bounds.h"

void oracle_add_bound(const void *args, const struct oracle_route *route,
                      struct oracle_output *outputs)
{
    struct oracle_output *y = &outputs[0];
    (void)args;
    double u = route->profile == ASSAY_PROFILE_EXACT ? 0
               : route->profile == ASSAY_PROFILE_F64 ? ORACLE_U64
                                                     : ORACLE_U32;
    for (int64_t i = 0; i < y->count; i++)
        y->term[ORACLE_TERM_PRODUCTS][i] = isfinite(y->value[i]) ? u * fabs(y->value[i]) : 0;
    oracle_bound_output_rounding(y);
}
