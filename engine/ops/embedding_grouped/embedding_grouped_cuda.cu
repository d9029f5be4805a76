/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped: a block takes a token, each thread chunks of 8 elements of its table row.
 *
 * Profile exact. Bound: embedding_grouped_bound.md; code times scale is exact in binary32, so that
 * the one rounding is the one into y. Moves each byte of y and of the ids' table rows once (a row
 * whose id repeats may come from L2), 4 bytes of id a token; no operations but the unpacking. On an
 * H200 at 4096 tokens of 5120: 2.4 to 2.6 TB/s, 61 to 66 % of the memory floor; one token: 3.3 us,
 * the launch.
 * sass: word loads, eight codes a thread.
 */
#include "ops/embedding_grouped/embedding_grouped_routes.h"
#include "ops/linear_grouped/grouped_planes.cuh"

struct embedding_grouped_rows {
    const int32_t *ids;
    struct grouped_view table;
    struct row_view y;
    int64_t tokens, width, vocab;
};

SIMT_KERNEL(embedding_grouped_row)(struct embedding_grouped_rows p)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t t = simt_block_index().x; t < p.tokens; t += simt_grid_extent().x) {
        int32_t id = simt_load_constant(p.ids + t);
        bool is_row = id >= 0 && id < p.vocab; /* [EMBEDDINGGROUPED-5] */
        unsigned char *to = row_address(p.y, t);
        for (int64_t i = simt_thread() * ROW_CHUNK; i < p.width; i += step) {
            float values[ROW_CHUNK];
            grouped_codes(p.table, is_row ? id : 0, i, values);
            float scale = grouped_scale(p.table, is_row ? id : 0, i);
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) values[j] =
                is_row ? values[j] * scale : simt_f32_from_bits(0x7fc00000u);
            row_store_chunk(p.y, to, i, p.width, values);
        }
    }
}

static assay_status embedding_grouped_row_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_embedding_grouped_args *a =
        static_cast<const struct assay_embedding_grouped_args *>(args);
    struct embedding_grouped_rows p = {static_cast<const int32_t *>(a->ids.data),
                                       grouped_view_of(&a->table),
                                       row_view_of(&a->y),
                                       a->y.extent[0],
                                       a->y.extent[1],
                                       a->table.rows};
    if (p.tokens == 0)
        return ASSAY_OK;
    row_launch_shape(p.tokens, p.width, launch);
    return SIMT_LAUNCH(launch, embedding_grouped_row, p);
}

DEVICE_ROUTE_RUN(embedding_grouped_route_row, &assay_op_embedding_grouped,
                 embedding_grouped_row_launch)
