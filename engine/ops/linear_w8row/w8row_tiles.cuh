/* SPDX-License-Identifier: MIT
 *
 * The product of linear_w8row's images in integer tensor cores: a block takes a tile of y, its
 * warps take parts of it, 128 columns of both operands at a time come into shared memory by a queue
 * of asynchronous copies. Rows of a stage are 128 bytes; the 16-byte pieces of row r stand at
 * places XOR r % 8, so that neither the copies nor ldmatrix meet in a bank. The images have whole
 * steps: only rows end within a tile.
 *
 * 2 T N K operations; limited by the rate of mma.
 */
#ifndef ASSAY_W8ROW_TILES_CUH
#define ASSAY_W8ROW_TILES_CUH

#include "ops/linear_w8row/w8row_quantise.cuh"

enum { W8ROW_STEP = 128, W8ROW_SLICE = 32, W8ROW_PIECE = 16, W8ROW_TILE_GROUP = 8 };

/* m, n: a warp's part in tiles of mma. */
template <int tile_t_, int tile_n_, int warps_t_, int warps_n_, int stages_> struct w8row_shape {
    static const int tile_t = tile_t_, tile_n = tile_n_, warps_n = warps_n_, stages = stages_;
    static const int m = tile_t / warps_t_ / 16, n = tile_n / warps_n / 8;
    static const int threads = 32 * warps_t_ * warps_n;
    static const int copy_rows = threads / 8; /* that all threads copy at a time */
    static const int copies = (tile_t + tile_n) / copy_rows;
    static const int stage_bytes = (tile_t + tile_n) * W8ROW_STEP;
};

template <typename shape> struct w8row_fragments {
    uint32_t a[shape::m][4], b[shape::n][2];
};

/* First row of x and of w of a tile. Tiles that run at the same time shall share rows of both:
 * they are numbered down groups of W8ROW_TILE_GROUP tiles of x. */
struct w8row_place {
    int64_t t, n;
};

template <typename shape>
SIMT_DEVICE struct w8row_place w8row_place_of(const struct w8row_call &p, int64_t index)
{
    int64_t tiles_t = (p.rows + shape::tile_t - 1) / shape::tile_t;
    int64_t tiles_n = (p.columns + shape::tile_n - 1) / shape::tile_n;
    int64_t in_group = W8ROW_TILE_GROUP * tiles_n;
    int64_t first = index / in_group * W8ROW_TILE_GROUP, left = tiles_t - first;
    int64_t height = left < W8ROW_TILE_GROUP ? left : static_cast<int64_t>(W8ROW_TILE_GROUP);
    int64_t at = index % in_group;
    return {(first + at % height) * shape::tile_t, at / height * shape::tile_n};
}

/* A step into its stage. A thread copies piece thread % 8 of every copy_rows-th row. */
template <typename shape>
SIMT_DEVICE void w8row_stage(const struct w8row_call &p, struct w8row_place place,
                             struct simt_shared<int8_t> stage, int64_t step)
{
    int row = simt_thread() / 8, piece = simt_thread() % 8;
    int at = row * W8ROW_STEP + (piece ^ row % 8) * W8ROW_PIECE;
    int64_t k = step * W8ROW_STEP + piece * W8ROW_PIECE;
    SIMT_UNROLL for (int i = 0; i < shape::copies; i++)
    {
        int first = i * shape::copy_rows;
        bool is_x = first < shape::tile_t;
        int64_t from = is_x ? place.t + first + row : place.n + first - shape::tile_t + row;
        const int8_t *image = is_x ? p.image.x : p.image.w;
        int valid = from < (is_x ? p.image.x_rows : p.image.w_rows) ? W8ROW_PIECE : 0;
        simt_copy_async_part<16>(stage.at(at + first * W8ROW_STEP),
                                 image + from * p.image.pitch + k, valid);
    }
}

