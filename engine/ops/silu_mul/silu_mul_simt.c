/* SPDX-License-Identifier: MIT
 *
 * silu_mul's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/silu_mul/silu_mul_routes.h"

assay_status silu_mul_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_silu_mul_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("gate", &a->gate, false),
                                    simt_region_tensor("up", &a->up, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "silu_mul", regions, 3, silu_mul_row_launch, args);
}
