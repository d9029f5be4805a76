/* SPDX-License-Identifier: MIT
 *
 * What linear.cublas does beside the products where x is binary32 or y is rounded after them:
 * splits x (linear_split.cuh), drops what is not finite in the product of the low parts, and
 * rounds binary32 sums into y. Each moves its operands once and is limited by that; the middle one
 * reads only, unless it finds something.
 */
#include "ops/linear/linear_split.cuh"

/* The low parts met an infinity or a NaN, which the high parts meet as well. */
SIMT_KERNEL(linear_drop)(struct linear_call p)
{
    int64_t step = static_cast<int64_t>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t row = simt_block_index().x; row < p.rows; row += simt_grid_extent().x) {
        unsigned char *y = linear_row(p.y, row);
        for (int64_t n = simt_thread() * ROW_CHUNK; n < p.columns; n += step) {
            float sums[ROW_CHUNK];
            bool are_finite = true;
            row_load_chunk<false>(p.y, y, n, p.columns, sums);
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
            {
                bool is_finite = linear_is_finite(sums[i]);
                are_finite = are_finite && is_finite;
                sums[i] = is_finite ? sums[i] : 0;
            }
            if (!are_finite)
                row_store_chunk(p.y, y, n, p.columns, sums);
        }
    }
}

SIMT_KERNEL(linear_round)(struct linear_call p, struct row_view sums)
{
    int64_t step = static_cast<int64_t>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t row = simt_block_index().x; row < p.rows; row += simt_grid_extent().x) {
        const unsigned char *from = linear_row(sums, row);
        unsigned char *to = linear_row(p.y, row);
        for (int64_t n = simt_thread() * ROW_CHUNK; n < p.columns; n += step) {
            float values[ROW_CHUNK];
            row_load_chunk<true>(sums, from, n, p.columns, values);
            row_store_chunk(p.y, to, n, p.columns, values);
        }
    }
}

/* workspace: the planes. */
static assay_status split_launch(const void *args, struct simt_launch *launch)
{
    struct linear_call p = linear_call_of(args);
    struct linear_planes planes;
    return linear_planes_of(&p, launch, &planes);
}

/* In y, which is binary32. */
static assay_status drop_launch(const void *args, struct simt_launch *launch)
{
    struct linear_call p = linear_call_of(args);
    row_launch_shape(p.rows, p.columns, launch);
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_drop, p);
}

/* workspace: the sums, rows behind each other. */
static assay_status round_launch(const void *args, struct simt_launch *launch)
{
    struct linear_call p = linear_call_of(args);
    unsigned char *memory = static_cast<unsigned char *>(launch->workspace);
    struct row_view sums = {memory, 1, p.columns * 4, 0, false, p.columns % 4 == 0};
    row_launch_shape(p.rows, p.columns, launch);
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_round, p, sums);
}

DEVICE_ROUTE_RUN(linear_split_planes, &assay_op_linear, split_launch)
DEVICE_ROUTE_RUN(linear_drop_nonfinite, &assay_op_linear, drop_launch)
DEVICE_ROUTE_RUN(linear_round_sums, &assay_op_linear, round_launch)
