/* SPDX-License-Identifier: MIT
 *
 * embedding: a block takes a token, each thread chunks of 8 elements of its table row.
 *
 * Profile exact. Bound: embedding_bound.md; every value passes through binary32, which holds bf16
 * exactly, so that the one rounding is the one into y. Moves each byte of y and of the ids' table
 * rows once (a row whose id repeats may come from L2), 4 bytes of id a token; no operations. Speed
 * on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/embedding/embedding_routes.h"

struct embedding_rows {
    const int32_t *ids; /* each a row of the table: validation has looked */
    struct row_view table, y;
    int64_t tokens, width;
};

SIMT_KERNEL(embedding_row)(struct embedding_rows p)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t t = simt_block_index().x; t < p.tokens; t += simt_grid_extent().x) {
        const unsigned char *from = row_address(p.table, simt_load_constant(p.ids + t));
        unsigned char *to = row_address(p.y, t);
        for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
            float x[ROW_CHUNK];
            row_load_chunk<true>(p.table, from, i, p.width, x);
            row_store_chunk(p.y, to, i, p.width, x);
        }
    }
}

assay_status embedding_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_embedding_args *a = static_cast<const struct assay_embedding_args *>(args);
    struct embedding_rows p = {static_cast<const int32_t *>(a->ids.data), row_view_of(&a->table),
                               row_view_of(&a->y), a->y.extent[0], a->y.extent[1]};
    if (p.tokens == 0)
        return ASSAY_OK;
    row_launch_shape(p.tokens, p.width, launch);
    return SIMT_LAUNCH(launch, embedding_row, p);
}
