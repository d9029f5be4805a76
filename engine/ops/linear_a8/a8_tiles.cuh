/* SPDX-License-Identifier: MIT
 *
 * What the kernels of linear_a8 for many rows of x share: tiles of y, stages of 128 columns of both
 * operands in shared memory, and how they come there by a queue of asynchronous copies.
 *
 * Rows of x are 128 bytes of a stage, rows of w 64 or 128; their 16-byte pieces stand at places XOR
 * a part of the row, so that neither the copies nor the loads meet in a bank.
 */
#ifndef ASSAY_A8_TILES_CUH
#define ASSAY_A8_TILES_CUH

#include "ops/linear_a8/a8_generic.cuh"

enum { TILE_K = 128, TILE_GROUPS = TILE_K / A8_GROUP, TILE_HEIGHT = 8 };
/* Of stages: what rows of x need as an operand of warpgroups in shared memory. */
enum { TILE_ALIGNMENT = 1024 };

struct tiled_call {
    struct a8_call call;
    int64_t tiles_t, tiles_n;
};

/* A stage of a tile of y: byte counts, and where each operand starts. */
template <int bits_, int tile_t_, int tile_n_, int threads_, int stages_> struct tile_layout {
    static const int bits = bits_, tile_t = tile_t_, tile_n = tile_n_, threads = threads_;
    static const int stages = stages_;
    static const int parts = bits == 8 ? 2 : 1; /* groups of w in one of x */
    static const int w_groups = TILE_GROUPS * parts;
    static const int base_row = bits == 8 ? TILE_K : TILE_K / 2;
    static const int high_row = bits == 5 ? TILE_K / 8 : bits == 6 ? TILE_K / 4 : 0;
    static_assert(A8_LARGE_TILE % tile_t == 0, "x has whole tiles");
    static const int base_at = tile_t * TILE_K, high_at = base_at + tile_n * base_row;
    static const int scales_at = high_at + tile_n * high_row;
    static const int x_scales_at = scales_at + tile_n * w_groups * 2;
    static const int stage_end = x_scales_at + TILE_GROUPS * tile_t * 4;
    static const int stage_bytes =
        (stage_end + TILE_ALIGNMENT - 1) / TILE_ALIGNMENT * TILE_ALIGNMENT;
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

/* ---- codes ---------------------------------------------------------------------------------- */

/* Where this lane's codes of row lane / 4 from row `before` of w on in a group of 64 columns are,
 * and the scales of row 2 (lane % 4) from there: in units of what is loaded, so that the rows after
 * it are at constant distances. */
struct tile_lane {
    int pairs[2], high, scales;
};

template <typename shape> SIMT_DEVICE struct tile_lane lane_of(int stage, int group, int before)
{
    int rest = simt_lane() / 4, q = simt_lane() % 4;
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

/* Codes of the row 8 j behind. */
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

#endif
