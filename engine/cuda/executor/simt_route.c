/* SPDX-License-Identifier: MIT
 *
 * From an op's call to a launch in the executor.
 */
#include "core/context_state.h"
#include "cuda/device_route.h"

enum { MAX_REGIONS = 24 };

/* What the op's arguments say that a kernel may touch, and the workspace. */
static int regions_of(const struct assay_op *op, const void *args, struct simt_region *regions)
{
    int count = 0;
    for (const struct assay_argument *a = op->arguments; a->name != NULL && count < MAX_REGIONS - 1;
         a++) {
        struct assay_tensor view =
            *(const struct assay_tensor *)((const unsigned char *)args + a->offset);
        if (view.data == NULL)
            continue;
        if (a->reach != NULL)
            a->reach(args, &view);
        regions[count++] = simt_region_tensor(a->name, &view, a->role != ASSAY_INPUT);
    }
    return count;
}

assay_status simt_route_run(assay_context *context, const struct assay_op *op,
                            device_launch *launch, const void *args, void *workspace)
{
    struct assay_error error = {.status = ASSAY_OK};
    struct simt_region regions[MAX_REGIONS];
    int num_regions = regions_of(op, args, regions);
    if (workspace != NULL)
        regions[num_regions++] =
            simt_region_bytes("workspace", workspace, assay_workspace_bytes(context), true);
    struct simt_launch l = {.regions = regions,
                            .num_regions = num_regions,
                            .workspace = workspace,
                            .shared_limit = context->shared_limit,
                            .error = &error};
    assay_status status = launch(args, &l);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_refuse(context, status, op->name, error.where,
                        "%s; ASSAY_SIMT_SEED repeats a schedule", error.message);
}
