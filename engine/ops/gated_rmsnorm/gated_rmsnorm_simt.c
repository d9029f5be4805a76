/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/gated_rmsnorm/gated_rmsnorm_routes.h"

assay_status gated_rmsnorm_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gated_rmsnorm_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {
        simt_region_tensor("x", &a->x, false), simt_region_tensor("z", &a->z, false),
        simt_region_tensor("w", &a->w, false), simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "gated_rmsnorm", regions, 4, gated_rmsnorm_row_launch, args);
}
