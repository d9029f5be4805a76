/* SPDX-License-Identifier: MIT
 *
 * argmax's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/argmax/argmax_routes.h"

assay_status argmax_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_argmax_args *a = args;
    struct assay_tensor tokens = a->logits;
    (void)workspace;
    tokens.extent[1] = a->limit; /* to read a column beyond it is a fault [ARGMAX-2] */
    struct simt_region regions[] = {simt_region_tensor("logits", &tokens, false),
                                    simt_region_tensor("ids", &a->ids, true)};
    return simt_route_run(context, "argmax", regions, 2, argmax_row_launch, args);
}
