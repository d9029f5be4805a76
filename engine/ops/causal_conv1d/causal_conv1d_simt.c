/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/causal_conv1d/causal_conv1d_routes.h"

assay_status causal_conv1d_route_channels_simt(assay_context *context, const void *args,
                                               void *workspace)
{
    const struct assay_causal_conv1d_args *a = args;
    (void)workspace;
    /* Rows of packed weights follow each other without padding and are read across their ends. */
    struct simt_region w = causal_conv1d_is_packed(&a->w)
                               ? simt_region_bytes("w", a->w.data, assay_tensor_span(&a->w), false)
                               : simt_region_tensor("w", &a->w, false);
    struct simt_region regions[] = {simt_region_tensor("x", &a->x, false), w,
                                    simt_region_tensor("state", &a->state, true),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "causal_conv1d", regions, 4, causal_conv1d_channels_launch,
                          args);
}
