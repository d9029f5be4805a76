/* SPDX-License-Identifier: MIT
 *
 * l2norm's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/l2norm/l2norm_routes.h"

assay_status l2norm_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_l2norm_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("x", &a->x, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "l2norm", regions, 2, l2norm_row_launch, args);
}
