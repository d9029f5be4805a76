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
    const int32_t *ids;
    struct row_view table, y;
    int64_t tokens, width, vocab;
};

SIMT_KERNEL(embedding_row)(struct embedding_rows p)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t t = simt_block_index().x; t < p.tokens; t += simt_grid_extent().x) {
        int32_t id = simt_load_constant(p.ids + t);
        bool is_row = id >= 0 && id < p.vocab; /* [EMBEDDING-5] */
        const unsigned char *from = row_address(p.table, is_row ? id : 0);
        unsigned char *to = row_address(p.y, t);
        for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
            float x[ROW_CHUNK];
            row_load_chunk<true>(p.table, from, i, p.width, x);
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) x[j] =
                is_row ? x[j] : simt_f32_from_bits(0x7fc00000u);
            row_store_chunk(p.y, to, i, p.width, x);
        }
    }
}

static assay_status embedding_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_embedding_args *a = static_cast<const struct assay_embedding_args *>(args);
    struct embedding_rows p = {static_cast<const int32_t *>(a->ids.data),
                               row_view_of(&a->table),
                               row_view_of(&a->y),
                               a->y.extent[0],
                               a->y.extent[1],
                               a->table.extent[0]};
    if (p.tokens == 0)
        return ASSAY_OK;
    row_launch_shape(p.tokens, p.width, launch);
    return SIMT_LAUNCH(launch, embedding_row, p);
}

DEVICE_ROUTE_RUN(embedding_route_row, &assay_op_embedding, embedding_row_launch)
