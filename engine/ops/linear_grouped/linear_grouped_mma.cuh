/* SPDX-License-Identifier: MIT
 *
 * linear_grouped in tensor cores: what the kernels for few and for many rows of x share.
 *
 * w is the 16-row operand of mma, x the 8-column one. Codes are integers of at most 8 bits and so
 * exact in bf16; the products of one group are summed by mma, and its scale is applied to that sum:
 * one FMA a group and element of y. Weights are never rounded.
 *
 * Columns come in units of 64, four slices of 16 for mma. Which columns make a slice does not
 * matter as long as both operands agree, so a lane takes the columns whose codes lie side by side:
 * 16 of each of its rows (q8g32: 8 of each of the unit's two groups), and their halves are unpacked
 * two at a time. x is brought into that order once, beforehand, by linear_grouped_order.
 */
#ifndef ASSAY_LINEAR_GROUPED_MMA_CUH
#define ASSAY_LINEAR_GROUPED_MMA_CUH

#include "ops/linear/linear_split.cuh"
#include "ops/linear_grouped/grouped_steps.cuh"
#include "ops/linear_grouped/linear_grouped_routes.h"

enum {
    MMA_LANES = 32,
    MMA_UNIT = LINEAR_GROUPED_UNIT,
    MMA_FRAGMENT = 256, /* words of 8 rows of x in a unit and plane, of all lanes */
    MMA_SHARED = 227 * 1024
};

struct mma_call {
    struct row_view x, residual, y;
    struct grouped_view w;
    const unsigned char *ordered; /* x in order */
    int64_t rows, columns, inner; /* T, N, K */
    int64_t x_tiles;              /* of 8 rows, padding included */
    int64_t tiles_t;              /* blocks along T */
    int units;                    /* of K */
    int block_rows;               /* rows of w that a block takes */
    int num_planes;
    uint32_t magic; /* bf16 128, twice. A parameter: the compiler would take two instructions for
                     * two constants in (w & 15) | 128, one where this is in a register */
    bool is_whole;  /* planes of w are aligned for copies */
    bool has_residual;
    const int *rows_at; /* the row of x at a place of `ordered`, times `slots`; -1: none. NULL: the
                         * places are the rows */
    int slots;
};

/* ---- x -------------------------------------------------------------------------------------- */

/* The row of x at a place of `ordered`; -1: there is none. */
SIMT_DEVICE int64_t mma_row_at(const struct mma_call &p, int64_t place)
{
    if (place >= p.rows)
        return -1;
    if (p.rows_at == nullptr)
        return place;
    int at = simt_load(p.rows_at + place);
    return at < 0 ? -1 : at / p.slots;
}

/* The 16 columns of a row that a lane multiplies of a unit, in two bf16 parts; zeros where there is
 * no row and beyond K. constant: nothing in the call writes x. */
template <int bits, bool constant = true>
SIMT_DEVICE void mma_split_quad(const struct mma_call &p, int64_t row, int64_t unit, int lane,
                                uint16_t *high, uint16_t *low)
{
    float x[GROUPED_QUAD] = {};
    SIMT_UNROLL for (int half = 0; half < 2; half++)
    {
        int k = bits == 8 ? 32 * half + lane % 4 * 8 : lane % 4 * GROUPED_QUAD + 8 * half;
        if (row >= 0)
            row_load_chunk<constant>(p.x, linear_row(p.x, row), unit * MMA_UNIT + k, p.inner,
                                     x + 8 * half);
    }
    SIMT_UNROLL for (int j = 0; j < GROUPED_QUAD; j++) linear_split_value(x[j], &high[j], &low[j]);
}

/* x as [unit][tile of 8 rows][plane][slice / 2][lane][4 words]: word 2 (slice % 2) + r is register
 * r of mma. A thread makes a lane's words of a unit: 16 columns of one row. */
