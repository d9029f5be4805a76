/* SPDX-License-Identifier: MIT
 *
 * linear for many rows of x, in tensor cores: a block takes a tile of y, its warps (2 x 2 or 2 x 4)
 * take parts of it, 64 columns of both operands at a time come into shared memory by a queue of
 * asynchronous copies. Rows of a stage are 128 bytes; the 16-byte pieces of row r stand at places
 * XOR r % 8, so that neither the copies nor ldmatrix meet in a bank.
 *
 * x of binary32 takes two passes over k into the same sums: the low parts first, what is not finite
 * after them is dropped (it met an infinity or a NaN, which the high parts meet as well), then the
 * high parts.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_bound.md. 2 T N K operations a pass; limited
 * by the rate of mma.
 */
#include "ops/linear/linear_split.cuh"

enum { TILE_K = 64, TILE_WARPS_T = 2, TILE_GROUP = 8, TILE_PARTS = 3 };

struct tiled_call {
    struct linear_call call;
    struct linear_planes planes;
    int64_t tiles_t, tiles_n;
};

struct tile_place {
    int64_t t, n;
};

/* A warp's part in tiles of mma. */
template <int tile_t, int tile_n, int warps_n> struct tile_shape {
    static const int m = tile_t / TILE_WARPS_T / 16, n = tile_n / warps_n / 8;
    static const int stage_halves = (tile_t + tile_n) * TILE_K;
    static const int threads = 32 * TILE_WARPS_T * warps_n;
    static const int copy_rows = threads / 8;       /* that all threads copy at a time */
    static const int stages = tile_t == 64 ? 4 : 3; /* 96 KiB: two blocks share a multiprocessor */
    static const bool aligned_only = tile_t == 128; /* the other path costs registers */
};

template <int m, int n> struct tile_fragments {
    uint32_t a[m][4], b[n][2];
};

/* Tiles that run at the same time shall share rows of both operands: they are numbered down groups
 * of TILE_GROUP tiles of x. */
template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE struct tile_place place_of(const struct tiled_call &p, int64_t index)
{
    int64_t in_group = TILE_GROUP * p.tiles_n, first = index / in_group * TILE_GROUP;
    int64_t most = TILE_GROUP, left = p.tiles_t - first, height = left < most ? left : most;
    int64_t at = index % in_group;
    return {(first + at % height) * tile_t, at / height * tile_n};
}

/* What a thread copies of each step: piece thread % 8 of every copy_rows-th row. */
struct tile_source {
    const unsigned char *x, *w; /* its first row */
    int left_x, left_w;         /* rows from there on */
};

SIMT_DEVICE struct tile_source source_of(const struct tiled_call &p, struct tile_place place)
{
    int row = simt_thread() / 8;
    return {linear_row(p.planes.x, place.t + row), linear_row(p.call.w, place.n + row),
            linear_rows_left(p.call.rows, place.t + row),
            linear_rows_left(p.call.columns, place.n + row)};
}

/* Part `part` of TILE_PARTS of step `step` of all passes into its stage. */
template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE void tiled_stage(const struct tiled_call &p, const struct tile_source &source,
                             struct simt_shared<uint16_t> stage, int part, int64_t step,
                             int64_t steps)
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    const int rows = shape::copy_rows, count = (tile_t + tile_n) / rows;
    const int in_part = (count + TILE_PARTS - 1) / TILE_PARTS;
    int row = simt_thread() / 8, piece = simt_thread() % 8;
    int at = row * TILE_K + (piece ^ row % 8) * ROW_CHUNK;
    int64_t k = (step < steps ? step : step - steps) * TILE_K + piece * ROW_CHUNK;
    int valid_x = linear_valid(k, p.planes.inner), valid_w = linear_valid(k, p.call.inner);
    const unsigned char *x = source.x + 2 * k + (step < steps ? 0 : p.planes.plane_bytes);
    const unsigned char *w = source.w + 2 * k;
    SIMT_UNROLL for (int j = 0; j < in_part; j++)
    {
        int first = (part * in_part + j) * rows, first_w = first - tile_t;
        if (first < tile_t)
            linear_stage(stage, at + first * TILE_K, x + first * p.planes.x.outer_stride,
                         first < source.left_x ? valid_x : 0,
                         shape::aligned_only || p.planes.x.is_aligned);
        else if (first_w < tile_n)
            linear_stage(stage, at + first * TILE_K, w + first_w * p.call.w.outer_stride,
                         first_w < source.left_w ? valid_w : 0,
                         shape::aligned_only || p.call.w.is_aligned);
    }
}

