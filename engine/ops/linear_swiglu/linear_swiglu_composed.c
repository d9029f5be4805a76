/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu on a device as three calls in stream order: both products by the routes that
 * linear and linear_grouped take, then silu_mul in place. The gate's product goes into y where y is
 * binary32; otherwise, and the other one always, into the workspace.
 */
#include "core/core.h"
#include "ops/linear_swiglu/matrix_product.h"
#include "ops/linear_swiglu/linear_swiglu_routes.h"

#include <assay/ops/silu_mul.h>

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
enum { ALIGNMENT = 256 };

struct parts {
    struct matrix_product gate, up;
    struct assay_silu_mul_args silu;
    size_t product_bytes; /* the products' own workspace, which stands first */
    size_t total;
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The calls, with their intermediates at `workspace`; NULL for sizes alone. */
static struct parts parts_of(const assay_context *context, const struct assay_linear_swiglu_args *a,
                             char *workspace)
{
    int64_t rows = a->y.extent[0], columns = a->y.extent[1];
    size_t sums = aligned(4 * (size_t)rows * (size_t)columns);
    struct assay_tensor up = assay_tensor_2d(NULL, ASSAY_F32, rows, columns), gate = up;
    if (a->y.dtype == ASSAY_F32)
        gate = a->y;
    struct parts p = {.gate = matrix_product_of(context, &a->x, &a->gate, &gate),
                      .up = matrix_product_of(context, &a->x, &a->up, &up)};
    size_t first = aligned(matrix_product_workspace(context, &p.gate));
    size_t second = aligned(matrix_product_workspace(context, &p.up));
    p.product_bytes = first > second ? first : second;
    p.total = p.product_bytes + (a->y.dtype == ASSAY_F32 ? sums : 2 * sums);
    if (workspace == NULL)
        return p;
    up.data = workspace + p.product_bytes;
    if (a->y.dtype != ASSAY_F32)
        gate.data = workspace + p.product_bytes + sums;
    p.gate = matrix_product_of(context, &a->x, &a->gate, &gate);
    p.up = matrix_product_of(context, &a->x, &a->up, &up);
    p.silu = (struct assay_silu_mul_args){.gate = gate, .up = up, .y = a->y};
    return p;
}

size_t linear_swiglu_composed_workspace(const assay_context *context, const void *args)
{
    return parts_of(context, args, NULL).total;
}

assay_status linear_swiglu_route_composed(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_swiglu_args *a = args;
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    const struct parts p = parts_of(context, a, workspace);
    const struct assay_route *silu = matrix_product_route(context, &assay_op_silu_mul, &p.silu);
    ASSAY_TRY(matrix_product_run(context, &p.gate, workspace));
    ASSAY_TRY(matrix_product_run(context, &p.up, workspace));
    return silu->run(context, &p.silu, NULL);
}
#endif
