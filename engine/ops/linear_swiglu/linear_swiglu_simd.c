/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu, vectorised: blocks of both products by the vector routes of linear and
 * linear_grouped, in tiles that stay in the first-level cache, then silu(g) u of their elements
 * (silu_simd.h). The products keep one order in every tile shape, so that the bits are those of the
 * separate calls [LINEARSWIGLU-8], whatever T and the threads [LINEARSWIGLU-5].
 *
 * Profile f32. Bound: linear_swiglu_bound.md. Moves both matrices and y once; x of grouped formats
 * is brought into the order of the codes first.
 */
#include "core/core.h"
#include "ops/linear_swiglu/matrix_product.h"
#include "ops/linear_swiglu/matrix_product_simd.h"
#include "ops/linear_swiglu/linear_swiglu_routes.h"
#include "ops/silu_mul/silu_simd.h"

/* A tile of both products is 2 TILE_T TILE_N floats; PANEL_BYTES of the matrices stay in the
 * second-level cache while x passes. A range of the thread pool has RANGE_WORK multiply-adds. */
#if defined(ASSAY_PARANOID)
enum { TILE_T = 5, TILE_N = 16, PANEL_BYTES = 1, RANGE_WORK = 1, RANGE_ROWS = 16 };
#else
enum { TILE_T = 24, TILE_N = 64, PANEL_BYTES = 512 * 1024, RANGE_WORK = 256 * 1024 };
enum { RANGE_ROWS = 32 };
#endif
enum { STEP_N = 16 }; /* a multiple of the rows of w in a register tile of either product */

struct call {
    struct product_part gate, up;
    struct assay_tensor y;
    int64_t panel; /* columns */
};

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

static void store(const struct assay_tensor *y, int64_t t, int64_t n, int64_t count,
                  const float *gate, const float *up)
{
    char *row = assay_tensor_row(y, t);
    int64_t i = 0;
    for (; i + SIMD_LANES <= count; i += SIMD_LANES)
        vf_store_any(row, y->dtype, n + i, silu_times(vf_load(gate + i), vf_load(up + i)));
    if (i < count) {
        vf g = vf_load_tail(gate, ASSAY_F32, i, count - i);
        vf u = vf_load_tail(up, ASSAY_F32, i, count - i);
        vf_store_tail(row, y->dtype, n + i, count - i, silu_times(g, u));
    }
}

/* Columns first .. last - 1 of y. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    float gate[TILE_T * TILE_N], up[TILE_T * TILE_N];
    for (int64_t n = first; n < last; n += c->panel) {
        int64_t width = at_most(last - n, c->panel);
        for (int64_t t = 0; t < c->y.extent[0]; t += TILE_T) {
            int64_t rows = at_most(c->y.extent[0] - t, TILE_T);
            product_part_tile(&c->gate, t, rows, n, width, gate);
            product_part_tile(&c->up, t, rows, n, width, up);
            for (int64_t i = 0; i < rows; i++)
                store(&c->y, t + i, n, width, gate + i * width, up + i * width);
        }
    }
}

assay_status SIMD_NAME(linear_swiglu_route)(assay_context *context, const void *args,
                                            void *workspace)
{
    const struct assay_linear_swiglu_args *a = args;
    int64_t rows = a->x.extent[0], inner = a->gate.columns;
    if (rows == 0)
        return ASSAY_OK;
    struct call c = {.y = a->y};
    bool is_shared = product_part_shares(&a->gate, &a->up);
    const int64_t floats = product_part_floats(&a->x, &a->gate);
    float *second = workspace;
    if (floats > 0) /* bf16 takes no workspace, which may be NULL */
        second += floats;
    product_part_begin(context, &c.gate, &a->x, &a->gate, &a->y, workspace, NULL);
    product_part_begin(context, &c.up, &a->x, &a->up, &a->y, second, is_shared ? &c.gate : NULL);
    int64_t row_bytes = (int64_t)(any_weights_row_bytes(&a->gate) + any_weights_row_bytes(&a->up));
    c.panel = PANEL_BYTES / row_bytes / STEP_N * STEP_N;
    c.panel = c.panel < STEP_N ? STEP_N : at_most(c.panel, TILE_N);
    int64_t grain = RANGE_WORK / (2 * inner * rows) / STEP_N * STEP_N;
    assay_parallel(context, a->gate.rows, grain < RANGE_ROWS ? RANGE_ROWS : grain, columns, &c);
    return ASSAY_OK;
}
