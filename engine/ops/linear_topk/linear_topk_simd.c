/* SPDX-License-Identifier: MIT
 *
 * linear_topk, vectorised: logits come in tiles by the vector code of linear or linear_grouped and
 * are dropped after they were compared; each range of the vocabulary keeps its k best of each row,
 * and then the ranges are merged. Keys are compared as integers and each has its id, so that the
 * result does not depend on ranges, tiles and threads.
 *
 * Profile f32. Bound: linear_topk_bound.md. Moves w once, x once for each tile of columns; 8 k
 * bytes a row and range of lists.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear/linear_routes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/linear_topk/linear_topk_routes.h"
#include "ops/linear_topk/topk_keys.h"

enum { TILE_ROWS = LINEAR_TOPK_TILE_ROWS, TILE_COLUMNS = LINEAR_TOPK_TILE_COLUMNS };

struct call {
    const struct assay_linear_topk_args *a;
    uint64_t *lists;   /* [ranges][T][k] */
    const float *x;    /* grouped formats: x as linear_grouped prepares it */
    int64_t ranges, k; /* values a row */
};

/* logits[rows][count]: rows t on, ids first on. */
static void multiply(const struct call *c, int64_t t, int64_t rows, int64_t first, int64_t count,
                     float *logits)
{
    const struct assay_weights *w = &c->a->w;
    struct assay_tensor x = c->a->x, y = assay_tensor_2d(logits, ASSAY_F32, rows, count);
    x.data = assay_tensor_row(&c->a->x, t);
    x.extent[0] = rows;
    if (any_weights_grouped(w)) {
        struct assay_linear_grouped_args product = {.x = x, .w = *w, .y = y};
        product.w.rows = count;
        product.w.base.data = assay_tensor_row(&w->base, first);
        product.w.scales.data = assay_tensor_row(&w->scales, first);
        if (w->high.data != NULL)
            product.w.high.data = assay_tensor_row(&w->high, first);
        SIMD_NAME(linear_grouped_columns)
        (&product, c->x + t * linear_grouped_padded(w->columns), 0, count);
    } else {
        struct assay_linear_args product = {.x = x, .w = w->base, .y = y};
        product.w.data = assay_tensor_row(&w->base, first);
        product.w.extent[0] = count;
        SIMD_NAME(linear_columns)(&product, 0, count);
    }
}

/* Logits of ids first .. first + count - 1 to a list, most of which are below its least. A NaN is
 * not; equal ones are left to their keys. */
static void offer(uint64_t *list, int k, const float *logits, int64_t first, int64_t count)
{
    float least = topk_value(list[0]);
    for (int64_t i = 0; i < count; i++) {
        if (logits[i] < least)
            continue;
        topk_push(list, k, topk_key(logits[i], first + i));
        least = topk_value(list[0]);
    }
}

static void tile(const struct call *c, uint64_t *lists, int64_t t, int64_t rows, int64_t first,
                 int64_t count)
{
    float logits[TILE_ROWS * TILE_COLUMNS];
    multiply(c, t, rows, first, count, logits);
    for (int64_t r = 0; r < rows; r++)
        offer(lists + (t + r) * c->k, (int)c->k, logits + r * count, first, count);
}

/* First id of a range. */
static int64_t first_of(const struct call *c, int64_t range)
{
    int64_t tiles = (c->a->limit + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int64_t id = tiles * range / c->ranges * TILE_COLUMNS;
    return id < c->a->limit ? id : c->a->limit;
}

static void ranges(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    int64_t rows = c->a->x.extent[0];
    for (int64_t range = first; range < last; range++) {
        uint64_t *lists = c->lists + range * rows * c->k;
        memset(lists, 0, (size_t)(rows * c->k) * sizeof *lists);
        int64_t end = first_of(c, range + 1);
        for (int64_t n = first_of(c, range); n < end; n += TILE_COLUMNS) {
            int64_t count = end - n < TILE_COLUMNS ? end - n : TILE_COLUMNS;
            for (int64_t t = 0; t < rows; t += TILE_ROWS)
                tile(c, lists, t, rows - t < TILE_ROWS ? rows - t : TILE_ROWS, n, count);
        }
    }
}

/* Rows first .. last - 1 from all ranges. */
static void merge(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    int64_t rows = c->a->x.extent[0];
    for (int64_t t = first; t < last; t++) {
        uint64_t heap[ASSAY_TOPK_MOST] = {0};
        for (int64_t range = 0; range < c->ranges; range++)
            for (int64_t i = 0; i < c->k; i++)
                topk_push(heap, (int)c->k, c->lists[(range * rows + t) * c->k + i]);
        topk_store(c->a, t, heap);
    }
}

assay_status SIMD_NAME(linear_topk_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_topk_args *a = args;
    struct call c = {
        .a = a, .lists = workspace, .ranges = linear_topk_ranges(a), .k = a->values.extent[1]};
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    if (any_weights_grouped(&a->w)) {
        float *x = (float *)((char *)workspace + linear_topk_lists(a));
        struct assay_linear_grouped_args product = {.x = a->x, .w = a->w};
        SIMD_NAME(linear_grouped_prepare)(context, &product, x);
        c.x = x;
    }
    assay_parallel(context, c.ranges, 1, ranges, &c);
    assay_parallel(context, a->x.extent[0], 1, merge, &c);
    return ASSAY_OK;
}
