/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/sigmoid_mul/sigmoid_mul_routes.h"

assay_status sigmoid_mul_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_sigmoid_mul_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("x", &a->x, false),
                                    simt_region_tensor("gate", &a->gate, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "sigmoid_mul", regions, 3, sigmoid_mul_row_launch, args);
}
