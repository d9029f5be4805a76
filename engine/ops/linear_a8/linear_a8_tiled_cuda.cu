/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for many rows of x, in integer tensor cores: a block takes a tile of y, its warps take
 * parts of it; codes of x, packed codes of w and both scales of 128 columns at a time come into
 * shared memory by a queue of asynchronous copies. w is unpacked in registers. Of a group two mma
 * m16n8k32 (q8g32: one) make the integer sums, which three operations of binary32 a sum add to y.
 *
 * Rows of x are 128 bytes of a stage, rows of w 64 or 128; their 16-byte pieces stand at places XOR
 * a part of the row, so that neither the copies nor the loads meet in a bank.
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. 2 T N K operations. On an H200 it issues
 * instructions in 6 of 10 cycles: 12 of binary32 stand beside 2 mma for a group and tile of 16
 * times 8, and a warp waits some 30 cycles from its last mma to the first of them.
 * sass: word stores, as the fragments lie.
 */
#include "ops/linear_a8/a8_generic.cuh"

enum { TILE_K = 128, TILE_GROUPS = TILE_K / A8_GROUP, TILE_HEIGHT = 8 };

struct tiled_call {
    struct a8_call call;
    int64_t tiles_t, tiles_n;
};

/* A tile of y and its warps; m, n: a warp's part in tiles of mma. Byte counts are of a stage. */
template <int bits_, int tile_t_, int tile_n_, int warps_t_, int warps_n_, int stages_, int blocks_>
struct tile_shape {
    static const int bits = bits_, tile_t = tile_t_, tile_n = tile_n_;
    static const int warps_n = warps_n_, stages = stages_;
    static const int blocks = blocks_; /* of a multiprocessor */
    static const int m = tile_t / warps_t_ / 16, n = tile_n / warps_n / 8;
    static const int threads = 32 * warps_t_ * warps_n;
    static const int parts = bits == 8 ? 2 : 1; /* groups of w in one of x */
    static const int w_groups = TILE_GROUPS * parts;
    static const int base_row = bits == 8 ? TILE_K : TILE_K / 2;
    static const int high_row = bits == 5 ? TILE_K / 8 : bits == 6 ? TILE_K / 4 : 0;
    static_assert(A8_LARGE_TILE % tile_t == 0, "x has whole tiles");
    static const int base_at = tile_t * TILE_K, high_at = base_at + tile_n * base_row;
    static const int scales_at = high_at + tile_n * high_row;
    static const int x_scales_at = scales_at + tile_n * w_groups * 2;
    static const int stage_bytes = x_scales_at + TILE_GROUPS * tile_t * 4;
    static_assert(stage_bytes % 16 == 0, "stages follow each other");
};

/* Tiles that run at the same time shall share rows of both operands: they are numbered down groups
 * of TILE_HEIGHT tiles of x. */
struct tile_place {
    int t, n;
};

template <typename shape>
SIMT_DEVICE struct tile_place tile_place_of(const struct tiled_call &p, int64_t index)
{
    int64_t in_group = TILE_HEIGHT * p.tiles_n, first = index / in_group * TILE_HEIGHT;
    int64_t most = TILE_HEIGHT, left = p.tiles_t - first, height = left < most ? left : most;
    int64_t at = index % in_group;
    return {static_cast<int>(first + at % height) * shape::tile_t,
            static_cast<int>(at / height) * shape::tile_n};
}

/* What a stage holds in pieces, and where piece `piece` of row `row` of it stands. Rows are given
 * by their rest mod 8 and the multiple of 8 before it, which turns nothing. */
enum tile_operand { TILE_X, TILE_BASE, TILE_HIGH };

template <typename shape, enum tile_operand operand>
SIMT_DEVICE int piece_at(int rest, int piece, int before)
{
    if (operand == TILE_X)
        return (before + rest) * TILE_K + 16 * (piece ^ rest);
    if (operand == TILE_HIGH)
        return shape::high_at + (before + rest) * shape::high_row +
               16 * (shape::bits == 6 ? piece ^ rest / 4 : 0);
    int turned = shape::bits == 8 ? piece ^ 2 * (rest % 4) : piece ^ (rest & 2);
    return shape::base_at + (before + rest) * shape::base_row + 16 * turned;
}

/* One memory, seen as elements of each size. */
struct tile_memory {
    struct simt_shared<unsigned char> bytes;
    struct simt_shared<uint16_t> halves;
    struct simt_shared<uint32_t> words;
    struct simt_shared<uint64_t> pairs;
    struct simt_shared<float> floats;
};

/* ---- copies --------------------------------------------------------------------------------- */

