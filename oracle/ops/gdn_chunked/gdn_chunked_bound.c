/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's forward-error bound: ref has worked it out, here it gets its names. Derivation:
 * gdn_chunked_bound.md.
 */
#include "gdn_chunked_oracle.h"

#include <math.h>

#include "bounds.h"

/* Between f32 and state16 the state's format decides, not the route. For tensor cores the errors
 * are worked out anew: ref does not know the route. */
void oracle_gdn_chunked_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct assay_gdn_chunked_args *a = args;
    bool on_tensor_cores = route->profile == ASSAY_PROFILE_A16X2;
    bool good = !on_tensor_cores || gdn_chunked_evaluate(a, true, false, outputs) == ASSAY_OK;
    for (int k = 0; !good && k < 2; k++)
        for (int64_t i = 0; i < outputs[k].count; i++)
            outputs[k].aux[GDN_AUX_PRODUCTS][i] = INFINITY;
    gdn_bound_terms(&a->q, outputs);
    for (int k = 0; on_tensor_cores && k < 2; k++) /* truncations share a sign */
        oracle_bound_rms(&outputs[k], false, 0);
}
