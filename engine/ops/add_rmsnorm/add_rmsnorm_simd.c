/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm, vectorised: the rows of add and rmsnorm one after the other, so that the sum is
 * still in L1 when it is normalised and the bits are those of the two ops.
 *
 * Profile f32 (the sum: exact). Bound: add_rmsnorm_bound.md. Moves each byte once through L2.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/add/add_routes.h"
#include "ops/add_rmsnorm/add_rmsnorm_routes.h"
#include "ops/rmsnorm/rmsnorm_routes.h"

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_add_rmsnorm_args *a = argument;
    const struct assay_add_args sum = add_rmsnorm_sum(a);
    const struct assay_rmsnorm_args norm = add_rmsnorm_norm(a);
    for (int64_t r = first; r < last; r++) {
        const void *s = assay_tensor_row(&a->s, r);
        void *y = assay_tensor_row(&a->y, r);
        SIMD_NAME(add_row)(&sum, r); /* y may be an input: the row of both is read by now */
        SIMD_NAME(rmsnorm_row)(&norm, s, y);
    }
}

assay_status SIMD_NAME(add_rmsnorm_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_rmsnorm_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
