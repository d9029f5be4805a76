/* SPDX-License-Identifier: MIT
 *
 * linear_topk on a device: kernels of linear or linear_grouped compute a slab of logits into the
 * workspace, linear_topk's own keep the k best of each part; after the last slab the lists are
 * merged. A slab is bounded, whatever T and V are; the usual head is one. All in stream order,
 * sizes from shapes alone.
 */
#include <string.h>

#include "core/core.h"
#include "ops/linear_topk/linear_topk_routes.h"

#if defined(ASSAY_HAVE_DEVICE_ROUTES)

enum { ALIGNMENT = 256 };

typedef assay_status run_function(assay_context *context, const void *args, void *workspace);

/* Rows of x, and columns, that a slab has at most, and what a block of the selection takes. The
 * executor's sweep shall meet several of each. */
struct slab {
    int64_t rows, columns, part;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts_of(const struct slab *slab, int64_t count)
{
    return (count + slab->part - 1) / slab->part;
}

static struct slab slab_of(const struct assay_linear_topk_args *a, enum assay_backend backend)
{
    const int64_t most_rows = backend == ASSAY_SIMT ? 40 : 128;
    const int64_t most_logits = backend == ASSAY_SIMT ? 4096 : (int64_t)1 << 24;
    struct slab slab = {.rows = smaller(a->x.extent[0], most_rows),
                        .part = backend == ASSAY_SIMT ? LINEAR_TOPK_PART_SIMT : LINEAR_TOPK_PART};
    int64_t columns = most_logits / slab.rows / slab.part * slab.part;
    slab.columns = smaller(a->limit, columns > slab.part ? columns : slab.part);
    return slab;
}

/* The product's own memory, logits, and lists of keys that are reduced from one to the other. */
struct plan {
    const struct assay_route *product;
    struct slab slab;
    size_t logits, lists[2], total; /* offsets, bytes */
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The product of a slab. */
static struct any_product product_of(const struct assay_linear_topk_args *a, int64_t first_row,
                                     int64_t rows, int64_t first_id, int64_t columns, void *logits)
{
    struct assay_weights w = a->w;
    struct assay_tensor x = a->x, y = assay_tensor_2d(logits, ASSAY_F32, rows, columns);
    struct assay_tensor *planes[] = {&w.base, &w.high, &w.scales};
    x.extent[0] = rows;
    x.data = assay_tensor_row(&a->x, first_row);
    w.rows = columns;
    for (int i = 0; i < 3; i++) {
        if (planes[i]->data == NULL)
            continue;
        planes[i]->data = assay_tensor_row(planes[i], first_id);
        planes[i]->extent[0] = columns;
    }
    return any_product_of(&x, &w, &y);
}

static struct plan plan_of(const assay_context *context, const struct assay_linear_topk_args *a,
                           const char *method)
{
    enum assay_backend backend = assay_context_backend(context);
    struct plan plan = {.slab = slab_of(a, backend)};
    struct any_product product = product_of(a, 0, plan.slab.rows, 0, plan.slab.columns, NULL);
    plan.product = any_product_row(product.op, method, backend);
    /* The last row, tiled, takes every call: where the device has too little shared memory for it,
     * by the product's generic row, which is more exact. */
    if (strcmp(method, "tiled") == 0 && !assay_route_takes(context, plan.product, &product.args))
        plan.product = any_product_row(product.op, "generic", backend);
    size_t rows = (size_t)plan.slab.rows, k = (size_t)a->values.extent[1];
    size_t parts = (size_t)parts_of(&plan.slab, a->limit);
    size_t reduced = (size_t)parts_of(&plan.slab, (int64_t)(parts * k));
    plan.logits = aligned(any_product_workspace(plan.product, context, &product.args));
    plan.lists[0] = aligned(plan.logits + 4 * rows * (size_t)plan.slab.columns);
    plan.lists[1] = aligned(plan.lists[0] + 8 * rows * parts * k);
    plan.total = plan.lists[1] + 8 * rows * reduced * k;
    return plan;
}

size_t linear_topk_device_workspace(const assay_context *context,
                                    const struct assay_linear_topk_args *a, const char *method)
{
    return a->x.extent[0] > 0 ? plan_of(context, a, method).total : 0;
}

struct kernels {
    run_function *part, *merge;
};

/* `parts` lists of each row become one, which is written out. */
static assay_status merge(assay_context *context, const struct plan *plan,
                          const struct kernels *kernels, struct linear_topk_step step, char *memory)
{
    int64_t k = step.a.values.extent[1], parts = parts_of(&plan->slab, step.a.limit);
    for (int turn = 0;; turn ^= 1) {
        int64_t reduced = parts_of(&plan->slab, parts * k);
        step.from = (const uint64_t *)(const void *)(memory + plan->lists[turn]);
        step.parts_from = parts;
        step.to = reduced == 1 ? NULL : (uint64_t *)(void *)(memory + plan->lists[turn ^ 1]);
        step.parts_to = reduced;
        ASSAY_TRY(kernels->merge(context, &step, memory));
        if (reduced == 1)
            return ASSAY_OK;
        parts = reduced;
    }
}

/* Rows first .. first + rows - 1. */
static assay_status slab_rows(assay_context *context, const struct assay_linear_topk_args *a,
                              const struct plan *plan, const struct kernels *kernels, char *memory,
                              int64_t first, int64_t rows)
{
    float *logits = (float *)(void *)(memory + plan->logits);
    struct linear_topk_step step = {.a = *a, .part = (int)plan->slab.part, .logits = logits};
    step.a.x.extent[0] = step.a.values.extent[0] = step.a.ids.extent[0] = rows;
    step.a.x.data = assay_tensor_row(&a->x, first);
    step.a.values.data = assay_tensor_row(&a->values, first);
    step.a.ids.data = assay_tensor_row(&a->ids, first);
    step.to = (uint64_t *)(void *)(memory + plan->lists[0]);
    step.parts_to = parts_of(&plan->slab, a->limit);
    for (int64_t id = 0; id < a->limit; id += plan->slab.columns) {
        step.first_id = id;
        step.first_part = id / plan->slab.part;
        step.columns = smaller(a->limit - id, plan->slab.columns);
        struct any_product product = product_of(a, first, rows, id, step.columns, logits);
        ASSAY_TRY(plan->product->run(context, &product.args, memory));
        ASSAY_TRY(kernels->part(context, &step, memory));
    }
    return merge(context, plan, kernels, step, memory);
}

static assay_status run(assay_context *context, const struct assay_linear_topk_args *a,
                        void *workspace, const char *method, struct kernels kernels)
{
    int64_t rows = a->x.extent[0];
    if (rows == 0)
        return ASSAY_OK;
    struct plan plan = plan_of(context, a, method);
    for (int64_t first = 0; first < rows; first += plan.slab.rows)
        ASSAY_TRY(slab_rows(context, a, &plan, &kernels, workspace, first,
                            smaller(rows - first, plan.slab.rows)));
    return ASSAY_OK;
}

/* That of the product of a whole slab: the selection has static arrays only. */
static size_t shared_bytes(const struct assay_linear_topk_args *a, const char *method,
                           enum assay_backend backend)
{
    if (a->x.extent[0] == 0)
        return 0;
    struct slab slab = slab_of(a, backend);
    struct any_product product = product_of(a, 0, slab.rows, 0, slab.columns, NULL);
    const struct assay_route *row = any_product_row(product.op, method, backend);
    return row != NULL && row->shared_bytes != NULL ? row->shared_bytes(&product.args) : 0;
}

#define SHARED(method, suffix, backend)                                   \
    size_t linear_topk_route_##method##_shared_##suffix(const void *args) \
    {                                                                     \
        return shared_bytes(args, #method, backend);                      \
    }

/* See plan_of. */
#define SHARED_NONE(suffix)                                          \
    size_t linear_topk_route_tiled_shared_##suffix(const void *args) \
    {                                                                \
        (void)args;                                                  \
        return 0;                                                    \
    }

#define RUN(method, suffix)                                                                      \
    assay_status linear_topk_route_##method##_##suffix(assay_context *context, const void *args, \
                                                       void *workspace)                          \
    {                                                                                            \
        struct kernels kernels = {linear_topk_part_##suffix, linear_topk_merge_##suffix};        \
        return run(context, args, workspace, #method, kernels);                                  \
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
#endif

#endif
