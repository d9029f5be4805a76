/* SPDX-License-Identifier: MIT
 *
 * embedding's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/embedding/embedding_routes.h"

assay_status embedding_route_row_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_embedding_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {simt_region_tensor("ids", &a->ids, false),
                                    simt_region_tensor("table", &a->table, false),
                                    simt_region_tensor("y", &a->y, true)};
    return simt_route_run(context, "embedding", regions, 3, embedding_row_launch, args);
}