SIMT_DEVICE int rows_left(int64_t rows, int64_t first)
{
    int64_t left = rows - first, most = 1 << 20;
    return static_cast<int>(left < most ? left : most);
}

/* Rows of an operand, `pieces` pieces each, into the stage at `stage`; thread i copies piece
 * i % pieces of every row that is its turn. x has whole tiles; rows of w from `left` on repeat the
 * last one, what they give is not stored. Offsets within a tile take 32 bits (A8_MOST_STRIDE). */
template <typename shape, enum tile_operand operand, int num_rows, int pieces>
SIMT_DEVICE void copy_rows(const struct tile_memory &memory, int stage, const unsigned char *from,
                           int stride, int left)
{
    const int at_a_time = shape::threads / pieces;
    static_assert(at_a_time % 8 == 0, "a thread's rows have one rest mod 8");
    int piece = simt_thread() % pieces, row = simt_thread() / pieces;
    int to = stage + piece_at<shape, operand>(row % 8, piece, row / 8 * 8);
    const int row_bytes = operand == TILE_X      ? static_cast<int>(TILE_K)
                          : operand == TILE_BASE ? shape::base_row
                                                 : shape::high_row;
    SIMT_UNROLL for (int first = 0; first < num_rows; first += at_a_time)
    {
        if (num_rows % at_a_time != 0 && first + row >= num_rows)
            break;
        int there = operand == TILE_X || first + row < left ? first + row : left - 1;
        simt_copy_async<16>(memory.bytes.at(to + first * row_bytes),
                            from + there * stride + 16 * piece);
    }
}

/* Of w: a thread a row; columns beyond K count as zero. Of x: a thread four rows of a group. */
template <typename shape>
SIMT_DEVICE void copy_scales(const struct a8_call &p, struct tile_place place,
                             const struct tile_memory &memory, int stage, int step)
{
    const int bytes = 2 * shape::w_groups, pieces = shape::tile_t / 4;
    int left = static_cast<int>(p.groups) - step * shape::w_groups;
    int valid = left <= 0 ? 0 : left < shape::w_groups ? 2 * left : bytes;
    int left_n = rows_left(p.columns, place.n);
    SIMT_UNROLL for (int first = 0; first < shape::tile_n + TILE_GROUPS * pieces;
                     first += shape::threads)
    {
        int i = first + simt_thread(), x = i - shape::tile_n;
        if (i < shape::tile_n) {
            int row = i < left_n ? i : left_n - 1;
            simt_copy_async_part<bytes>(
                memory.bytes.at(stage + shape::scales_at + bytes * i),
                p.scales.data + (place.n + row) * p.scales.stride + step * bytes, valid);
        } else if (x < TILE_GROUPS * pieces) {
            int group = step * TILE_GROUPS + x / pieces, row = x % pieces * 4;
            simt_copy_async<16>(memory.bytes.at(stage + shape::x_scales_at + 16 * x),
                                p.x_scales + group * p.pitch + place.t + row);
        }
    }
}

/* A step of TILE_K columns into the stage at `stage`. */
template <typename shape>
SIMT_DEVICE void copy_step(const struct a8_call &p, struct tile_place place,
                           const struct tile_memory &memory, int stage, int step)
{
    copy_rows<shape, TILE_X, shape::tile_t, TILE_K / 16>(
        memory, stage, p.codes + place.t * p.padded + step * TILE_K, static_cast<int>(p.padded),
        shape::tile_t);
    int left = rows_left(p.columns, place.n);
    copy_rows<shape, TILE_BASE, shape::tile_n, shape::base_row / 16>(
        memory, stage, p.base.data + place.n * p.base.stride + step * shape::base_row,
        static_cast<int>(p.base.stride), left);
    if (shape::high_row > 0)
        copy_rows<shape, TILE_HIGH, shape::tile_n, shape::high_row / 16 + (shape::high_row == 0)>(
            memory, stage, p.high.data + place.n * p.high.stride + step * shape::high_row,
            static_cast<int>(p.high.stride), left);
    copy_scales<shape>(p, place, memory, stage, step);
}

/* ---- products ------------------------------------------------------------------------------- */

/* Where this lane's codes of the warp's first row of w in a group of 64 columns are, and its
 * scales: in units of what is loaded, so that the rows after it are at constant distances. */
struct tile_lane {
    int pairs[2], high, scales;
};

