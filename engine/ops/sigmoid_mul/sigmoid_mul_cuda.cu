/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul: a block takes a row, each thread chunks of 8 elements.
 *
 * Profile f32. Bound: sigmoid_mul_bound.md: sigmoid and product in binary32; the sigmoid is at most
 * 1, so that the product does not overflow, and is rounded once where it underflows. Moves each
 * byte once; 4 operations an element, with one gate a row 1 and a sigmoid a thread. Speed on a
 * device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/sigmoid_mul/sigmoid_mul_routes.h"

struct sigmoid_mul_rows {
    struct row_view x, gate, y;
    int64_t rows, width;
    bool one_gate;
};

/* exp(-|g|) never overflows; on the negative side it is the numerator, so that small values keep
 * their digits down to the underflow of binary32. */
SIMT_DEVICE float sigmoid(float g)
{
    float e = expf(-fabsf(g));
    return (g < 0 ? e : 1.0f) / (1.0f + e);
}

/* The sigmoid of a finite gate is positive: where it underflowed, an infinite x must not meet the
 * zero ([SIGMUL-5]). */
SIMT_DEVICE float gated(float x, float g, float s)
{
    return s == 0 && isfinite(g) && isinf(x) ? x : x * s;
}

/* y may be x or gate: each element is read, for the last time, and written by one thread. */
SIMT_DEVICE void write_row(const struct sigmoid_mul_rows &p, int64_t row)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    const unsigned char *from = row_address(p.x, row), *gate = row_address(p.gate, row);
    unsigned char *to = row_address(p.y, row);
    float x[ROW_CHUNK], g[ROW_CHUNK], shared = 0;
    if (p.one_gate) {
        row_load_chunk<false>(p.gate, gate, 0, 1, g);
        shared = sigmoid(g[0]);
    }
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
        row_load_chunk<false>(p.x, from, i, p.width, x);
        if (p.one_gate) {
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) x[j] = gated(x[j], g[0], shared);
        } else {
            row_load_chunk<false>(p.gate, gate, i, p.width, g);
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) x[j] = gated(x[j], g[j], sigmoid(g[j]));
        }
        row_store_chunk(p.y, to, i, p.width, x);
    }
}

SIMT_KERNEL(sigmoid_mul_row)(struct sigmoid_mul_rows p)
{
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x)
        write_row(p, r);
}

/* Rows of one element are no case of one gate: y may then be gate, which all threads would read
 * while the first one writes it. */
static assay_status sigmoid_mul_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_sigmoid_mul_args *a =
        static_cast<const struct assay_sigmoid_mul_args *>(args);
    struct sigmoid_mul_rows p = {row_view_of(&a->x), row_view_of(&a->gate),
                                 row_view_of(&a->y), assay_tensor_rows(&a->y),
                                 a->y.extent[1],     a->gate.extent[1] < a->y.extent[1]};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.width, launch);
    return SIMT_LAUNCH(launch, sigmoid_mul_row, p);
}

DEVICE_ROUTE_RUN(sigmoid_mul_route_row, &assay_op_sigmoid_mul, sigmoid_mul_row_launch)