/* The operands of 16 columns, from column 16 `slice` on. */
template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE void load_fragments(struct simt_shared<uint16_t> stage, int slice,
                                struct tile_fragments<tile_shape<tile_t, tile_n, warps_n>::m,
                                                      tile_shape<tile_t, tile_n, warps_n>::n> &f)
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    int lane = simt_lane(), row = lane % 8;
    int first_a = simt_warp() / warps_n * shape::m * 16 + lane % 16;
    int first_b = tile_t + simt_warp() % warps_n * shape::n * 8 + lane / 16 * 8 + row;
    int at_a = first_a * TILE_K + ((2 * slice + lane / 16) ^ row) * ROW_CHUNK;
    int at_b = first_b * TILE_K + ((2 * slice + lane / 8 % 2) ^ row) * ROW_CHUNK;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++)
        simt_ldmatrix<4>(f.a[i], stage.at(at_a + 16 * i * TILE_K));
    SIMT_UNROLL for (int i = 0; i < shape::n; i += 2)
        simt_ldmatrix<4>(f.b[i], stage.at(at_b + 8 * i * TILE_K)); /* of two tiles */
}

template <int m, int n>
SIMT_DEVICE void add_fragments(const struct tile_fragments<m, n> &f, float (*sums)[n][4])
{
    SIMT_UNROLL for (int i = 0; i < m; i++) SIMT_UNROLL for (int j = 0; j < n; j++)
        simt_mma_bf16(sums[i][j], f.a[i], f.b[j], sums[i][j]);
}

template <int m, int n> SIMT_DEVICE void drop_not_finite(float (*sums)[n][4])
{
    SIMT_UNROLL for (int i = 0; i < m; i++) SIMT_UNROLL for (int j = 0; j < n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] =
            linear_is_finite(sums[i][j][c]) ? sums[i][j][c] : 0;
}

SIMT_DEVICE void store_pair(const struct linear_call &p, int64_t row, int64_t column, float first,
                            float second)
{
    if (row >= p.rows || column >= p.columns)
        return;
    unsigned char *to = linear_row(p.y, row) + column * (p.y.is_bf16 ? 2 : 4);
    bool is_whole = p.y.is_aligned && column + 1 < p.columns; /* columns are even */
    if (is_whole && p.y.is_bf16) {
        simt_store(reinterpret_cast<uint32_t *>(to), simt_bf16x2_from_f32(first, second));
    } else if (is_whole) {
        uint64_t high = simt_f32_bits(second);
        simt_store(reinterpret_cast<uint64_t *>(to), high << 32 | simt_f32_bits(first));
    } else {
        linear_store(p.y, row, column, first);
        if (column + 1 < p.columns)
            linear_store(p.y, row, column + 1, second);
    }
}

template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE void tiled_finish(const struct tiled_call &p, struct tile_place place,
                              const float (*sums)[tile_shape<tile_t, tile_n, warps_n>::n][4])
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    int lane = simt_lane();
    int64_t row = place.t + simt_warp() / warps_n * shape::m * 16 + lane / 4;
    int64_t column = place.n + simt_warp() % warps_n * shape::n * 8 + lane % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
    {
        const float *s = sums[i][j];
        store_pair(p.call, row + 16 * i, column + 8 * j, s[0], s[1]);
        store_pair(p.call, row + 16 * i + 8, column + 8 * j, s[2], s[3]);
    }
}

template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE struct simt_shared<uint16_t> stage_of(struct simt_shared<uint16_t> memory, int stage) {
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    return memory.slice(stage * shape::stage_halves, shape::stage_halves);
}

/* The first steps into their stages, and the first operands. */
template <int tile_t, int tile_n, int warps_n>
SIMT_DEVICE void tiled_begin(const struct tiled_call &p, const struct tile_source &source,
                             struct simt_shared<uint16_t> memory, int64_t steps, int64_t all,
                             struct tile_fragments<tile_shape<tile_t, tile_n, warps_n>::m,
                                                   tile_shape<tile_t, tile_n, warps_n>::n> &f)
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < all) {
            SIMT_UNROLL for (int part = 0; part < TILE_PARTS; part++)
                tiled_stage<tile_t, tile_n, warps_n>(
                    p, source, stage_of<tile_t, tile_n, warps_n>(memory, i), part, i, steps);
        }
        simt_copy_commit();
    }
    simt_copy_wait<shape::stages - 2>();
    simt_sync_block();
    load_fragments<tile_t, tile_n, warps_n>(stage_of<tile_t, tile_n, warps_n>(memory, 0), 0, f);
}

