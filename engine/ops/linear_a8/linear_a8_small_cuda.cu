/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for up to 32 rows of x, in integer tensor cores: w is the 16-row operand, x the
 * 8-column one. A warp takes 16 rows of w, or 32, and all of x and K: 256 columns of both at a time
 * come into its own part of shared memory by a queue of asynchronous copies. No warp waits for
 * another.
 *
 * The 16-byte pieces of row r of a stage stand at places XOR 2 (r % 4), so that neither the copies
 * nor the loads meet in a bank.
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. Moves w once through device memory, and x once
 * a warp through L2. Limited by how long a warp takes from copy to sum: with N = 17408 there are 8
 * of them on a multiprocessor of an H200.
 * sass: word stores, as the fragments lie.
 */
#include "ops/linear_a8/a8_generic.cuh"

enum { STEP = 256, STEP_GROUPS = STEP / A8_GROUP, LANES = 32 };
enum { FRAGMENTS = 512 /* bytes of a group of 8 rows of x */ };

/* w_tiles: of 16 rows of w. x_tiles: of 8 rows of x. Byte counts are of a stage. */
template <int bits_, int w_tiles_, int x_tiles_, int stages_> struct small_shape {
    static const int bits = bits_, w_tiles = w_tiles_, x_tiles = x_tiles_, stages = stages_;
    static const int rows = 16 * w_tiles;
    static const int parts = bits == 8 ? 2 : 1; /* groups of w in one of x */
    static const int base_row = bits == 8 ? STEP : STEP / 2;
    static const int high_row = bits == 5 ? STEP / 8 : bits == 6 ? STEP / 4 : 0;
    static const int scales_row = 2 * parts * STEP_GROUPS;
    static const int high_at = rows * base_row, scales_at = high_at + rows * high_row;
    static const int x_at = scales_at + rows * scales_row;
    static const int x_scales_at = x_at + x_tiles * STEP_GROUPS * FRAGMENTS;
    static const int stage_bytes = x_scales_at + x_tiles * STEP_GROUPS * 8 * 4;
    static_assert(stage_bytes % 16 == 0, "stages follow each other");
};

/* One memory, seen as elements of each size. */
struct small_memory {
    struct simt_shared<unsigned char> bytes;
    struct simt_shared<uint16_t> halves;
    struct simt_shared<uint32_t> words;
    struct simt_shared<uint64_t> pairs;
    struct simt_shared<float> floats;
};

template <typename shape> SIMT_DEVICE int base_piece(int row, int piece)
{
    return row * shape::base_row + 16 * (piece ^ 2 * (row % 4));
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Rows of a plane from column step * STEP on, row_bytes each, of which `left` bytes are there. */
template <typename shape, int row_bytes, bool is_base>
SIMT_DEVICE void copy_plane(const struct small_memory &memory, int stage, const unsigned char *from,
                            int stride, int rows_left, int left)
{
    const int pieces = row_bytes / 16;
    int piece = simt_lane() % pieces;
    SIMT_UNROLL for (int first = 0; first < shape::rows; first += LANES / pieces)
    {
        int row = first + simt_lane() / pieces;
        int to =
            is_base ? base_piece<shape>(row, piece) : shape::high_at + row * row_bytes + 16 * piece;
        bool is_there = row < rows_left && 16 * piece < left;
        simt_copy_async_part<16>(memory.bytes.at(stage + to), from + row * stride + 16 * piece,
                                 is_there ? 16 : 0);
    }
}

/* A lane copies the fragments that it will use, and some of the scales. Groups behind the last one
 * are zeros; behind the last tile that one is taken again, what it gives is not stored. */
template <typename shape>
SIMT_DEVICE void copy_x(const struct a8_call &p, const struct small_memory &memory, int stage,
                        int step)
{
    int groups = static_cast<int>(p.padded / A8_GROUP), tiles = static_cast<int>(p.pitch / 8);
    int lane = simt_lane(), first = step * STEP_GROUPS;
    SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++)
        SIMT_UNROLL for (int i = 0; i < STEP_GROUPS; i++)
    {
        int tile = j < tiles ? j : tiles - 1;
        simt_copy_async_part<16>(
            memory.bytes.at(stage + shape::x_at + (j * STEP_GROUPS + i) * FRAGMENTS + 16 * lane),
            p.codes + (tile * groups + first + i) * FRAGMENTS + 16 * lane,
            first + i < groups ? 16 : 0);
    }
    const int pieces = 2 * shape::x_tiles; /* of four scales in a group */
    if (lane < STEP_GROUPS * pieces) {
        int group = first + lane / pieces, row = lane % pieces * 4;
        row = row < p.pitch ? row : static_cast<int>(p.pitch) - 4;
        simt_copy_async_part<16>(memory.bytes.at(stage + shape::x_scales_at + 16 * lane),
                                 p.x_scales + group * static_cast<int>(p.pitch) + row,
                                 group < groups ? 16 : 0);
    }
}