template <int bits, bool constant>
SIMT_KERNEL(linear_grouped_order)
(struct mma_call p, unsigned char *to)
{
    int64_t items = p.units * p.x_tiles * MMA_LANES;
    int64_t i = static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (; i < items; i += step) {
        int lane = static_cast<int>(i % MMA_LANES);
        int64_t tile = i / MMA_LANES % p.x_tiles, unit = i / MMA_LANES / p.x_tiles;
        uint16_t high[GROUPED_QUAD], low[GROUPED_QUAD];
        mma_split_quad<bits, constant>(p, mma_row_at(p, 8 * tile + lane / 4), unit, lane, high,
                                       low);
        SIMT_UNROLL for (int half = 0; half < 2; half++)
        {
            struct simt_words words[2];
            SIMT_UNROLL for (int j = 0; j < 4; j++)
            {
                int first = grouped_low_column<bits>(half, j),
                    second = grouped_high_column<bits>(half, j);
                words[0].word[j] = high[first] | static_cast<uint32_t>(high[second]) << 16;
                words[1].word[j] = low[first] | static_cast<uint32_t>(low[second]) << 16;
            }
            int64_t at = (unit * p.x_tiles + tile) * p.num_planes * MMA_FRAGMENT +
                         half * MMA_LANES * 4 + lane * 4;
            if (p.num_planes == 2)
                simt_store16(to + 4 * at, words[1]);
            simt_store16(to + 4 * (at + (p.num_planes - 1) * MMA_FRAGMENT), words[0]);
        }
    }
}

/* What a launch knows before shapes of blocks; x_tiles is rounded up to a multiple of `multiple`.
 */
static inline struct mma_call mma_call_of(const struct assay_linear_grouped_args *a, int multiple)
{
    struct mma_call p = {row_view_of(&a->x),
                         row_view_of(&a->residual),
                         row_view_of(&a->y),
                         grouped_view_of(&a->w),
                         nullptr,
                         a->x.extent[0],
                         a->w.rows,
                         a->w.columns,
                         0,
                         0,
                         0,
                         0,
                         0,
                         0x43004300u,
                         false,
                         a->residual.data != NULL,
                         nullptr,
                         1};
    const struct grouped_view &w = p.w;
    uintptr_t high_bytes = w.bits == 5 ? 8 : w.bits == 6 ? 16 : 1;
    uintptr_t base = reinterpret_cast<uintptr_t>(w.base) | static_cast<uintptr_t>(w.base_stride);
    uintptr_t high = reinterpret_cast<uintptr_t>(w.high) | static_cast<uintptr_t>(w.high_stride);
    uintptr_t scales =
        reinterpret_cast<uintptr_t>(w.scales) | static_cast<uintptr_t>(w.scales_stride);
    p.is_whole = base % 16 == 0 && high % high_bytes == 0 && scales % 4 == 0;
    p.units = static_cast<int>((p.inner + MMA_UNIT - 1) / MMA_UNIT);
    p.x_tiles = linear_grouped_x_tiles(p.rows, multiple);
    p.num_planes = p.x.is_bf16 ? 1 : 2;
    return p;
}

