/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for any call, by request: see a8_generic.cuh.
 */
#include "ops/linear_a8/a8_generic.cuh"

static assay_status generic_launch(const void *args, struct simt_launch *launch)
{
    struct a8_call p = a8_call_of(args, launch, A8_LARGE_TILE);
    return p.rows > 0 ? a8_generic_launch(p, launch) : ASSAY_OK;
}

DEVICE_ROUTE_RUN(linear_a8_route_generic, &assay_op_linear_a8, generic_launch)
