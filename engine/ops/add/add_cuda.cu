/* SPDX-License-Identifier: MIT
 *
 * add: a block takes a row, each thread chunks of 8 elements.
 *
 * Profile exact: one rounding of the exact sum. A binary32 sum is correctly rounded as it is; for a
 * bf16 output it is first rounded to odd (add_cpu.c says why). Moves each byte once.
 */
#include "cuda/rows.cuh"
#include "ops/add/add_routes.h"
#include "ops/add/add_sum.cuh"

struct add_rows {
    struct row_view a, b, y;
    int64_t rows, width;
};

SIMT_KERNEL(add_row)(struct add_rows p)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *a = row_address(p.a, r), *b = row_address(p.b, r);
        unsigned char *y = row_address(p.y, r);
        for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
            float u[ROW_CHUNK], v[ROW_CHUNK];
            row_load_chunk<false>(p.a, a, i, p.width, u);
            row_load_chunk<false>(p.b, b, i, p.width, v);
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) u[j] =
                p.y.is_bf16 ? sum_to_odd(u[j], v[j]) : u[j] + v[j];
            row_store_chunk(p.y, y, i, p.width, u); /* y may be a or b */
        }
    }
}

static assay_status add_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_add_args *a = static_cast<const struct assay_add_args *>(args);
    struct add_rows p = {row_view_of(&a->a), row_view_of(&a->b), row_view_of(&a->y),
                         assay_tensor_rows(&a->y), a->y.extent[1]};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch);
    return SIMT_LAUNCH(launch, add_row, p);
}

DEVICE_ROUTE_RUN(add_route_row, &assay_op_add, add_row_launch)
