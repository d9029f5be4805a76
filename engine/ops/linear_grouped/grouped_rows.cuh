/* SPDX-License-Identifier: MIT
 *
 * Steps (grouped_steps.cuh) of whole rows of w, 16 or a multiple a warp: how a warp copies them
 * into its part of shared memory.
 */
#ifndef ASSAY_GROUPED_ROWS_CUH
#define ASSAY_GROUPED_ROWS_CUH

#include "ops/linear_grouped/linear_grouped_mma.cuh"

/* Bytes of a row of each plane, groups that hold a column below K. */
struct rows_call {
    struct mma_call call;
    int base_bytes, high_bytes, num_groups, steps;
    int whole_steps; /* those whose columns have all a place in the planes */
};

/* Where a lane's copies come from, at step 0. */
struct rows_source {
    const unsigned char *base, *high, *scales;
    int left; /* rows of w from the first on */
};

template <typename shape>
SIMT_DEVICE struct rows_source rows_source_of(const struct rows_call &p, int64_t first)
{
    const int pieces = shape::high_row / 16 + (shape::high_row == 0); /* of a view */
    const struct grouped_view &w = p.call.w;
    int lane = simt_lane();
    return {w.base + (first + lane / 8) * w.base_stride,
            w.high + (first + lane / pieces) * w.high_stride,
            w.scales + (first + lane / 2) * w.scales_stride,
            linear_rows_left(p.call.columns, first)};
}

/* A step into the stage at `stage`, zeros for rows and columns that are not there. is_inner: all
 * are there. */
template <typename shape, bool is_whole, bool is_inner>
SIMT_DEVICE void rows_copy(const struct rows_call &p, const struct grouped_memory &memory,
                           int stage, const struct rows_source &from, int step)
{
    const struct grouped_view &w = p.call.w;
    int lane = simt_lane(), k = step * GROUPED_STEP + lane % 8 * 16;
    SIMT_UNROLL for (int j = 0; j < shape::rows / 4; j++)
    {
        bool is_there = is_inner || (lane / 8 + 4 * j < from.left && k < p.base_bytes);
        grouped_copy<16, is_whole>(
            memory, stage + grouped_base_at(lane / 8, lane % 8) + 4 * j * GROUPED_STEP,
            from.base + k + 4 * j * w.base_stride, is_there ? 16 : 0);
    }
    const int pieces = shape::high_row / 16 + (shape::high_row == 0), high_rows = 32 / pieces;
    k = step * shape::high_row + lane % pieces * 16;
    SIMT_UNROLL for (int j = 0; j * high_rows < shape::rows && shape::high_row > 0; j++)
    {
        int view = lane / pieces + j * high_rows;
        bool is_there = is_inner || (view < from.left && k < p.high_bytes);
        grouped_copy<16, is_whole>(memory, stage + grouped_high_at<shape>(view, lane % pieces),
                                   from.high + k + j * high_rows * w.high_stride,
                                   is_there ? 16 : 0);
    }
    k = step * shape::scales_row + lane % 2 * 4;
    int valid = 2 * p.num_groups - k;
    valid = valid < 0 ? 0 : valid < 4 ? valid : 4;
    SIMT_UNROLL for (int j = 0; j < shape::w_tiles; j++)
    {
        bool is_there = lane / 2 + 16 * j < from.left;
        grouped_copy<4, is_whole>(memory, stage + shape::scales_at + 4 * lane + 128 * j,
                                  from.scales + k + 16 * j * w.scales_stride,
                                  is_inner   ? 4
                                  : is_there ? valid
                                             : 0);
    }
}

template <typename shape, bool is_whole>
SIMT_DEVICE void rows_stage(const struct rows_call &p, const struct grouped_memory &memory,
                            int stage, const struct rows_source &from, int step)
{
    if (is_whole && step < p.whole_steps && from.left >= shape::rows)
        rows_copy<shape, is_whole, true>(p, memory, stage, from, step);
    else
        rows_copy<shape, is_whole, false>(p, memory, stage, from, step);
}

template <int bits> static void rows_set_sizes(struct rows_call *p)
{
    const int groups = bits == 8 ? 2 : 1, step_units = bits == 8 ? 2 : 4;
    int padded = static_cast<int>(linear_grouped_padded(p->call.inner));
    p->base_bytes = bits == 8 ? padded : padded / 2;
    p->high_bytes = padded / 8 * (bits == 8 ? 0 : bits - 4);
    p->num_groups = static_cast<int>((p->call.inner + MMA_UNIT / groups - 1) / (MMA_UNIT / groups));
    p->steps = (p->call.units + step_units - 1) / step_units;
    p->whole_steps = p->num_groups * (MMA_UNIT / groups) / (MMA_UNIT * step_units);
}

#endif