/* Scales beyond column K count as zero. */
template <typename shape>
SIMT_DEVICE void copy_step(const struct a8_call &p, int64_t first_row,
                           const struct small_memory &memory, int stage, int step)
{
    int64_t most = shape::rows, left = p.columns - first_row;
    int rows_left = static_cast<int>(left < most ? left : most);
    int columns_left = static_cast<int>(p.padded) - step * STEP;
    copy_plane<shape, shape::base_row, true>(
        memory, stage, p.base.data + first_row * p.base.stride + step * shape::base_row,
        static_cast<int>(p.base.stride), rows_left, columns_left * shape::base_row / STEP);
    if (shape::high_row > 0)
        copy_plane<shape, shape::high_row + 16 * (shape::high_row == 0), false>(
            memory, stage, p.high.data + first_row * p.high.stride + step * shape::high_row,
            static_cast<int>(p.high.stride), rows_left, columns_left * shape::high_row / STEP);
    copy_x<shape>(p, memory, stage, step);
    int valid = 2 * (static_cast<int>(p.groups) - step * shape::parts * STEP_GROUPS);
    const int half_row = shape::scales_row / 2; /* alignment is that of 128 columns */
    SIMT_UNROLL for (int first = 0; first < 2 * shape::rows; first += LANES)
    {
        int row = (first + simt_lane()) / 2, half = simt_lane() % 2;
        int here = valid - half * half_row;
        simt_copy_async_part<half_row>(
            memory.bytes.at(stage + shape::scales_at + row * shape::scales_row + half * half_row),
            p.scales.data + (first_row + row) * p.scales.stride + step * shape::scales_row +
                half * half_row,
            row < rows_left && here > 0 ? here < half_row ? here : half_row : 0);
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* This lane's codes of row `row` of w in a group of 64 columns: [slice][half]. */
template <typename shape>
SIMT_DEVICE void load_w(const struct small_memory &memory, int stage, int row, int group,
                        uint32_t (*codes)[2])
{
    int q = simt_lane() % 4;
    if (shape::bits == 8) {
        SIMT_UNROLL for (int slice = 0; slice < 2; slice++)
        {
            int at = base_piece<shape>(row, 4 * group + 2 * slice + q / 2) + q % 2 * 8;
            uint64_t pair = memory.pairs.load((stage + at) / 8);
            codes[slice][0] = static_cast<uint32_t>(pair);
            codes[slice][1] = static_cast<uint32_t>(pair >> 32);
        }
        return;
    }
    const int bits = shape::bits == 8 ? 4 : shape::bits;
    int at = base_piece<shape>(row, 2 * group + q / 2) + q % 2 * 8;
    uint64_t pair = memory.pairs.load((stage + at) / 8);
    uint32_t extra[2] = {0, 0};
    int beside = stage + shape::high_at + row * shape::high_row;
    if (bits == 5) {
        uint32_t both = memory.halves.load((beside + 8 * group + 2 * q) / 2);
        extra[0] = both & 0xff;
        extra[1] = both >> 8;
    } else if (bits == 6) {
        uint32_t both = memory.words.load((beside + 16 * group + 4 * q) / 4);
        extra[0] = both & 0xffff;
        extra[1] = both >> 16;
    }
    a8_unpack<bits>(static_cast<uint32_t>(pair), extra[0], &codes[0][0], &codes[0][1]);
    a8_unpack<bits>(static_cast<uint32_t>(pair >> 32), extra[1], &codes[1][0], &codes[1][1]);
}

/* Adds the products of group `group` of the stage. */
template <typename shape>
SIMT_DEVICE void add_group(const struct small_memory &memory, int stage, int group,
                           float (*sums)[shape::x_tiles][4])
{
    const int magic[4] = {A8_MAGIC, A8_MAGIC, A8_MAGIC, A8_MAGIC};
    struct simt_words x[shape::x_tiles]; /* [slice][half] */
    float x_scales[shape::x_tiles][2];
    int first = (stage + shape::x_scales_at) / 4 + group * (8 * shape::x_tiles);
    SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++)
    {
        x[j] = memory.bytes.load16(stage + shape::x_at + (j * STEP_GROUPS + group) * FRAGMENTS +
                                   16 * simt_lane());
        SIMT_UNROLL for (int c = 0; c < 2; c++) x_scales[j][c] =
            memory.floats.load(first + 8 * j + simt_lane() % 4 * 2 + c);
    }
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
    {
        uint32_t low[2][2], high[2][2]; /* rows of the tile's halves */
        int row = 16 * i + simt_lane() / 4;
        load_w<shape>(memory, stage, row, group, low);
        load_w<shape>(memory, stage, row + 8, group, high);
        uint32_t a[2][4];
        SIMT_UNROLL for (int slice = 0; slice < 2; slice++)
            SIMT_UNROLL for (int half = 0; half < 2; half++)
        {
            a[slice][2 * half] = low[slice][half];
            a[slice][2 * half + 1] = high[slice][half];
        }
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
        {
            int at = (stage + shape::scales_at) / 2 + shape::parts * group + part;
            float scales[2] = {
                simt_f16_to_f32(memory.halves.load(at + row * (shape::scales_row / 2))),
                simt_f16_to_f32(memory.halves.load(at + (row + 8) * (shape::scales_row / 2)))};
            SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++)
            {
                int d[4];
                simt_mma_s8(d, a[part], x[j].word + 2 * part, magic);
                if (shape::parts == 1)
                    simt_mma_s8(d, a[1], x[j].word + 2, d);
                SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] =
                    fmaf(a8_sum(d[c]), scales[c / 2] * x_scales[j][c % 2], sums[i][j][c]);
            }
        }
    }
}

