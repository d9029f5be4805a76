/* SPDX-License-Identifier: MIT
 *
 * linear_w8row on a device: by kernels alone, and what surrounds the products of cuBLAS.
 *
 * Profile w8row. Bound: linear_w8row_bound.md; the bits are the contract's.
 * sass: word stores, as the fragments lie.
 */
#include "cuda/cublas.h"
#include "ops/linear_w8row/w8row_tiles.cuh"

typedef w8row_shape<128, 128, 2, 4, 3> large_tiles;
typedef w8row_shape<64, 128, 2, 4, 4> small_tiles;

/* Large tiles where there are enough for most multiprocessors. The executor's sweep shall reach
 * them with small shapes. */
static bool takes_large_tiles(const struct w8row_call &p)
{
#if defined(__CUDACC__)
    return ((p.rows + 127) / 128) * ((p.columns + 127) / 128) >= 200;
#else
    return p.rows > 64 || p.columns > 128 || p.inner >= 512;
#endif
}

static assay_status mma_launch(const void *args, struct simt_launch *launch)
{
    struct w8row_call p = w8row_call_of(static_cast<const struct assay_linear_w8row_args *>(args),
                                        launch->workspace, 0);
    if (p.rows == 0)
        return ASSAY_OK;
    assay_status status = w8row_quantise_all(p, launch);
    if (status != ASSAY_OK)
        return status;
    return takes_large_tiles(p) ? w8row_launch_tiles<large_tiles>(p, launch)
                                : w8row_launch_tiles<small_tiles>(p, launch);
}

/* ---- around cuBLAS -------------------------------------------------------------------------- */

/* Rows of y from their sums, whose rows are a multiple of 8 long. Moves the sums and y once, and is
 * limited by that. */
SIMT_KERNEL(w8row_scale_sums)(struct w8row_call p, int64_t first, int64_t rows)
{
    for (int64_t row = simt_block_index().x; row < rows; row += simt_grid_extent().x) {
        const int32_t *sums = p.image.sums + row * p.image.w_rows;
        for (int64_t n = 2 * simt_thread(); n < p.columns; n += 2 * W8ROW_THREADS)
            w8row_put_pair(p, first + row, n, simt_load(sums + n), simt_load(sums + n + 1));
    }
}

static assay_status quantise_launch(const void *args, struct simt_launch *launch)
{
    struct w8row_call p = w8row_call_of(static_cast<const struct assay_linear_w8row_args *>(args),
                                        launch->workspace, CUBLAS_WORKSPACE);
    return w8row_quantise_all(p, launch);
}

static assay_status scale_launch(const void *args, struct simt_launch *launch)
{
    const struct w8row_tile *tile = static_cast<const struct w8row_tile *>(args);
    struct w8row_call p = w8row_call_of(&tile->a, launch->workspace, CUBLAS_WORKSPACE);
    int64_t left = p.rows - tile->first, rows = tile->rows < left ? tile->rows : left;
    launch->grid = {w8row_blocks(rows), 1, 1};
    launch->block = {W8ROW_THREADS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, w8row_scale_sums, p, tile->first, rows);
}

DEVICE_ROUTE_RUN(linear_w8row_route_mma, &assay_op_linear_w8row, mma_launch)
DEVICE_ROUTE_RUN(w8row_quantise, &assay_op_linear_w8row, quantise_launch)
DEVICE_ROUTE_RUN(w8row_scale, &assay_op_linear_w8row, scale_launch)
