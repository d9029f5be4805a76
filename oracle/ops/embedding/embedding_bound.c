/* SPDX-License-Identifier: MIT
 *
 * embedding's forward-error bound. Derivation: embedding_bound.md.
 */
#include "embedding_oracle.h"

#include "bounds.h"

void oracle_embedding_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs)
{
    const struct assay_embedding_args *a = args;
    struct oracle_output *y = &outputs[0];
    (void)route;
    if (a->table.dtype == y->dtype || y->dtype == ASSAY_F32)
        return; /* a copy: every term stays 0 */
    oracle_bound_output_rounding(y);
}
