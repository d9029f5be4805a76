/* SPDX-License-Identifier: MIT
 *
 * kv_append's forward-error bound: none is allowed. Derivation: kv_append_bound.md.
 */
#include "kv_append_oracle.h"

void oracle_kv_append_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs)
{
    (void)args;
    (void)route;
    (void)outputs; /* the caller zeroes the terms */
}
