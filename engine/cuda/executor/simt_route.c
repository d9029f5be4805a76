/* SPDX-License-Identifier: MIT
 *
 * From an op's call to a launch in the executor.
 */
#include "cuda/executor/simt_route.h"

assay_status simt_route_run(assay_context *context, const char *op,
                            const struct simt_region *regions, int num_regions,
                            assay_status (*launch)(const void *args, struct simt_launch *launch),
                            const void *args)
{
    struct assay_error error = {.status = ASSAY_OK};
    struct simt_launch l = {.regions = regions, .num_regions = num_regions, .error = &error};
    assay_status status = launch(args, &l);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_refuse(context, status, op, error.where, "%s; ASSAY_SIMT_SEED repeats a schedule",
                        error.message);
}
