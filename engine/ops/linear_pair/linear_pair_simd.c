/* SPDX-License-Identifier: MIT
 *
 * linear_pair, vectorised: the vector routes of linear and linear_grouped over the rows of all
 * matrices, one behind the other, in one parallel region; x is brought into the order of the codes
 * once for all matrices that want the same. The products keep one order in every tile shape, so
 * that the bits are those of the separate calls [LINEARPAIR-5], whatever T and the threads.
 *
 * Profile f32. Bound: linear_pair_bound.md. Moves the matrices and y once.
 */
#include "core/core.h"
#include "ops/linear_pair/linear_pair_routes.h"
#include "ops/linear_swiglu/matrix_product_simd.h"

/* A range of the thread pool has RANGE_WORK multiply-adds and RANGE_ROWS rows of matrices, which is
 * a multiple of the rows of a tile. */
#if defined(ASSAY_PARANOID)
enum { RANGE_WORK = 1, RANGE_ROWS = 4 };
#else
enum { RANGE_WORK = 256 * 1024, RANGE_ROWS = 32 };
#endif

struct call {
    struct product_part part[ASSAY_LINEAR_PAIR_MAX];
    int64_t rows[ASSAY_LINEAR_PAIR_MAX];
    int num_products;
};

/* Rows first .. last - 1 of all matrices: a range may end one and begin the next. */
static void rows(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    int64_t start = 0; /* of matrix i */
    for (int i = 0; i < c->num_products && start < last; i++) {
        int64_t end = start + c->rows[i];
        int64_t from = first > start ? first : start, to = last < end ? last : end;
        if (from < to)
            product_part_columns(&c->part[i], from - start, to - start);
        start = end;
    }
}

/* The part before i whose prepared x matrix i shares. */
static const struct product_part *ready_for(const struct call *c,
                                            const struct assay_linear_pair_args *a, int i)
{
    for (int j = 0; j < i; j++)
        if (product_part_shares(&a->w[j], &a->w[i]))
            return &c->part[j];
    return NULL;
}

assay_status SIMD_NAME(linear_pair_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_pair_args *a = args;
    int64_t tokens = a->x.extent[0];
    if (tokens == 0)
        return ASSAY_OK;
    struct call c = {.num_products = (int)a->num_products};
    float *memory = workspace;
    for (int i = 0; i < a->num_products; i++) {
        const struct product_part *ready = ready_for(&c, a, i);
        c.rows[i] = a->w[i].rows;
        product_part_begin(context, &c.part[i], &a->x, &a->w[i], &a->y[i], memory, ready);
        const int64_t floats = product_part_floats(&a->x, &a->w[i]);
        if (ready == NULL && floats > 0) /* bf16 takes no workspace: memory may be NULL */
            memory += floats;
    }
    int64_t grain = RANGE_WORK / (a->x.extent[1] * tokens) / RANGE_ROWS * RANGE_ROWS;
    assay_parallel(context, linear_pair_rows(a), grain < RANGE_ROWS ? RANGE_ROWS : grain, rows, &c);
    return ASSAY_OK;
}
