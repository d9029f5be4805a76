/* SPDX-License-Identifier: MIT
 *
 * add's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/add/add_routes.h"

assay_status add_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("a", &a->a, false),
                                    simt_region_tensor("b", &a->b, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "add", regions, 3, add_row_launch, args);
}
