/* SPDX-License-Identifier: MIT
 *
 * argmax: a block takes a row, each thread chunks of 8 elements; then the warps reduce by shuffles,
 * and the first warp what they found.
 *
 * Profile exact: integers are compared, argmax_bound.md has no term. Moves limit elements a row,
 * once, and 4 bytes of result; some 6 integer operations an element. A row has one block: few long
 * rows leave most of a device idle. sass: word stores. Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/argmax/argmax_routes.h"

enum { ARGMAX_MAX_THREADS = 1024, ARGMAX_MAX_WARPS = ARGMAX_MAX_THREADS / 32 };

struct argmax_rows {
    struct row_view logits;
    int32_t *ids;
    int64_t rows, limit;
};

#define ARGMAX_NAN 0xffffffffu

/* Ordered as the values are: zeros of both signs are one number, a NaN is above +inf, -inf above 0,
 * which stands for no value. */
SIMT_DEVICE uint32_t argmax_order(float value)
{
    uint32_t bits = simt_f32_bits(value), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return ARGMAX_NAN;
    if (magnitude == 0)
        return 0x80000000u;
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

/* The maximum of such keys is the largest value and among equal ones the smallest index, in
 * whatever order they are compared. */
SIMT_DEVICE uint64_t argmax_key(uint32_t order, uint32_t index)
{
    return static_cast<uint64_t>(order) << 32 | ~index;
}

SIMT_DEVICE int32_t argmax_id(uint64_t key)
{
    return key >> 32 == ARGMAX_NAN ? -1 : static_cast<int32_t>(~static_cast<uint32_t>(key));
}

/* Of this thread's chunks: their indices ascend, so only a larger value takes the place. */
SIMT_DEVICE uint64_t argmax_thread(const struct argmax_rows &p, const unsigned char *row, int step)
{
    uint32_t best = 0, at = 0;
    for (int64_t i = simt_thread() * ROW_CHUNK; i < p.limit; i += step) {
        float x[ROW_CHUNK];
        row_load_chunk<true>(p.logits, row, i, p.limit, x);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
        {
            uint32_t order = argmax_order(x[j]);
            if (order > best && i + j < p.limit) {
                best = order;
                at = static_cast<uint32_t>(i + j);
            }
        }
    }
    return argmax_key(best, at);
}

SIMT_DEVICE uint64_t argmax_warp(uint64_t key)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2)
    {
        uint64_t other = simt_shuffle_xor(SIMT_ALL_LANES, key, bits);
        key = other > key ? other : key;
    }
    return key;
}

SIMT_KERNEL(argmax_row)(struct argmax_rows p)
{
    SIMT_SHARED(uint64_t, partial, ARGMAX_MAX_WARPS);
    int threads = static_cast<int>(simt_block_extent().x), num_warps = threads / 32;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *row = row_address(p.logits, r);
        uint64_t key = argmax_warp(argmax_thread(p, row, threads * ROW_CHUNK));
        if (simt_lane() == 0)
            partial.store(simt_warp(), key);
        simt_sync_block();
        if (simt_warp() == 0) {
            key = argmax_warp(simt_lane() < num_warps ? partial.load(simt_lane()) : 0);
            if (simt_lane() == 0)
                simt_store(p.ids + r, argmax_id(key));
        }
        simt_sync_block(); /* the next row writes the partial results that this one reads */
    }
}

static assay_status argmax_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_argmax_args *a = static_cast<const struct assay_argmax_args *>(args);
    struct argmax_rows p = {row_view_of(&a->logits), static_cast<int32_t *>(a->ids.data),
                            a->ids.extent[0], a->limit};
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.limit, launch);
    if (p.limit >= ARGMAX_MAX_THREADS * ROW_CHUNK)
        launch->block.x = ARGMAX_MAX_THREADS;
    return SIMT_LAUNCH(launch, argmax_row, p);
}

DEVICE_ROUTE_RUN(argmax_route_row, &assay_op_argmax, argmax_row_launch)