template <bool constant = true>
static inline assay_status mma_order_x(struct mma_call *p, struct simt_launch *launch)
{
    enum { THREADS = 256, MAX_BLOCKS = 4096 };
    int64_t most = MAX_BLOCKS, items = p->units * p->x_tiles * MMA_LANES;
    int64_t blocks = (items + THREADS - 1) / THREADS;
    unsigned char *memory = static_cast<unsigned char *>(launch->workspace);
    p->ordered = memory;
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    launch->shared_bytes = 0;
    if (p->w.bits == 8)
        return SIMT_LAUNCH(launch, (linear_grouped_order<8, constant>), *p, memory);
    if (p->w.bits == 4)
        return SIMT_LAUNCH(launch, (linear_grouped_order<4, constant>), *p, memory);
    return SIMT_LAUNCH(launch, (linear_grouped_order<5, constant>), *p, memory); /* and of q6g64 */
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* A block takes 16 w_tiles warps_n rows of w and 8 x_tiles warps_t rows of x. warps_k warps have
 * the same rows and other units; a step has step_units units. The queue has as many steps as there
 * is room for, at most 4. */
template <int bits_, int planes_, int w_tiles_, int warps_n_, int x_tiles_, int warps_t_,
          int warps_k_, int step_units_>
struct mma_shape {
    static const int bits = bits_, planes = planes_, w_tiles = w_tiles_, x_tiles = x_tiles_;
    static const int warps_n = warps_n_, warps_t = warps_t_, warps_k = warps_k_;
    static const int step_units = step_units_;
    static const int warps = warps_n * warps_t * warps_k, threads = warps * MMA_LANES;
    static const int rows = 16 * w_tiles * warps_n, block_x_tiles = x_tiles * warps_t;
    static const int groups = bits == 8 ? 2 : 1; /* of a unit */
    /* 16-byte pieces of a row of the base plane, words of the high plane and of scales in a step */
    static const int pieces = 2 * groups * step_units;
    static const int unit_high = bits == 5 ? 2 : bits == 6 ? 4 : 0, high = unit_high * step_units;
    static const int scales = (groups * step_units + 1) / 2;
    static const int high_at = rows * pieces * 4, scales_at = high_at + rows * high;
    static const int x_at = (scales_at + rows * scales + 3) / 4 * 4;
    static const int unit_x = block_x_tiles * planes * MMA_FRAGMENT; /* words */
    static const int stage_words = x_at + step_units * unit_x;
    static const int room = MMA_SHARED / 4 / stage_words, stages = room < 4 ? room : 4;
    static const int sums = w_tiles * x_tiles * 4; /* of a lane */
    static_assert(stages >= 2, "a step comes while another is taken");
    static_assert(warps_k == 1 || stages * stage_words >= warps * sums * MMA_LANES, "sums fit");
    static_assert(step_units % warps_k == 0, "warps share a step evenly");
};

/* The 16-byte piece of a row of the base plane stands at another place in each of the rows whose
 * lanes read at the same time. */
template <typename shape> SIMT_DEVICE int mma_turn(int row)
{
    const int rows = shape::pieces >= 8 ? 1 : 8 / shape::pieces; /* in 128 bytes */
    const int turns = shape::pieces >= 8 ? 4 : shape::pieces / 2;
    return 2 * (row / rows % turns);
}

/* ---- copies --------------------------------------------------------------------------------- */

template <int bytes>
SIMT_DEVICE void mma_copy(struct simt_shared<uint32_t> to, int at, const unsigned char *from,
                          bool is_there, bool is_whole)
{
    if (is_whole)
        simt_copy_async_part<bytes>(to.at(at), from, is_there ? bytes : 0);
    else
        SIMT_UNROLL for (int i = 0; i < bytes / 4; i++)
            to.store(at + i, is_there ? grouped_load(from + 4 * i, 4, false) : 0);
}

/* Where a thread's copies of w come from, at column 0: its first row and piece of each plane. */
struct mma_source {
    const unsigned char *base, *high, *scales;
    int left;       /* rows of w that the block has */
    int first_tile; /* of x */
};

template <typename shape>
SIMT_DEVICE struct mma_source mma_source_of(const struct mma_call &p, int64_t first_row, int left,
                                            int first_tile)
{
    int i = simt_thread(), high_row = i / shape::step_units, scales_row = i / shape::scales;
    const int high_bytes = 4 * shape::unit_high;
    return {p.w.base + (first_row + i / shape::pieces) * p.w.base_stride + i % shape::pieces * 16,
            p.w.high + (first_row + high_row) * p.w.high_stride +
                i % shape::step_units * high_bytes,
            p.w.scales + (first_row + scales_row) * p.w.scales_stride + i % shape::scales * 4, left,
            first_tile};
}

template <typename shape>
SIMT_DEVICE void mma_stage_x(const struct mma_call &p, const struct mma_source &from,
                             struct simt_shared<uint32_t> stage, int unit)
{
    const int unit_pieces = shape::unit_x / 4, items = shape::step_units * unit_pieces;
    const int tile_bytes = shape::planes * MMA_FRAGMENT * 4;
    int64_t unit_bytes = p.x_tiles * tile_bytes;
    const unsigned char *x = p.ordered + unit * unit_bytes + int64_t{from.first_tile} * tile_bytes;
    SIMT_UNROLL for (int j = 0; j * shape::threads < items; j++)
    {
        int i = simt_thread() + j * shape::threads, later = i / unit_pieces;
        if (i < items && unit + later < p.units)
            simt_copy_async<16>(stage.at(shape::x_at + 4 * i),
                                x + later * unit_bytes + i % unit_pieces * 16);
    }
}

/* Copy j of a thread in a step is `threads` items behind copy j - 1: the same piece of a later row.
 * The step from `unit` on into its stage, rows of w that are not there as zeros. Units that are not
 * there are left out, nobody reads them. */
template <typename shape>
SIMT_DEVICE void mma_stage(const struct mma_call &p, const struct mma_source &from,
                           struct simt_shared<uint32_t> stage, int unit)
{
    int thread = simt_thread(), units = p.units - unit;
    const int base_rows = shape::threads / shape::pieces, base_items = shape::rows / base_rows;
    static_assert(base_rows * shape::pieces == shape::threads &&
                      base_items * base_rows == shape::rows && base_rows % 4 == 0,
                  "threads share the pieces evenly, and mma_turn is the same");
    int row = thread / shape::pieces, piece = thread % shape::pieces;
    int at = 4 * (row * shape::pieces + (piece ^ mma_turn<shape>(row)));
    const unsigned char *base = from.base + int64_t{unit} * 32 * shape::groups;
    if (piece / (2 * shape::groups) < units)
        SIMT_UNROLL for (int j = 0; j < base_items; j++, base += base_rows * p.w.base_stride)
            mma_copy<16>(stage, at + j * shape::threads * 4, base, row + j * base_rows < from.left,
                         p.is_whole);
    if (shape::unit_high > 0 && thread % shape::step_units < units) {
        const int bytes = shape::unit_high > 0 ? 4 * shape::unit_high : 4,
                  items = shape::rows * shape::step_units;
        const int rows = shape::threads / shape::step_units;
        const unsigned char *high = from.high + int64_t{unit} * bytes;
        SIMT_UNROLL for (int j = 0; j * shape::threads < items; j++, high += rows * p.w.high_stride)
        {
            int i = thread + j * shape::threads;
            if (items % shape::threads == 0 || i < items)
                mma_copy<bytes>(stage, shape::high_at + i * shape::unit_high, high,
                                i / shape::step_units < from.left, p.is_whole);
        }
    }
    if (2 * (thread % shape::scales) < units * shape::groups) {
        const int items = shape::rows * shape::scales, rows = shape::threads / shape::scales;
        const unsigned char *scales = from.scales + int64_t{unit} * shape::groups / 2 * 4;
        SIMT_UNROLL for (int j = 0; j * shape::threads < items;
                         j++, scales += rows * p.w.scales_stride)
        {
            int i = thread + j * shape::threads;
            if (items % shape::threads == 0 || i < items)
                mma_copy<4>(stage, shape::scales_at + i, scales, i / shape::scales < from.left,
                            p.is_whole);
        }
    }
    mma_stage_x<shape>(p, from, stage, unit);
}

/* The same bytes as elements of two sizes. */
struct mma_memory {
    struct simt_shared<uint32_t> words;
    struct simt_shared<uint64_t> doubles;
};

/* A row's pairs of a unit: register r of slice s of mma is pairs[2 s + r]. The row is 8 `eighth`
 * from `row`, where mma_turn is the same. */
template <typename shape>
SIMT_DEVICE void mma_row_pairs(uint32_t magic, const struct mma_memory &stage, int row, int eighth,
                               int unit, uint32_t *pairs)
{
    int t = simt_lane() % 4;
    SIMT_UNROLL for (int group = 0; group < shape::groups; group++)
    {
        int piece = 2 * (unit * shape::groups + group) + t / 2;
        int at = 2 * (row * shape::pieces + (piece ^ mma_turn<shape>(row))) + t % 2;
        uint64_t base = stage.doubles.load(at + eighth * 16 * shape::pieces);
        uint32_t words[2] = {static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32)};
        uint32_t high = 0;
        if (shape::bits == 5)
            high = stage.words.load(shape::high_at + row * shape::high + unit * 2 + t / 2 +
                                    eighth * 8 * shape::high) >>
                       t % 2 * 16 &
                   0xffff;
        if (shape::bits == 6)
            high = stage.words.load(shape::high_at + row * shape::high + unit * 4 + t +
                                    eighth * 8 * shape::high);
        grouped_pairs<shape::bits>(magic, words, high, pairs + 4 * group);
    }
}