/* The operands of 32 columns: to ldmatrix two codes are one element. */
template <typename shape>
SIMT_DEVICE void w8row_load_fragments(struct simt_shared<int8_t> stage, int slice,
                                      struct w8row_fragments<shape> &f)
{
    int lane = simt_lane(), row = lane % 8;
    int first_a = simt_warp() / shape::warps_n * shape::m * 16 + lane % 16;
    int first_b = shape::tile_t + simt_warp() % shape::warps_n * shape::n * 8 + lane / 16 * 8 + row;
    int at_a = first_a * W8ROW_STEP + ((2 * slice + lane / 16) ^ row) * W8ROW_PIECE;
    int at_b = first_b * W8ROW_STEP + ((2 * slice + lane / 8 % 2) ^ row) * W8ROW_PIECE;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++)
        simt_ldmatrix<4>(f.a[i], stage.at(at_a + 16 * i * W8ROW_STEP));
    SIMT_UNROLL for (int i = 0; i < shape::n; i += 2)
        simt_ldmatrix<4>(f.b[i], stage.at(at_b + 8 * i * W8ROW_STEP)); /* of two tiles */
}

template <typename shape>
SIMT_DEVICE void w8row_add(const struct w8row_fragments<shape> &f, int (*sums)[shape::n][4])
{
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        simt_mma_s8(sums[i][j], f.a[i], f.b[j], sums[i][j]);
}

template <typename shape>
SIMT_DEVICE void w8row_finish(const struct w8row_call &p, struct w8row_place place,
                              const int (*sums)[shape::n][4])
{
    int lane = simt_lane();
    int64_t row = place.t + simt_warp() / shape::warps_n * shape::m * 16 + lane / 4;
    int64_t column = place.n + simt_warp() % shape::warps_n * shape::n * 8 + lane % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
    {
        const int *s = sums[i][j];
        w8row_put_pair(p, row + 16 * i, column + 8 * j, s[0], s[1]);
        w8row_put_pair(p, row + 16 * i + 8, column + 8 * j, s[2], s[3]);
    }
}

/* While the products of a slice are taken, the operands of the next come into registers. A step's
 * last reads are before the barrier that opens the next one, whose copies then take its stage. */
template <typename shape> SIMT_KERNEL_RESIDENT(w8row_tiles, shape::threads, 2)(struct w8row_call p)
{
    SIMT_SHARED_DYNAMIC(int8_t, memory, 0, shape::stages * shape::stage_bytes);
    struct w8row_place place = w8row_place_of<shape>(p, simt_block_index().x);
    int steps = static_cast<int>(p.image.pitch / W8ROW_STEP);
    struct w8row_fragments<shape> f[2];
    int sums[shape::m][shape::n][4];
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] = 0;

    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < steps)
            w8row_stage<shape>(p, place, memory.slice(i * shape::stage_bytes, shape::stage_bytes),
                               i);
        simt_copy_commit();
    }
    for (int step = 0; step < steps; step++) {
        int later = step + shape::stages - 1;
        simt_copy_wait<shape::stages - 2>();
        simt_sync_block();
        if (later < steps)
            w8row_stage<shape>(
                p, place,
                memory.slice(later % shape::stages * shape::stage_bytes, shape::stage_bytes),
                later);
        simt_copy_commit();
        struct simt_shared<int8_t> stage =
            memory.slice(step % shape::stages * shape::stage_bytes, shape::stage_bytes);
        w8row_load_fragments<shape>(stage, 0, f[0]);
        SIMT_UNROLL for (int slice = 0; slice < W8ROW_STEP / W8ROW_SLICE; slice++)
        {
            if (slice + 1 < W8ROW_STEP / W8ROW_SLICE)
                w8row_load_fragments<shape>(stage, slice + 1, f[(slice + 1) % 2]);
            w8row_add<shape>(f[slice % 2], sums);
        }
    }
    w8row_finish<shape>(p, place, sums);
}

template <typename shape>
static assay_status w8row_launch_tiles(const struct w8row_call &p, struct simt_launch *launch)
{
    int64_t tiles = (p.rows + shape::tile_t - 1) / shape::tile_t *
                    ((p.columns + shape::tile_n - 1) / shape::tile_n);
    launch->grid = {static_cast<unsigned>(tiles), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = shape::stages * shape::stage_bytes;
    return SIMT_LAUNCH(launch, w8row_tiles<shape>, p);
}

#endif