/* While the products of a slice are taken, the operands of the next come into registers and a part
 * of a later step into shared memory. Before the last slice the next step must have come, for all;
 * by then all have read the whole step, whose stage takes the next copies. */
template <int tile_t, int tile_n, int warps_n> SIMT_KERNEL(linear_tiled)(struct tiled_call p)
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    SIMT_SHARED_DYNAMIC(uint16_t, memory, 0, shape::stages * shape::stage_halves);
    struct tile_place place = place_of<tile_t, tile_n, warps_n>(p, simt_block_index().x);
    struct tile_source source = source_of(p, place);
    int64_t steps = (p.call.inner + TILE_K - 1) / TILE_K, all = steps * p.planes.count;
    struct tile_fragments<shape::m, shape::n> f[2];
    float sums[shape::m][shape::n][4];
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] = 0;

    tiled_begin<tile_t, tile_n, warps_n>(p, source, memory, steps, all, f[0]);
    int stage = 0, free_stage = shape::stages - 1;
    for (int64_t step = 0; step < all; step++) {
        int64_t later = step + shape::stages - 1;
        int next_stage = stage + 1 < shape::stages ? stage + 1 : 0;
        if (step == steps)
            drop_not_finite<shape::m, shape::n>(sums);
        SIMT_UNROLL for (int slice = 0; slice < TILE_K / 16; slice++)
        {
            if (slice + 1 < TILE_K / 16) {
                load_fragments<tile_t, tile_n, warps_n>(
                    stage_of<tile_t, tile_n, warps_n>(memory, stage), slice + 1,
                    f[(slice + 1) % 2]);
                if (later < all)
                    tiled_stage<tile_t, tile_n, warps_n>(
                        p, source, stage_of<tile_t, tile_n, warps_n>(memory, free_stage), slice,
                        later, steps);
            } else if (step + 1 < all) {
                simt_copy_commit();
                simt_copy_wait<shape::stages - 2>();
                simt_sync_block();
                load_fragments<tile_t, tile_n, warps_n>(
                    stage_of<tile_t, tile_n, warps_n>(memory, next_stage), 0, f[0]);
            }
            add_fragments<shape::m, shape::n>(f[slice % 2], sums);
        }
        free_stage = stage;
        stage = next_stage;
    }
    tiled_finish<tile_t, tile_n, warps_n>(p, place, sums);
}

template <int tile_t, int tile_n, int warps_n>
static assay_status launch_tiles(struct tiled_call *p, struct simt_launch *launch)
{
    typedef tile_shape<tile_t, tile_n, warps_n> shape;
    p->tiles_t = (p->call.rows + tile_t - 1) / tile_t;
    p->tiles_n = (p->call.columns + tile_n - 1) / tile_n;
    launch->grid = {static_cast<unsigned>(p->tiles_t * p->tiles_n), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = sizeof(uint16_t) * shape::stages * shape::stage_halves;
    return SIMT_LAUNCH(launch, (linear_tiled<tile_t, tile_n, warps_n>), *p);
}

/* Large tiles where rows are aligned and tiles enough for most multiprocessors. The executor's
 * sweep shall reach them with small shapes. */
static bool takes_large_tiles(const struct tiled_call &p)
{
    if (!p.planes.x.is_aligned || !p.call.w.is_aligned)
        return false;
#if defined(__CUDACC__)
    return ((p.call.rows + 127) / 128) * ((p.call.columns + 127) / 128) >= 200;
#else
    return p.call.rows > 64 || p.call.columns > 128 || p.call.inner >= 192;
#endif
}

static assay_status tiled_launch(const void *args, struct simt_launch *launch)
{
    struct tiled_call p;
    p.call = linear_call_of(args);
    if (p.call.rows == 0)
        return ASSAY_OK;
    assay_status status = linear_planes_of(&p.call, launch, &p.planes);
    if (status != ASSAY_OK)
        return status;
    return takes_large_tiles(p) ? launch_tiles<128, 128, 2>(&p, launch)
                                : launch_tiles<64, 128, 4>(&p, launch);
}

DEVICE_ROUTE_RUN(linear_route_tiled, &assay_op_linear, tiled_launch)