/* The word of the scale of a row's group: zero where it is one of padding only. */
template <typename shape>
SIMT_DEVICE uint32_t mma_scale(const struct mma_call &p, const struct mma_memory &stage, int row,
                               int first_unit, int unit, int group)
{
    int i = first_unit * shape::groups % 2 + unit * shape::groups + group;
    uint32_t pair = stage.words.load(shape::scales_at + row * shape::scales + i / 2);
    if (shape::groups == 2 && (first_unit + unit) * int64_t{MMA_UNIT} + 32 * group >= p.inner)
        return 0;
    return pair >> i % 2 * 16 & 0xffff;
}

/* ---- products ------------------------------------------------------------------------------- */

/* Adds the products of a unit to this warp's sums: of each group by mma, low plane first, then by
 * FMA with the scale. */
template <typename shape>
SIMT_DEVICE void mma_unit(const struct mma_call &p, const struct mma_memory &stage, int first_unit,
                          int unit, float (*sums)[shape::x_tiles][4])
{
    const int slices = 4 / shape::groups;
    int row = simt_warp() % shape::warps_n * shape::w_tiles * 16 + simt_lane() / 4;
    int x_first = simt_warp() / shape::warps_n % shape::warps_t * shape::x_tiles;
    uint32_t codes[shape::w_tiles][2][8];
    uint32_t scales[shape::w_tiles][shape::groups]; /* of two rows */
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
    {
        SIMT_UNROLL for (int h = 0; h < 2; h++)
            mma_row_pairs<shape>(p.magic, stage, row, 2 * i + h, unit, codes[i][h]);
        SIMT_UNROLL for (int g = 0; g < shape::groups; g++) scales[i][g] =
            mma_scale<shape>(p, stage, row + 16 * i, first_unit, unit, g) |
            mma_scale<shape>(p, stage, row + 16 * i + 8, first_unit, unit, g) << 16;
    }
    int x_at = shape::x_at + unit * shape::unit_x + x_first * shape::planes * MMA_FRAGMENT +
               simt_lane() * 4;
    struct simt_words x; /* two slices */
    SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++)
        SIMT_UNROLL for (int g = 0; g < shape::groups; g++)
    {
        float partial[shape::w_tiles][4];
        SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++) SIMT_UNROLL for (int c = 0; c < 4; c++)
            partial[i][c] = 0;
        SIMT_ROLLED for (int plane = 0; plane < shape::planes; plane++)
            SIMT_UNROLL for (int s = 0; s < slices; s++)
        {
            int slice = g * slices + s;
            if (slice % 2 == 0)
                x = stage.words.load16(x_at + (j * shape::planes + plane) * MMA_FRAGMENT +
                                       slice / 2 * MMA_LANES * 4);
            SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
            {
                uint32_t a[4] = {codes[i][0][2 * slice], codes[i][1][2 * slice],
                                 codes[i][0][2 * slice + 1], codes[i][1][2 * slice + 1]};
                simt_mma_bf16(partial[i], a, x.word + slice % 2 * 2, partial[i]);
            }
        }
        SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++) SIMT_UNROLL for (int c = 0; c < 4; c++)
            sums[i][j][c] =
                fmaf(partial[i][c],
                     simt_f16_to_f32(static_cast<uint16_t>(scales[i][g] >> c / 2 * 16 & 0xffff)),
                     sums[i][j][c]);
    }
}

