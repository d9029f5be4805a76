/* SPDX-License-Identifier: MIT
 *
 * linear for many rows of x, in tensor cores: a block takes a tile of y, its warps take parts of
 * it, 64 columns of both operands at a time come into shared memory by a queue of asynchronous
 * copies. Rows of a stage are 128 bytes; the 16-byte pieces of row r stand at places XOR r % 8, so
 * that neither the copies nor ldmatrix meet in a bank.
 *
 * x of binary32 takes two passes over k into the same sums: the low parts first, what is not finite
 * after them is dropped (it met an infinity or a NaN, which the high parts meet as well), then the
 * high parts.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_bound.md. 2 T N K operations a pass; limited
 * by the rate of mma.
 */
#include "ops/linear/linear_split.cuh"

enum { TILE_K = 64, TILE_GROUP = 8, TILE_PARTS = 3 };

struct tiled_call {
    struct linear_call call;
    struct linear_planes planes;
    int64_t tiles_t, tiles_n;
};

struct tile_place {
    int64_t t, n;
};

/* What the copies may take for granted. All of it costs instructions, registers, or both. */
enum { TILE_ANY, TILE_ALIGNED /* rows */, TILE_WHOLE /* aligned rows, and no edges of x or w */ };

/* A tile of y and its warps; m, n: a warp's part in tiles of mma. */
template <int tile_t_, int tile_n_, int warps_t_, int warps_n_, int stages_, int kind_>
struct tile_shape {
    static const int tile_t = tile_t_, tile_n = tile_n_, warps_n = warps_n_, stages = stages_;
    static const int kind = kind_;
    static const int m = tile_t / warps_t_ / 16, n = tile_n / warps_n / 8;
    static const int threads = 32 * warps_t_ * warps_n;
    static const int copy_rows = threads / 8; /* that all threads copy at a time */
    static const int copies = (tile_t + tile_n) / copy_rows;
    static const int in_part = (copies + TILE_PARTS - 1) / TILE_PARTS;
    static const int stage_halves = (tile_t + tile_n) * TILE_K;
};

template <typename shape> struct tile_fragments {
    uint32_t a[shape::m][4], b[shape::n][2];
};

/* Tiles that run at the same time shall share rows of both operands: they are numbered down groups
 * of TILE_GROUP tiles of x. */
template <typename shape>
SIMT_DEVICE struct tile_place place_of(const struct tiled_call &p, int64_t index)
{
    int64_t in_group = TILE_GROUP * p.tiles_n, first = index / in_group * TILE_GROUP;
    int64_t most = TILE_GROUP, left = p.tiles_t - first, height = left < most ? left : most;
    int64_t at = index % in_group;
    return {(first + at % height) * shape::tile_t, at / height * shape::tile_n};
}

/* What a thread copies of each step: piece thread % 8 of every copy_rows-th row. */
struct tile_source {
    const unsigned char *x, *w; /* its first row */
    int left_x, left_w;         /* rows from there on */
};

SIMT_DEVICE struct tile_source source_of(const struct tiled_call &p, struct tile_place place,
                                         int plane)
{
    int row = simt_thread() / 8, piece = simt_thread() % 8;
    return {linear_row(p.planes.x, place.t + row) + plane * p.planes.plane_bytes +
                2 * piece * ROW_CHUNK,
            linear_row(p.call.w, place.n + row) + 2 * piece * ROW_CHUNK,
            linear_rows_left(p.call.rows, place.t + row),
            linear_rows_left(p.call.columns, place.n + row)};
}

