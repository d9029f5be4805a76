/* SPDX-License-Identifier: MIT
 *
 * kv_append: a warp takes a row (one head of one token), each lane chunks of 8 elements. Blocks of
 * grid row 0 write k's rows, those of grid row 1 v's.
 *
 * Profile exact. Bound: kv_append_bound.md; every value passes through binary32, which holds bf16
 * exactly, so that the one rounding is the one into the cache. Moves each byte of k, v and the T
 * new slots once, no other slot; no operations. Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/kv_append/kv_append_routes.h"

enum { WARPS = 8 }; /* of a block */

struct append_rows {
    struct row_view from, to;
    int64_t rows, width;
    int64_t start;           /* slot of row 0, or its bound */
    const int32_t *start_at; /* NULL: start */
};

SIMT_DEVICE void append(const struct append_rows &p)
{
    int64_t start = p.start;
    if (p.start_at != NULL) {
        int32_t at = simt_load_constant(p.start_at);
        start = at < 0 ? 0 : at < start ? at : start;
    }
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * WARPS;
    for (int64_t r = static_cast<int64_t>(simt_block_index().x) * WARPS + simt_warp(); r < p.rows;
         r += step) {
        const unsigned char *from = row_address(p.from, r);
        unsigned char *to = row_address(p.to, r) + start * p.to.outer_stride;
        for (int64_t d = simt_lane() * ROW_CHUNK; d < p.width; d += 32 * ROW_CHUNK) {
            float x[ROW_CHUNK];
            row_load_chunk<true>(p.from, from, d, p.width, x);
            row_store_chunk(p.to, to, d, p.width, x);
        }
    }
}

SIMT_KERNEL(kv_append_warp)(struct append_rows k, struct append_rows v)
{
    if (simt_block_index().y == 0)
        append(k);
    else
        append(v);
}

static struct append_rows rows_of(const struct assay_tensor *from, const struct assay_tensor *cache,
                                  const struct assay_kv_append_args *a)
{
    struct append_rows p = {
        row_view_of(from), row_view_of(cache), assay_tensor_rows(from),
        from->extent[2],   a->start,           static_cast<const int32_t *>(a->start_at.data)};
    if (p.width == 0)
        p.rows = 0; /* there may be no memory */
    return p;
}

static assay_status kv_append_warp_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_kv_append_args *a = static_cast<const struct assay_kv_append_args *>(args);
    struct append_rows k = rows_of(&a->k, &a->k_cache, a);
    struct append_rows v = rows_of(&a->v, &a->v_cache, a);
    int64_t rows = k.rows > v.rows ? k.rows : v.rows;
    if (rows == 0)
        return ASSAY_OK;
    int64_t blocks = (rows + WARPS - 1) / WARPS;
    if (blocks > ROW_MAX_BLOCKS)
        blocks = ROW_MAX_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks), 2, 1};
    launch->block = {WARPS * 32, 1, 1};
    return SIMT_LAUNCH(launch, kv_append_warp, k, v);
}

DEVICE_ROUTE_RUN(kv_append_route_warp, &assay_op_kv_append, kv_append_warp_launch)