/* One rounding into y; y may be the residual. */
SIMT_DEVICE void mma_store(const struct mma_call &p, int64_t t, int64_t n, float sum)
{
    if (p.has_residual)
        sum += simt_load(reinterpret_cast<const float *>(linear_row(p.residual, t)) + n);
    linear_store(p.y, t, n, sum);
}

/* Element c of a lane's sum of tiles (i, j) of the block: its row of w there, its row of x. */
SIMT_DEVICE int mma_row_of(int w_tile, int lane, int c)
{
    return w_tile * 16 + lane / 4 + c / 2 * 8;
}

SIMT_DEVICE int64_t mma_x_row_of(int64_t x_tile, int lane, int c)
{
    return x_tile * 8 + lane % 4 * 2 + c % 2;
}

/* Of a warp that shares its rows with no other. */
template <typename shape>
SIMT_DEVICE void mma_finish(const struct mma_call &p, int64_t first_row, int left, int first_tile,
                            const float (*sums)[shape::x_tiles][4])
{
    int w_first = simt_warp() % shape::warps_n * shape::w_tiles;
    int64_t x_first = first_tile + simt_warp() / shape::warps_n % shape::warps_t * shape::x_tiles;
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
        SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++) SIMT_UNROLL for (int c = 0; c < 4; c++)
    {
        int row = mma_row_of(w_first + i, simt_lane(), c);
        int64_t t = mma_x_row_of(x_first + j, simt_lane(), c);
        if (row < left && t < p.rows)
            mma_store(p, t, first_row + row, sums[i][j][c]);
    }
}

