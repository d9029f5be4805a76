/* SPDX-License-Identifier: MIT
 *
 * silu_mul: a block takes a row, each thread chunks of 8 elements.
 *
 * Profile f32. Bound: silu_mul_bound.md. Moves each byte once.
 */
#include "cuda/rows.cuh"
#include "ops/silu_mul/silu_device.cuh"
#include "ops/silu_mul/silu_mul_routes.h"

struct silu_mul_rows {
    struct row_view gate, up, y;
    int64_t rows, width;
};

SIMT_KERNEL(silu_mul_row)(struct silu_mul_rows p)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *gate = row_address(p.gate, r), *up = row_address(p.up, r);
        unsigned char *y = row_address(p.y, r);
        for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
            float g[ROW_CHUNK], u[ROW_CHUNK];
            row_load_chunk<false>(p.gate, gate, i, p.width, g);
            row_load_chunk<false>(p.up, up, i, p.width, u);
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) u[j] = silu_times(g[j], u[j]);
            row_store_chunk(p.y, y, i, p.width, u); /* y may be gate or up */
        }
    }
}

static assay_status silu_mul_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_silu_mul_args *a = static_cast<const struct assay_silu_mul_args *>(args);
    struct silu_mul_rows p = {row_view_of(&a->gate), row_view_of(&a->up), row_view_of(&a->y),
                              assay_tensor_rows(&a->y), a->y.extent[1]};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch);
    return SIMT_LAUNCH(launch, silu_mul_row, p);
}

DEVICE_ROUTE_RUN(silu_mul_route_row, &assay_op_silu_mul, silu_mul_row_launch)
