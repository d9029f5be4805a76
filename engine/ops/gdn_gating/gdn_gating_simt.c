/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/gdn_gating/gdn_gating_routes.h"

assay_status gdn_gating_route_chunk_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gdn_gating_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("a", &a->a, false),
                                    simt_region_tensor("b", &a->b, false),
                                    simt_region_tensor("a_log", &a->a_log, false),
                                    simt_region_tensor("dt_bias", &a->dt_bias, false),
                                    simt_region_tensor("g", &a->g, true),
                                    simt_region_tensor("beta", &a->beta, true)};
    return simt_route_run(context, "gdn_gating", regions, 6, gdn_gating_chunk_launch, args);
}