/* Adds the sums of the warps with the same rows, in their order. */
template <typename shape>
SIMT_DEVICE void mma_finish_shared(const struct mma_call &p, struct simt_shared<float> all,
                                   int64_t first_row, int left, int first_tile,
                                   const float (*sums)[shape::x_tiles][4])
{
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++)
        all.store((simt_warp() * shape::sums + i) * MMA_LANES + simt_lane(),
                  sums[i / 4 / shape::x_tiles][i / 4 % shape::x_tiles][i % 4]);
    simt_sync_block();
    const int outer = shape::warps_n * shape::warps_t;
    SIMT_ROLLED for (int i = simt_thread(); i < outer * shape::sums * MMA_LANES;
                     i += shape::threads)
    {
        int lane = i % MMA_LANES, c = i / MMA_LANES % 4,
            tile = i / MMA_LANES / 4 % (shape::sums / 4);
        int warp = i / MMA_LANES / shape::sums;
        int row =
            mma_row_of(warp % shape::warps_n * shape::w_tiles + tile / shape::x_tiles, lane, c);
        int64_t t = mma_x_row_of(
            first_tile + warp / shape::warps_n * shape::x_tiles + tile % shape::x_tiles, lane, c);
        float sum = 0;
        SIMT_UNROLL for (int j = 0; j < shape::warps_k; j++) sum +=
            all.load(i + j * outer * shape::sums * MMA_LANES);
        if (row < left && t < p.rows)
            mma_store(p, t, first_row + row, sum);
    }
}

/* Tiles that run at the same time shall share rows of both operands: they are numbered down groups
 * of 8 tiles of x. */
struct mma_place {
    int64_t n, t;
};

