/* SPDX-License-Identifier: MIT
 *
 * kv_append's CUDA kernel on the host executor.
 */
#include "cuda/executor/simt_route.h"
#include "ops/kv_append/kv_append_routes.h"

/* The new slots: the kernel may touch no other. */
static struct simt_region slots(const char *name, const struct assay_tensor *cache,
                                const struct assay_kv_append_args *a)
{
    struct assay_tensor view = *cache;
    view.extent[0] = a->k.extent[0];
    if (assay_tensor_count(&view) > 0) /* else there may be no such row, or no memory */
        view.data = assay_tensor_row(cache, a->start * cache->extent[1]);
    return simt_region_tensor(name, &view, true);
}

assay_status kv_append_route_warp_simt(assay_context *context, const void *args, void *workspace)
{
    const struct assay_kv_append_args *a = args;
    (void)workspace;
    struct simt_region regions[] = {
        simt_region_tensor("k", &a->k, false), simt_region_tensor("v", &a->v, false),
        slots("k_cache", &a->k_cache, a), slots("v_cache", &a->v_cache, a)};
    return simt_route_run(context, "kv_append", regions, 4, kv_append_warp_launch, args);
}