template <typename shape>
SIMT_DEVICE void small_finish(const struct a8_call &p, int64_t first_row,
                              const float (*sums)[shape::x_tiles][4])
{
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
        SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++) SIMT_UNROLL for (int c = 0; c < 4; c++)
    {
        int64_t column = first_row + 16 * i + simt_lane() / 4 + c / 2 * 8;
        int64_t row = 8 * j + simt_lane() % 4 * 2 + c % 2;
        if (row < p.rows && column < p.columns)
            a8_store(p, row, column, sums[i][j][c]);
    }
}

template <typename shape> SIMT_KERNEL(a8_small)(struct a8_call p)
{
    const int total = shape::stages * shape::stage_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    SIMT_SHARED_DYNAMIC(float, floats, 0, total / 4);
    const struct small_memory memory = {bytes, halves, words, pairs, floats};
    int64_t first_row = static_cast<int64_t>(simt_block_index().x) * shape::rows;
    float sums[shape::w_tiles][shape::x_tiles][4];
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
        SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++) SIMT_UNROLL for (int c = 0; c < 4; c++)
            sums[i][j][c] = 0;

    int steps = static_cast<int>((p.padded + STEP - 1) / STEP);
    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < steps)
            copy_step<shape>(p, first_row, memory, i * shape::stage_bytes, i);
        simt_copy_commit();
    }
    int stage = 0, free_stage = (shape::stages - 1) * shape::stage_bytes;
    for (int step = 0; step < steps; step++) {
        simt_copy_wait<shape::stages - 2>();
        simt_sync_warp(SIMT_ALL_LANES);
        if (step + shape::stages - 1 < steps)
            copy_step<shape>(p, first_row, memory, free_stage, step + shape::stages - 1);
        simt_copy_commit();
        SIMT_UNROLL for (int group = 0; group < STEP_GROUPS; group++)
            add_group<shape>(memory, stage, group, sums);
        free_stage = stage;
        stage = stage + shape::stage_bytes < total ? stage + shape::stage_bytes : 0;
    }
    small_finish<shape>(p, first_row, sums);
}

template <typename shape>
static assay_status launch_shape(const struct a8_call &p, struct simt_launch *launch)
{
    launch->grid = {static_cast<unsigned>((p.columns + shape::rows - 1) / shape::rows), 1, 1};
    launch->block = {LANES, 1, 1};
    launch->shared_bytes = shape::stages * shape::stage_bytes;
    return SIMT_LAUNCH(launch, a8_small<shape>, p);
}

template <int bits>
static assay_status launch_bits(const struct a8_call &p, struct simt_launch *launch)
{
    return p.rows <= 8    ? launch_shape<small_shape<bits, 1, 1, 3>>(p, launch)
           : p.rows <= 16 ? launch_shape<small_shape<bits, 1, 2, 3>>(p, launch)
                          : launch_shape<small_shape<bits, 1, 4, 2>>(p, launch);
}

static assay_status small_launch(const void *args, struct simt_launch *launch)
{
    struct a8_call p = a8_call_of(args, launch, A8_SMALL_TILE);
    if (p.rows == 0)
        return ASSAY_OK;
    if (!a8_is_regular(p))
        return a8_generic_launch(p, launch);
    assay_status status = a8_quantise_launch<A8_FRAGMENTS>(p, launch);
    if (status != ASSAY_OK)
        return status;
    return p.bits == 4   ? launch_bits<4>(p, launch)
           : p.bits == 5 ? launch_bits<5>(p, launch)
           : p.bits == 6 ? launch_bits<6>(p, launch)
                         : launch_bits<8>(p, launch);
}

DEVICE_ROUTE_RUN(linear_a8_route_small, &assay_op_linear_a8, small_launch)
