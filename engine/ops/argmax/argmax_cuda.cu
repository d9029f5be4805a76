/* SPDX-License-Identifier: MIT
 *
 * argmax. row: a block takes a row, each thread chunks of 8 elements; then the warps reduce by
 * shuffles, and the first warp what they found. split: for few long rows the same over many blocks,
 * each of which leaves what it found in the workspace; a second launch takes a warp a row.
 *
 * Profile exact: integers are compared, argmax_bound.md has no term. Moves limit elements a row,
 * once, and 4 bytes of result; some 6 integer operations an element. split is limited by the
 * latency of two launches and of one pass over memory. sass: word stores.
 */
#include "cuda/rows.cuh"
#include "ops/argmax/argmax_keys.cuh"
#include "ops/argmax/argmax_routes.h"

enum {
    ARGMAX_MAX_THREADS = 1024,
    ARGMAX_MAX_WARPS = ARGMAX_MAX_THREADS / 32,
    ARGMAX_SPLIT_THREADS = ARGMAX_PART / ROW_CHUNK
};

struct argmax_rows {
    struct row_view logits;
    int32_t *ids;
    int64_t rows, limit;
};

/* Of the chunks at first, first + step, ...: their indices ascend, so only a larger value takes the
 * place. */
SIMT_DEVICE uint64_t argmax_thread(const struct argmax_rows &p, const unsigned char *row,
                                   int64_t first, int64_t step)
{
    uint32_t best = 0, at = 0;
    for (int64_t i = first; i < p.limit; i += step) {
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

/* In the first thread, of all threads' keys. */
SIMT_DEVICE uint64_t argmax_block(struct simt_shared<uint64_t> partial, uint64_t key)
{
    int num_warps = static_cast<int>(simt_block_extent().x) / 32;
    key = argmax_warp(key);
    if (simt_lane() == 0)
        partial.store(simt_warp(), key);
    simt_sync_block();
    if (simt_warp() == 0)
        key = argmax_warp(simt_lane() < num_warps ? partial.load(simt_lane()) : 0);
    return key;
}

SIMT_KERNEL(argmax_row)(struct argmax_rows p)
{
    SIMT_SHARED(uint64_t, partial, ARGMAX_MAX_WARPS);
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t r = simt_block_index().x; r < p.rows; r += simt_grid_extent().x) {
        const unsigned char *row = row_address(p.logits, r);
        uint64_t key =
            argmax_block(partial, argmax_thread(p, row, simt_thread() * ROW_CHUNK, step));
        if (simt_thread() == 0)
            simt_store(p.ids + r, argmax_id(key));
        simt_sync_block(); /* the next row writes the partial results that this one reads */
    }
}

/* Block (x, r): part x of row r. */
SIMT_KERNEL(argmax_part)(struct argmax_rows p, uint64_t *found)
{
    simt_release_stream();
    SIMT_SHARED(uint64_t, partial, ARGMAX_SPLIT_THREADS / 32);
    int64_t r = simt_block_index().y, parts = simt_grid_extent().x, part = simt_block_index().x;
    uint64_t key =
        argmax_thread(p, row_address(p.logits, r), part * ARGMAX_PART + simt_thread() * ROW_CHUNK,
                      parts * ARGMAX_PART);
    key = argmax_block(partial, key);
    if (simt_thread() == 0)
        simt_store(found + r * parts + part, key);
}

/* A warp a row. */
SIMT_KERNEL(argmax_finish)(struct argmax_rows p, const uint64_t *found, int parts)
{
    simt_wait_for_stream();
    int64_t r = simt_block_index().x;
    uint64_t key = 0;
    for (int i = simt_lane(); i < parts; i += 32) {
        uint64_t other = simt_load(found + r * parts + i);
        key = other > key ? other : key;
    }
    key = argmax_warp(key);
    if (simt_lane() == 0)
        simt_store(p.ids + r, argmax_id(key));
}

static struct argmax_rows rows_of(const struct assay_argmax_args *a)
{
    return {row_view_of(&a->logits), static_cast<int32_t *>(a->ids.data), a->ids.extent[0],
            a->limit};
}

static assay_status argmax_row_launch(const void *args, struct simt_launch *launch)
{
    struct argmax_rows p = rows_of(static_cast<const struct assay_argmax_args *>(args));
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.limit, launch);
    if (p.limit >= ARGMAX_MAX_THREADS * ROW_CHUNK)
        launch->block.x = ARGMAX_MAX_THREADS;
    return SIMT_LAUNCH(launch, argmax_row, p);
}

static assay_status argmax_split_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_argmax_args *a = static_cast<const struct assay_argmax_args *>(args);
    struct argmax_rows p = rows_of(a);
    uint64_t *found = static_cast<uint64_t *>(launch->workspace);
    if (p.rows == 0)
        return ASSAY_OK;
    int parts = static_cast<int>(argmax_parts(a));
    launch->grid = {static_cast<unsigned>(parts), static_cast<unsigned>(p.rows), 1};
    launch->block = {ARGMAX_SPLIT_THREADS, 1, 1};
    assay_status status = SIMT_LAUNCH(launch, argmax_part, p, found);
    if (status != ASSAY_OK)
        return status;
    launch->overlaps = true;
    launch->grid = {static_cast<unsigned>(p.rows), 1, 1};
    launch->block = {32, 1, 1};
    return SIMT_LAUNCH(launch, argmax_finish, p, found, parts);
}

DEVICE_ROUTE_RUN(argmax_route_split, &assay_op_argmax, argmax_split_launch)
DEVICE_ROUTE_RUN(argmax_route_row, &assay_op_argmax, argmax_row_launch)