/* Part `part` of TILE_PARTS of a step into its stage. */
template <typename shape>
SIMT_DEVICE void tiled_stage(const struct tiled_call &p, const struct tile_source &source,
                             struct simt_shared<uint16_t> stage, int part, int step)
{
    int row = simt_thread() / 8, piece = simt_thread() % 8;
    int at = row * TILE_K + (piece ^ row % 8) * ROW_CHUNK;
    int64_t first_k = static_cast<int64_t>(step) * TILE_K, k = first_k + piece * ROW_CHUNK;
    const unsigned char *x = source.x + 2 * first_k, *w = source.w + 2 * first_k;
    int valid_x = linear_valid(k, p.planes.inner), valid_w = linear_valid(k, p.call.inner);
    SIMT_UNROLL for (int j = 0; j < shape::in_part; j++)
    {
        int first = (part * shape::in_part + j) * shape::copy_rows, first_w = first - shape::tile_t;
        if (first_w >= shape::tile_n)
            break;
        bool is_x = first < shape::tile_t;
        const unsigned char *from =
            is_x ? x + first * p.planes.x.outer_stride : w + first_w * p.call.w.outer_stride;
        if (shape::kind == TILE_WHOLE)
            simt_copy_async<16>(stage.at(at + first * TILE_K), from);
        else if (is_x)
            linear_stage(stage, at + first * TILE_K, from, first < source.left_x ? valid_x : 0,
                         shape::kind == TILE_ALIGNED || p.planes.x.is_aligned);
        else
            linear_stage(stage, at + first * TILE_K, from, first_w < source.left_w ? valid_w : 0,
                         shape::kind == TILE_ALIGNED || p.call.w.is_aligned);
    }
}

/* The operands of 16 columns, from column 16 `slice` on. */
template <typename shape>
SIMT_DEVICE void load_fragments(struct simt_shared<uint16_t> stage, int slice,
                                struct tile_fragments<shape> &f)
{
    int lane = simt_lane(), row = lane % 8;
    int first_a = simt_warp() / shape::warps_n * shape::m * 16 + lane % 16;
    int first_b = shape::tile_t + simt_warp() % shape::warps_n * shape::n * 8 + lane / 16 * 8 + row;
    int at_a = (first_a * TILE_K + (lane / 16 ^ row) * ROW_CHUNK) ^ slice * 16;
    int at_b = (first_b * TILE_K + (lane / 8 % 2 ^ row) * ROW_CHUNK) ^ slice * 16;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++)
        simt_ldmatrix<4>(f.a[i], stage.at(at_a + 16 * i * TILE_K));
    SIMT_UNROLL for (int i = 0; i < shape::n; i += 2)
        simt_ldmatrix<4>(f.b[i], stage.at(at_b + 8 * i * TILE_K)); /* of two tiles */
}

template <typename shape>
SIMT_DEVICE void add_fragments(const struct tile_fragments<shape> &f, float (*sums)[shape::n][4])
{
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        simt_mma_bf16(sums[i][j], f.a[i], f.b[j], sums[i][j]);
}

template <typename shape> SIMT_DEVICE void drop_not_finite(float (*sums)[shape::n][4])
{
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
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

template <typename shape>
SIMT_DEVICE void tiled_finish(const struct tiled_call &p, struct tile_place place,
                              const float (*sums)[shape::n][4])
{
    int lane = simt_lane();
    int64_t row = place.t + simt_warp() / shape::warps_n * shape::m * 16 + lane / 4;
    int64_t column = place.n + simt_warp() % shape::warps_n * shape::n * 8 + lane % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
    {
        const float *s = sums[i][j];
        store_pair(p.call, row + 16 * i, column + 8 * j, s[0], s[1]);
        store_pair(p.call, row + 16 * i + 8, column + 8 * j, s[2], s[3]);
    }
}

template <typename shape>
SIMT_DEVICE struct simt_shared<uint16_t> stage_of(struct simt_shared<uint16_t> memory, int stage) {
    return memory.slice(stage * shape::stage_halves, shape::stage_halves);
}

/* The first steps into their stages, and the first operands. */
template <typename shape>
SIMT_DEVICE void tiled_begin(const struct tiled_call &p, const struct tile_source &source,
                             struct simt_shared<uint16_t> memory, int steps,
                             struct tile_fragments<shape> &f)
{
    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < steps) {
            SIMT_UNROLL for (int part = 0; part < TILE_PARTS; part++)
                tiled_stage<shape>(p, source, stage_of<shape>(memory, i), part, i);
        }
        simt_copy_commit();
    }
    simt_copy_wait<shape::stages - 2>();
    simt_sync_block();
    load_fragments<shape>(stage_of<shape>(memory, 0), 0, f);
}