SIMT_DEVICE struct mma_place mma_place_of(const struct mma_call &p)
{
    const int64_t group = 8;
    int64_t index = simt_block_index().x, tiles_n = (p.columns + p.block_rows - 1) / p.block_rows;
    int64_t first = index / (group * tiles_n) * group, left = p.tiles_t - first;
    int64_t height = left < group ? left : group, at = index % (group * tiles_n);
    return {at / height, first + at % height};
}

/* A block's tile of y. It uses the block's dynamic shared memory. */
template <typename shape>
SIMT_DEVICE void mma_block(const struct mma_call &p, struct mma_place place)
{
    SIMT_SHARED_DYNAMIC(uint32_t, memory, 0, shape::stages * shape::stage_words);
    SIMT_SHARED_DYNAMIC(uint64_t, doubles, 0, shape::stages * shape::stage_words / 2);
    int64_t first_row = place.n * p.block_rows;
    int first_tile = static_cast<int>(place.t) * shape::block_x_tiles; /* of x, which exists */
    int left = linear_rows_left(p.columns, first_row);
    left = left < p.block_rows ? left : p.block_rows;
    float sums[shape::w_tiles][shape::x_tiles][4];
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++)
        sums[i / 4 / shape::x_tiles][i / 4 % shape::x_tiles][i % 4] = 0;

    struct mma_source source = mma_source_of<shape>(p, first_row, left, first_tile);
    int next = 0;
    SIMT_ROLLED for (int i = 0; i < shape::stages - 1; i++, next += shape::step_units)
    {
        if (next < p.units)
            mma_stage<shape>(p, source, memory.slice(i * shape::stage_words, shape::stage_words),
                             next);
        simt_copy_commit();
    }
    int stage = 0, free_stage = shape::stages - 1,
        warp_k = simt_warp() / (shape::warps_n * shape::warps_t);
    for (int unit = 0; unit < p.units; unit += shape::step_units, next += shape::step_units) {
        simt_copy_wait<shape::stages - 2>();
        simt_sync_block(); /* the step has come for all, all have read the one before */
        if (next < p.units)
            mma_stage<shape>(
                p, source, memory.slice(free_stage * shape::stage_words, shape::stage_words), next);
        simt_copy_commit();
        struct mma_memory step = {
            memory.slice(stage * shape::stage_words, shape::stage_words),
            doubles.slice(stage * shape::stage_words / 2, shape::stage_words / 2)};
        SIMT_ROLLED for (int i = 0; i < shape::step_units / shape::warps_k; i++)
        {
            int mine = i * shape::warps_k + warp_k;
            if (unit + mine < p.units)
                mma_unit<shape>(p, step, unit, mine, sums);
        }
        free_stage = stage;
        stage = stage + 1 < shape::stages ? stage + 1 : 0;
    }
    simt_copy_wait<0>();
    if (shape::warps_k == 1) {
        mma_finish<shape>(p, first_row, left, first_tile, sums);
        return;
    }
    SIMT_SHARED_DYNAMIC(float, all, 0,
                        shape::warps_k == 1 ? 4 : shape::warps * shape::sums * MMA_LANES);
    simt_sync_block(); /* all steps are read */
    mma_finish_shared<shape>(p, all, first_row, left, first_tile, sums);
}

template <typename shape>
SIMT_KERNEL_RESIDENT(linear_grouped_mma, shape::threads, 1)
(struct mma_call p)
{
    mma_block<shape>(p, mma_place_of(p));
}

template <typename shape>
static assay_status mma_launch(struct mma_call *p, struct simt_launch *launch)
{
    int64_t tiles_n = (p->columns + p->block_rows - 1) / p->block_rows;
    p->tiles_t = p->x_tiles / shape::block_x_tiles;
    launch->grid = {static_cast<unsigned>(tiles_n * p->tiles_t), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = sizeof(uint32_t) * shape::stages * shape::stage_words;
    return SIMT_LAUNCH(launch, linear_grouped_mma<shape>, *p);
}

#endif
