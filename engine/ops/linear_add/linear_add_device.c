/* SPDX-License-Identifier: MIT
 *
 * linear_add on a device, composed of other ops' kernels. bf16: linear's route of the same name
 * leaves binary32 sums in the workspace, add's kernel adds r and rounds into y: sums are written
 * and read once more through L2, 8 bytes an output beside the 2 K of its weights. Grouped formats:
 * linear_grouped's route of the same name, which takes r as its residual.
 */
#include <string.h>

#include "core/core.h"
#include "ops/add/add_routes.h"
#include "ops/linear_add/linear_add_routes.h"

#if defined(ASSAY_HAVE_DEVICE_ROUTES)

enum { ALIGNMENT = 256 };

typedef assay_status run_function(assay_context *context, const void *args, void *workspace);

/* The product of bf16 weights with its result at `sums`. */
static struct any_product into(const struct assay_linear_add_args *a, void *sums)
{
    struct assay_tensor y = assay_tensor_2d(sums, ASSAY_F32, a->y.extent[0], a->y.extent[1]);
    return any_product_of(&a->x, &a->w, &y);
}

static const struct assay_route *row_of(const struct assay_linear_add_args *a, const char *method,
                                        enum assay_backend backend)
{
    const struct assay_op *product =
        any_weights_grouped(&a->w) ? &assay_op_linear_grouped : &assay_op_linear;
    return any_product_row(product, method, backend);
}

/* The row that runs. The last one, tiled, takes every call: where the device has too little shared
 * memory for it, by the product's generic row, which is more exact. */
static const struct assay_route *row_for(const assay_context *context,
                                         const struct assay_linear_add_args *a, const char *method)
{
    const enum assay_backend backend = assay_context_backend(context);
    const struct assay_route *row = row_of(a, method, backend);
    struct any_product product = into(a, NULL);
    if (strcmp(method, "tiled") == 0 && !assay_route_takes(context, row, &product.args))
        return row_of(a, "generic", backend);
    return row;
}

/* The product's own workspace comes first. */
static size_t sums_offset(const struct assay_route *row, const assay_context *context,
                          const struct assay_linear_add_args *a)
{
    struct any_product product = into(a, NULL);
    size_t bytes = any_product_workspace(row, context, &product.args);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t linear_add_device_workspace(const assay_context *context,
                                   const struct assay_linear_add_args *a, const char *method)
{
    const struct assay_route *row = row_for(context, a, method);
    if (any_weights_grouped(&a->w)) {
        struct assay_linear_grouped_args grouped = linear_add_grouped(a);
        return any_product_workspace(row, context, &grouped);
    }
    return sums_offset(row, context, a) + 4 * (size_t)a->y.extent[0] * (size_t)a->y.extent[1];
}

static assay_status run(assay_context *context, const struct assay_linear_add_args *a,
                        void *workspace, const struct assay_route *row, run_function *add)
{
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    if (any_weights_grouped(&a->w)) {
        struct assay_linear_grouped_args grouped = linear_add_grouped(a);
        return row->run(context, &grouped, workspace);
    }
    struct any_product product = into(a, (char *)workspace + sums_offset(row, context, a));
    ASSAY_TRY(row->run(context, &product.args, workspace));
    struct assay_add_args sum = {.a = a->r, .b = product.args.bf16.y, .y = a->y};
    return add(context, &sum, NULL);
}

/* That of the product: add's kernel has none. */
static size_t shared_bytes(const struct assay_linear_add_args *a, const struct assay_route *row)
{
    if (row == NULL || row->shared_bytes == NULL)
        return 0;
    if (any_weights_grouped(&a->w)) {
        struct assay_linear_grouped_args grouped = linear_add_grouped(a);
        return row->shared_bytes(&grouped);
    }
    struct any_product product = into(a, NULL);
    return row->shared_bytes(&product.args);
}

#define SHARED(method, suffix, backend)                                  \
    size_t linear_add_route_##method##_shared_##suffix(const void *args) \
    {                                                                    \
        return shared_bytes(args, row_of(args, #method, backend));       \
    }

/* See row_for. */
#define SHARED_NONE(suffix)                                         \
    size_t linear_add_route_tiled_shared_##suffix(const void *args) \
    {                                                               \
        (void)args;                                                 \
        return 0;                                                   \
    }

#define RUN(method, suffix)                                                                     \
    assay_status linear_add_route_##method##_##suffix(assay_context *context, const void *args, \
                                                      void *workspace)                          \
    {                                                                                           \
        return run(context, args, workspace, row_for(context, args, #method),                   \
                   add_route_row_##suffix);                                                     \
    }

#if defined(ASSAY_HAVE_SIMT)
RUN(gemv, simt)
RUN(small, simt)
RUN(tiled, simt)
SHARED(gemv, simt, ASSAY_SIMT)
SHARED(small, simt, ASSAY_SIMT)
SHARED_NONE(simt)
#endif

#if defined(ASSAY_HAVE_CUDA)
RUN(gemv, cuda)
RUN(small, cuda)
RUN(tiled, cuda)
SHARED(gemv, cuda, ASSAY_CUDA)
SHARED(small, cuda, ASSAY_CUDA)
SHARED_NONE(cuda)
RUN(cublas, cuda)
#endif

#endif