template <typename shape> SIMT_DEVICE struct tile_lane lane_of(int stage, int group)
{
    int rest = simt_lane() / 4, q = simt_lane() % 4;
    int before = simt_warp() % shape::warps_n * shape::n * 8;
    struct tile_lane at = {{0, 0}, 0, 0};
    SIMT_UNROLL for (int slice = 0; slice < shape::parts; slice++)
    {
        int piece = shape::bits == 8 ? 4 * group + 2 * slice + q / 2 : 2 * group + q / 2;
        int byte = stage + piece_at<shape, TILE_BASE>(rest, piece, before) + q % 2 * 8;
        at.pairs[slice] = byte >> 3;
    }
    if (shape::bits == 5)
        at.high = (stage + piece_at<shape, TILE_HIGH>(rest, 0, before) + 8 * group + 2 * q) >> 1;
    if (shape::bits == 6)
        at.high = (stage + piece_at<shape, TILE_HIGH>(rest, group, before) + 4 * q) >> 2;
    at.scales = ((stage + shape::scales_at) >> 1) + shape::w_groups * (before + 2 * q) +
                shape::parts * group;
    return at;
}

/* What a warp needs of w for a group: codes [slice][half], and scales of this lane's two columns,
 * for each group of w. */
template <typename shape> struct tile_weights {
    uint32_t codes[shape::n][2][2];
    float scales[shape::n][shape::parts][2];
};

/* Codes of row 8 j of the warp's rows. */
template <typename shape>
SIMT_DEVICE void load_codes(const struct tile_memory &memory, const struct tile_lane &at, int j,
                            uint32_t (*codes)[2])
{
    uint64_t pair = memory.pairs.load(at.pairs[0] + j * shape::base_row);
    if (shape::bits == 8) {
        uint64_t other = memory.pairs.load(at.pairs[1] + j * shape::base_row);
        codes[0][0] = static_cast<uint32_t>(pair);
        codes[0][1] = static_cast<uint32_t>(pair >> 32);
        codes[1][0] = static_cast<uint32_t>(other);
        codes[1][1] = static_cast<uint32_t>(other >> 32);
        return;
    }
    const int bits = shape::bits == 8 ? 4 : shape::bits;
    uint32_t extra[2] = {0, 0};
    if (bits == 5) {
        uint32_t both = memory.halves.load(at.high + j * (4 * shape::high_row));
        extra[0] = both & 0xff;
        extra[1] = both >> 8;
    } else if (bits == 6) {
        uint32_t both = memory.words.load(at.high + j * (2 * shape::high_row));
        extra[0] = both & 0xffff;
        extra[1] = both >> 16;
    }
    a8_unpack<bits>(static_cast<uint32_t>(pair), extra[0], &codes[0][0], &codes[0][1]);
    a8_unpack<bits>(static_cast<uint32_t>(pair >> 32), extra[1], &codes[1][0], &codes[1][1]);
}

template <typename shape>
SIMT_DEVICE void load_weights(const struct tile_memory &memory, int stage, int group,
                              struct tile_weights<shape> &w)
{
    struct tile_lane at = lane_of<shape>(stage, group);
    SIMT_UNROLL for (int j = 0; j < shape::n; j++)
    {
        load_codes<shape>(memory, at, j, w.codes[j]);
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
            SIMT_UNROLL for (int c = 0; c < 2; c++) w.scales[j][part][c] =
            simt_f16_to_f32(memory.halves.load(at.scales + shape::w_groups * (8 * j + c) + part));
    }
}

/* The step of [LINEARA8-2] for this lane's four elements of a tile. */
SIMT_DEVICE void add_scaled(const int *d, const float *w_scales, const float *x_scales, float *sums)
{
    SIMT_UNROLL for (int c = 0; c < 4; c++) sums[c] =
        fmaf(a8_sum(d[c]), w_scales[c % 2] * x_scales[c / 2], sums[c]);
}