/* Adds the products of a plane. While those of a slice are taken, the operands of the next come
 * into registers and a part of a later step into shared memory. Before the last slice the next step
 * must have come, for all; by then all have read the whole step, whose stage takes the next copies.
 */
template <typename shape>
SIMT_DEVICE void tiled_pass(const struct tiled_call &p, const struct tile_source &source,
                            struct simt_shared<uint16_t> memory, float (*sums)[shape::n][4])
{
    struct tile_fragments<shape> f[2];
    int steps = static_cast<int>((p.call.inner + TILE_K - 1) / TILE_K); /* of memory that exists */
    tiled_begin<shape>(p, source, memory, steps, f[0]);
    int stage = 0, free_stage = shape::stages - 1;
    for (int step = 0; step < steps; step++) {
        int later = step + shape::stages - 1;
        int next_stage = stage + 1 < shape::stages ? stage + 1 : 0;
        SIMT_UNROLL for (int slice = 0; slice < TILE_K / 16; slice++)
        {
            if (slice + 1 < TILE_K / 16) {
                load_fragments<shape>(stage_of<shape>(memory, stage), slice + 1,
                                      f[(slice + 1) % 2]);
                if (later < steps)
                    tiled_stage<shape>(p, source, stage_of<shape>(memory, free_stage), slice,
                                       later);
            } else if (step + 1 < steps) {
                simt_copy_commit();
                simt_copy_wait<shape::stages - 2>();
                simt_sync_block();
                load_fragments<shape>(stage_of<shape>(memory, next_stage), 0, f[0]);
            }
            add_fragments<shape>(f[slice % 2], sums);
        }
        free_stage = stage;
        stage = next_stage;
    }
}

template <typename shape> SIMT_KERNEL(linear_tiled)(struct tiled_call p)
{
    SIMT_SHARED_DYNAMIC(uint16_t, memory, 0, shape::stages * shape::stage_halves);
    struct tile_place place = place_of<shape>(p, simt_block_index().x);
    float sums[shape::m][shape::n][4];
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] = 0;

    for (int plane = 0; plane < p.planes.count; plane++) {
        if (plane > 0) {
            drop_not_finite<shape>(sums);
            simt_sync_block(); /* all have read the last step */
        }
        tiled_pass<shape>(p, source_of(p, place, plane), memory, sums);
    }
    tiled_finish<shape>(p, place, sums);
}

template <typename shape>
static assay_status launch_tiles(struct tiled_call *p, struct simt_launch *launch)
{
    p->tiles_t = (p->call.rows + shape::tile_t - 1) / shape::tile_t;
    p->tiles_n = (p->call.columns + shape::tile_n - 1) / shape::tile_n;
    launch->grid = {static_cast<unsigned>(p->tiles_t * p->tiles_n), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = sizeof(uint16_t) * shape::stages * shape::stage_halves;
    return SIMT_LAUNCH(launch, linear_tiled<shape>, *p);
}

/* Of the large ones two blocks share a multiprocessor. */
typedef tile_shape<128, 128, 2, 2, 3, TILE_WHOLE> whole_tiles;
typedef tile_shape<128, 128, 2, 2, 3, TILE_ALIGNED> large_tiles;
typedef tile_shape<64, 128, 2, 4, 4, TILE_ANY> small_tiles;

/* Large tiles where there are enough for most multiprocessors. The executor's sweep shall reach
 * them with small shapes. */
static bool takes_large_tiles(const struct tiled_call &p)
{
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
    if (!takes_large_tiles(p) || !p.planes.x.is_aligned || !p.call.w.is_aligned)
        return launch_tiles<small_tiles>(&p, launch);
    bool is_whole = p.call.rows % whole_tiles::tile_t == 0 &&
                    p.call.columns % whole_tiles::tile_n == 0 && p.call.inner % TILE_K == 0;
    return is_whole ? launch_tiles<whole_tiles>(&p, launch) : launch_tiles<large_tiles>(&p, launch);
}

DEVICE_ROUTE_RUN(linear_route_tiled, &assay_op_linear, tiled_launch)
