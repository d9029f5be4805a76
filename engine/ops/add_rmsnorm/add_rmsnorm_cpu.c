/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm, the plain route: add's plain row, then rmsnorm's on what it left, so that the bits
 * are those of the two ops. Written to be read.
 */
#include "core/core.h"
#include "ops/add/add_routes.h"
#include "ops/add_rmsnorm/add_rmsnorm_routes.h"
#include "ops/rmsnorm/rmsnorm_routes.h"

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_add_rmsnorm_args *a = argument;
    const struct assay_add_args sum = add_rmsnorm_sum(a);
    const struct assay_rmsnorm_args norm = add_rmsnorm_norm(a);
    for (int64_t r = first; r < last; r++) {
        add_row_plain(&sum, r); /* y may be an input: the row of both is read by now */
        rmsnorm_row_plain(&norm, assay_tensor_row(&a->s, r), assay_tensor_row(&a->y, r));
    }
}

assay_status add_rmsnorm_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