/* Adds the products of a group of 64 columns. */
template <typename shape>
SIMT_DEVICE void add_group(const struct tile_memory &memory, int stage, int group,
                           float (*sums)[shape::n][4])
{
    const int magic[4] = {A8_MAGIC, A8_MAGIC, A8_MAGIC, A8_MAGIC};
    int lane = simt_lane(), first = simt_warp() / shape::warps_n * shape::m * 16;
    int at_scales = ((stage + shape::x_scales_at) >> 2) + group * shape::tile_t + first + lane / 4;
    int at_codes[2];
    SIMT_UNROLL for (int slice = 0; slice < 2; slice++) at_codes[slice] =
        stage + piece_at<shape, TILE_X>(lane % 8, 4 * group + 2 * slice + lane / 16,
                                        first + lane / 8 % 2 * 8);
    struct tile_weights<shape> w;
    load_weights<shape>(memory, stage, group, w);
    SIMT_UNROLL for (int i = 0; i < shape::m; i++)
    {
        uint32_t a[2][4];
        SIMT_UNROLL for (int slice = 0; slice < 2; slice++)
            simt_ldmatrix<4>(a[slice], memory.bytes.at(at_codes[slice] + 16 * i * TILE_K));
        float x_scales[2] = {memory.floats.load(at_scales + 16 * i),
                             memory.floats.load(at_scales + 16 * i + 8)};
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
        {
            int d[shape::n][4]; /* independent mma follow each other: one takes 30 cycles */
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
                simt_mma_s8(d[j], a[part], w.codes[j][part], magic);
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
            {
                if (shape::parts == 1)
                    simt_mma_s8(d[j], a[1], w.codes[j][1], d[j]);
            }
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
                add_scaled(d[j], w.scales[j][part], x_scales, sums[i][j]);
        }
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

template <typename shape>
SIMT_DEVICE void tiled_finish(const struct a8_call &p, struct tile_place place,
                              const float (*sums)[shape::n][4])
{
    int lane = simt_lane();
    int64_t first_t = place.t + simt_warp() / shape::warps_n * shape::m * 16 + lane / 4;
    int64_t first_n = place.n + simt_warp() % shape::warps_n * shape::n * 8 + lane % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int half = 0; half < 2; half++)
            a8_store_pair(p, first_t + 16 * i + 8 * half, first_n + 8 * j, sums[i][j][2 * half],
                          sums[i][j][2 * half + 1]);
}

/* All threads have read a stage before the barrier of the next step, after which it takes copies
 * again. */
template <typename shape>
SIMT_KERNEL_RESIDENT(a8_tiled, shape::threads, shape::blocks)
(struct tiled_call p)
{
    const int total = shape::stages * shape::stage_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    SIMT_SHARED_DYNAMIC(float, floats, 0, total / 4);
    const struct tile_memory memory = {bytes, halves, words, pairs, floats};
    struct tile_place place = tile_place_of<shape>(p, simt_block_index().x);
    float sums[shape::m][shape::n][4];
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] = 0;

    int steps = static_cast<int>(p.call.padded / TILE_K);
    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < steps)
            copy_step<shape>(p.call, place, memory, i * shape::stage_bytes, i);
        simt_copy_commit();
    }
    int stage = 0;
    for (int step = 0; step < steps; step++) {
        simt_copy_wait<shape::stages - 2>();
        simt_sync_block();
        int before = (stage > 0 ? stage : total) - shape::stage_bytes;
        if (step + shape::stages - 1 < steps)
            copy_step<shape>(p.call, place, memory, before, step + shape::stages - 1);
        simt_copy_commit();
        SIMT_ROLLED for (int group = 0; group < TILE_GROUPS; group++)
            add_group<shape>(memory, stage, group, sums);
        stage = stage + shape::stage_bytes < total ? stage + shape::stage_bytes : 0;
    }
    tiled_finish<shape>(p.call, tile_place_of<shape>(p, simt_block_index().x), sums);
}

template <typename shape>
static assay_status launch_tiles(const struct a8_call &call, struct simt_launch *launch)
{
    struct tiled_call p = {call, (call.rows + shape::tile_t - 1) / shape::tile_t,
                           (call.columns + shape::tile_n - 1) / shape::tile_n};
    launch->grid = {static_cast<unsigned>(p.tiles_t * p.tiles_n), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = shape::stages * shape::stage_bytes;
    return SIMT_LAUNCH(launch, a8_tiled<shape>, p);
}

/* One block a multiprocessor, of as many warps as have registers enough. */
template <int bits> struct tiles {
    typedef tile_shape<bits, 128, 144, 2, 6, 4, 1> shape;
};

template <> struct tiles<8> {
    typedef tile_shape<8, 128, 128, 2, 4, 4, 1> shape;
};

static assay_status tiled_launch(const void *args, struct simt_launch *launch)
{
    struct a8_call p = a8_call_of(args, launch, A8_LARGE_TILE);
    if (p.rows == 0)
        return ASSAY_OK;
    if (!a8_is_regular(p))
        return a8_generic_launch(p, launch);
    assay_status status = a8_quantise_launch<A8_ROWS>(p, launch);
    if (status != ASSAY_OK)
        return status;
    return p.bits == 4   ? launch_tiles<tiles<4>::shape>(p, launch)
           : p.bits == 5 ? launch_tiles<tiles<5>::shape>(p, launch)
           : p.bits == 6 ? launch_tiles<tiles<6>::shape>(p, launch)
                         : launch_tiles<tiles<8>::shape>(p, launch);
}

DEVICE_ROUTE_RUN(linear_a8_route_tiled, &assay_op_linear_a8, tiled_launch)
