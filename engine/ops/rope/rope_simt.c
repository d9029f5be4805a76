/* SPDX-License-Identifier: MIT
 *
 * rope's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/rope/rope_routes.h"

assay_status rope_route_token_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rope_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("x", &a->x, false),
                                    simt_region_tensor("positions", &a->positions, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "rope", regions, 3, rope_token_launch, args);
}
