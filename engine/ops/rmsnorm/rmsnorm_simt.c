/* SPDX-License-Identifier: MIT
 *
 * rmsnorm's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/rmsnorm/rmsnorm_routes.h"

assay_status rmsnorm_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rmsnorm_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("x", &a->x, false),
                                    simt_region_tensor("w", &a->w, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "rmsnorm", regions, 3, rmsnorm_row_launch, args);
}
