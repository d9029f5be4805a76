/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for one row of x, in tensor cores, as a part of a kernel: that of
 * linear_grouped.gemv, and those of ops that take several products. Eight of the 16 rows of an mma
 * are rows of w in the first half of their columns, eight the same rows in the second half. x, as a
 * sum of three bf16 numbers that is exact, takes three of the 8 columns for each half: one mma
 * makes the products of them all, and of its results those are kept whose halves agree.
 *
 * A warp takes eight rows of w, 128 bytes of their base plane in each half at a time, which come
 * through a queue of asynchronous copies into its own part of shared memory: no warp waits for
 * another. x lies in shared memory in the order of mma. Where the rows of w are few several warps
 * share them, each a part of the steps.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_grouped_bound.md. Codes become bf16 by their
 * bits, two at a time, a subtraction makes them exact. Moves the planes once through device memory,
 * which limits it; q5g64 and q6g64 come near the rate of integer instructions as well.
 */
#ifndef ASSAY_LINEAR_GROUPED_GEMV_CUH
#define ASSAY_LINEAR_GROUPED_GEMV_CUH

#include "ops/linear/linear_split.cuh"
#include "ops/linear_grouped/grouped_steps.cuh"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/silu_mul/silu_device.cuh"

enum {
    GEMV_ROWS = 8,   /* of w, a warp */
    GEMV_STAGES = 2, /* steps that a warp has under way or in hand */
    GEMV_UNIT = LINEAR_GROUPED_UNIT,
    GEMV_PLANES = 3,                 /* of x */
    GEMV_UNIT_X = GEMV_PLANES * 128, /* bytes of x */
    GEMV_MAX_PARTS = LINEAR_GROUPED_GEMV_PARTS,
    GEMV_SHARED = 227 * 1024
};

/* One block on each multiprocessor of an H200. The executor's sweep shall reach several turns and
 * parts with few rows. */
#if defined(__CUDACC__)
enum { GEMV_BLOCKS = 132, GEMV_MAX_WARPS = 20, GEMV_MAX_WARPS_6 = 16 };
#else
enum { GEMV_BLOCKS = 2, GEMV_MAX_WARPS = 4, GEMV_MAX_WARPS_6 = 4 };
#endif

template <int bits> struct gemv_format : grouped_step<bits, 2 * GEMV_ROWS> {
    static const int most_warps = bits == 6 ? static_cast<int>(GEMV_MAX_WARPS_6)
                                            : static_cast<int>(GEMV_MAX_WARPS); /* by registers */
};

struct gemv_call {
    struct row_view x, residual, y;
    struct grouped_view w;
    int64_t columns, inner; /* N, K */
    int64_t tiles;          /* of rows of w */
    int tile_rows;       /* columns of y that a tile has: 8; 4 where it has rows of two matrices */
    int64_t up_bytes[3]; /* of two matrices: from a row to that of the other one, in each plane */
    int base_bytes, high_bytes, num_groups; /* of a row; groups that hold a column below K */
    int steps;                              /* of half a row */
    int whole_steps; /* of a row: those whose columns have all a place in the planes */
    int parts;       /* warps that share a tile; of several each warp takes one tile only */
    uint32_t magic;  /* bf16 128, twice. A parameter: the compiler would take two instructions for
                      * two constants in (w & 15) | 128, one where this is in a register */
    int num_blocks, num_warps; /* that take the matrix; warps of a block */
    int64_t tile_step;         /* from a warp's tile to its next */
    int most_warps;            /* that a block has room for */
    bool has_residual;
};

/* Where a warp is. */
struct gemv_place {
    int64_t tile;
    int step;
    bool is_there; /* the tile is one */
};

/* ---- x -------------------------------------------------------------------------------------- */

/* Two elements as three pairs of bf16: x = high + middle + low, exactly where low is not
 * subnormal. */
SIMT_DEVICE void gemv_split_pair(float first, float second, uint32_t *parts)
{
    SIMT_UNROLL for (int i = 0; i < 3; i++)
    {
        parts[i] = simt_bf16x2_from_f32(first, second);
        first -= simt_f32_from_bits(parts[i] << 16);
        second -= simt_f32_from_bits(parts[i] & 0xffff0000u);
    }
}

/* Whose parts are neither near the ends of the range of bf16 nor not finite. */
SIMT_DEVICE bool gemv_is_plain(float x)
{
    uint32_t magnitude = simt_f32_bits(x) & 0x7fffffffu;
    return magnitude - 0x00800000u < 0x7e800000u || magnitude == 0; /* 2^-126 .. 2^127 */
}

/* Half a lane's columns of a unit are two runs of four: the column of each in its row. i: number
 * (2 unit + half) 4 + lane % 4. */
template <int bits> SIMT_DEVICE int gemv_x_column(int i, int run)
{
    int half = i / 4 % 2, q = i % 4;
    int column = bits == 8   ? 32 * half + 8 * q + 4 * run
                 : bits == 4 ? GROUPED_QUAD * q + 8 * half + 4 * run
                             : GROUPED_QUAD * q + 4 * half + 8 * run;
    return i / 8 * GEMV_UNIT + column;
}

/* Four elements, in 16 or 8 bytes. constant: nothing in the call writes x. */
template <bool constant>
SIMT_DEVICE void gemv_load_x(const struct row_view &x, int k, float *values)
{
    if (x.is_bf16) {
        uint64_t words = row_load<uint64_t, constant>(
            reinterpret_cast<const uint64_t *>(x.data + int64_t{2} * k));
        SIMT_UNROLL for (int c = 0; c < 4; c++) values[c] =
            simt_bf16_to_f32(static_cast<uint16_t>(words >> 16 * c & 0xffff));
        return;
    }
    struct simt_words words = row_load16<constant>(x.data + int64_t{4} * k);
    SIMT_UNROLL for (int c = 0; c < 4; c++) values[c] = simt_f32_from_bits(words.word[c]);
}

/* The parts of both runs into [2 unit + half][plane][lane % 4][4 words]. */
template <int bits>
SIMT_DEVICE void gemv_store_x(struct simt_shared<uint32_t> words, int i, const float *x)
{
    struct simt_words parts[GEMV_PLANES];
    SIMT_UNROLL for (int j = 0; j < 4; j++)
    {
        uint32_t pair[GEMV_PLANES];
        int first = bits == 8 ? j / 2 * 4 + j % 2 : j, second = first + (bits == 8 ? 2 : 4);
        gemv_split_pair(x[first], x[second], pair);
        SIMT_UNROLL for (int part = 0; part < GEMV_PLANES; part++) parts[part].word[j] = pair[part];
    }
    SIMT_UNROLL for (int part = 0; part < GEMV_PLANES; part++)
        words.store16((i / 4 * GEMV_PLANES + part) * 16 + i % 4 * 4, parts[part]);
}

/* The same for elements of any class (linear_split.cuh), any alignment and the end of x, one by
 * one. */
template <int bits, bool constant>
SIMT_DEVICE void gemv_store_any(const struct gemv_call &p, struct simt_shared<uint16_t> halves,
                                int i)
{
    SIMT_ROLLED for (int j = 0; j < 8; j++)
    {
        int run = j / 4, c = j % 4;
        int word = bits == 8 ? 2 * run + c % 2 : c, is_second = bits == 8 ? c / 2 : run;
        int k = gemv_x_column<bits>(i, run) + c;
        float x = 0;
        if (k < p.inner)
            x = p.x.is_bf16
                    ? simt_bf16_to_f32(row_load<uint16_t, constant>(
                          reinterpret_cast<const uint16_t *>(p.x.data) + k))
                    : row_load<float, constant>(reinterpret_cast<const float *>(p.x.data) + k);
        uint16_t parts[GEMV_PLANES];
        linear_split_value(x, &parts[0], &parts[1]);
        float left = x - simt_bf16_to_f32(parts[0]) - simt_bf16_to_f32(parts[1]);
        parts[2] = linear_is_finite(x) ? simt_bf16_from_f32(left) : static_cast<uint16_t>(0);
        SIMT_UNROLL for (int part = 0; part < GEMV_PLANES; part++) halves.store(
            ((i / 4 * GEMV_PLANES + part) * 16 + i % 4 * 4 + word) * 2 + is_second, parts[part]);
    }
}

/* x as [unit][slice / 2][plane][lane % 4][4 words], zeros beyond K. A thread makes half a lane's
 * words of a unit, two of them at a time so that they wait for memory together. */
template <typename format, bool constant>
SIMT_DEVICE void gemv_stage_x(const struct gemv_call &p, struct simt_shared<uint32_t> words,
                              struct simt_shared<uint16_t> halves)
{
    const int batch = 2, bits = format::bits;
    int items = 2 * p.steps * format::step_units * 8,
        threads = static_cast<int>(simt_block_extent().x);
    SIMT_ROLLED for (int i = simt_thread(); i < items; i += batch * threads)
    {
        float x[batch][8] = {};
        bool is_plain[batch];
        SIMT_UNROLL for (int j = 0; j < batch; j++)
        {
            int item = i + j * threads, last = gemv_x_column<bits>(item, 1);
            is_plain[j] = p.x.is_aligned && item < items && last + 4 <= p.inner;
            SIMT_UNROLL for (int run = 0; run < 2; run++)
            {
                if (is_plain[j])
                    gemv_load_x<constant>(p.x, gemv_x_column<bits>(item, run), x[j] + 4 * run);
            }
        }
        SIMT_UNROLL for (int j = 0; j < batch; j++)
        {
            int item = i + j * threads;
            SIMT_UNROLL for (int c = 0; c < 8; c++) is_plain[j] =
                is_plain[j] && gemv_is_plain(x[j][c]);
            if (is_plain[j])
                gemv_store_x<bits>(words, item, x[j]);
            else if (item < items)
                gemv_store_any<bits, constant>(p, halves, item);
        }
    }
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Where a lane's copies come from, at step 0 of the first half: two rows of the base plane, a view
 * of each of the others; rows from N on are the last one, what they give is not stored. Bytes from
 * row to row take 64 bits, within a row 32. */
struct gemv_source {
    const unsigned char *base[2], *high, *scales;
};

/* has_gates: rows of a tile are those of two matrices in turn. */
template <typename format, bool has_gates>
SIMT_DEVICE struct gemv_source gemv_source_of(const struct gemv_call &p, int64_t tile)
{
    const int pieces = format::high_row / 16 + (format::high_row == 0); /* of a view */
    int lane = simt_lane(), places[4] = {lane / 8, lane / 8 + 4, lane / pieces % 8, lane / 2 % 8};
    int64_t rows[4], first = tile * p.tile_rows, last = p.columns - 1;
    bool is_up[4];
    SIMT_UNROLL for (int i = 0; i < 4; i++)
    {
        int64_t row = first + (has_gates ? places[i] / 2 : places[i]);
        rows[i] = row < last ? row : last;
        is_up[i] = has_gates && places[i] % 2 != 0;
    }
    const unsigned char *base = p.w.base + lane % 8 * 16;
    const unsigned char *high = p.w.high + 16 * (lane % pieces);
    if (format::bits == 5) /* eight views of 2 pieces are those of the first half */
        high += lane / 16 * p.steps * format::high_row;
    const unsigned char *scales =
        p.w.scales + (lane / 16 * p.steps * format::scales_row + lane % 2 * 4);
    return {{base + rows[0] * p.w.base_stride + (is_up[0] ? p.up_bytes[0] : 0),
             base + rows[1] * p.w.base_stride + (is_up[1] ? p.up_bytes[0] : 0)},
            high + rows[2] * p.w.high_stride + (is_up[2] ? p.up_bytes[1] : 0),
            scales + rows[3] * p.w.scales_stride + (is_up[3] ? p.up_bytes[2] : 0)};
}

/* What of `bytes` bytes at column byte k of a row lies below the end. */
SIMT_DEVICE int gemv_valid(int k, int end, int bytes)
{
    int valid = end - k;
    return valid < 0 ? 0 : valid < bytes ? valid : bytes;
}

/* A step of a tile into the stage at `stage`. is_whole: so are the steps of both halves. */
template <typename format, bool is_aligned, bool is_whole>
SIMT_DEVICE void gemv_copy(const struct gemv_call &p, const struct grouped_memory &memory,
                           int stage, const struct gemv_source &from, int step)
{
    int lane = simt_lane(), base_at = stage + grouped_base_at(lane / 8, lane % 8);
    SIMT_UNROLL for (int half = 0; half < 2; half++)
    {
        int k = (step + half * p.steps) * GROUPED_STEP;
        int valid = is_whole ? 16 : gemv_valid(k + lane % 8 * 16, p.base_bytes, 16);
        SIMT_UNROLL for (int j = 0; j < 2; j++) grouped_copy<16, is_aligned>(
            memory, base_at + (8 * half + 4 * j) * GROUPED_STEP, from.base[j] + k, valid);
    }
    const int pieces = format::high_row / 16 + (format::high_row == 0);
    SIMT_UNROLL for (int j = 0; j * 2 < format::high_row / 16; j++)
    {
        int view = (lane + 32 * j) / pieces, piece = lane % pieces;
        int k = (step + j * p.steps) * format::high_row;
        int from_row =
            k + 16 * piece + (format::bits == 5 ? view / 8 * p.steps * format::high_row : 0);
        grouped_copy<16, is_aligned>(memory, stage + grouped_high_at<format>(view, piece),
                                     from.high + k,
                                     is_whole ? 16 : gemv_valid(from_row, p.high_bytes, 16));
    }
    int k = step * format::scales_row;
    int from_row = k + lane / 16 * p.steps * format::scales_row + lane % 2 * 4;
    grouped_copy<4, is_aligned>(memory, stage + format::scales_at + 4 * lane, from.scales + k,
                                is_whole ? 4 : gemv_valid(from_row, 2 * p.num_groups, 4));
}

template <typename format, bool is_aligned>
SIMT_DEVICE void gemv_stage(const struct gemv_call &p, const struct grouped_memory &memory,
                            int stage, const struct gemv_source &from, int step)
{
    if (is_aligned && step + p.steps < p.whole_steps)
        gemv_copy<format, is_aligned, true>(p, memory, stage, from, step);
    else
        gemv_copy<format, is_aligned, false>(p, memory, stage, from, step);
}

/* ---- products ------------------------------------------------------------------------------- */

/* Adds the products of a step: of each group by mma, then by FMA with the scale. */
template <typename format>
SIMT_DEVICE void gemv_products(const struct gemv_call &p, const struct grouped_memory &memory,
                               int stage, int step, struct simt_shared<uint32_t> x, float *sums)
{
    const float zeros[4] = {0, 0, 0, 0};
    int lane = simt_lane(), column = lane / 4, plane = column % 4;
    plane = plane < GEMV_PLANES ? plane : GEMV_PLANES - 1;
    int x_at = ((step + column / 4 * p.steps) * format::step_units * 2 * GEMV_PLANES + plane) * 16 +
               lane % 4 * 4;
    const struct grouped_lane at = grouped_lane_of<format>(stage);
    uint64_t scales[2];
    SIMT_UNROLL for (int half = 0; half < 2; half++) scales[half] =
        memory.pairs.load(at.scales + static_cast<unsigned>(8 * half));
    /* Two units at a time: more would take too many registers. */
    SIMT_UNROLL for (int pair = 0; pair < format::step_units; pair += 2)
    {
        SIMT_UNROLL for (int unit = pair; unit < pair + 2; unit++)
        {
            uint32_t codes[2][8];
            struct simt_words columns[2];
            SIMT_UNROLL for (int half = 0; half < 2; half++)
            {
                grouped_row_pairs<format>(p.magic, memory, at, half, unit, codes[half]);
                columns[half] = x.load16(x_at + (2 * unit + half) * GEMV_PLANES * 16);
            }
            SIMT_UNROLL for (int group = 0; group < format::groups; group++)
            {
                const int slices = 4 / format::groups;
                float partial[4];
                SIMT_UNROLL for (int i = 0; i < slices; i++)
                {
                    int slice = group * slices + i;
                    uint32_t a[4] = {codes[0][2 * slice], codes[1][2 * slice],
                                     codes[0][2 * slice + 1], codes[1][2 * slice + 1]};
                    simt_mma_bf16(partial, a, columns[slice / 2].word + slice % 2 * 2,
                                  i == 0 ? zeros : partial);
                }
                int place = 16 * ((unit - pair) * format::groups + group);
                SIMT_UNROLL for (int c = 0; c < 4; c++) sums[c] =
                    fmaf(partial[c],
                         simt_f16_to_f32(static_cast<uint16_t>(scales[c / 2] >> place & 0xffff)),
                         sums[c]);
            }
        }
        SIMT_UNROLL for (int half = 0; half < 2; half++) scales[half] >>= 32;
    }
}

/* One rounding into y; y may be the residual. */
SIMT_DEVICE void gemv_store(const struct gemv_call &p, int64_t n, float sum)
{
    if (n >= p.columns)
        return;
    if (p.has_residual)
        sum += simt_load(reinterpret_cast<const float *>(p.residual.data) + n);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(p.y.data) + n, simt_bf16_from_f32(sum));
    else
        simt_store(reinterpret_cast<float *>(p.y.data) + n, sum);
}

/* Row lane / 4 of a tile: sums of its first half are those of columns 0 .. 2 of x, which lanes 0
 * and 1 of a quad have, of the second half those of columns 4 .. 6. */
SIMT_DEVICE float gemv_total(float *sums)
{
    int q = simt_lane() % 4;
    float total = q < 2 ? sums[0] : sums[2];
    if (q % 2 == 0)
        total += q < 2 ? sums[1] : sums[3];
    SIMT_UNROLL for (int bits = 1; bits < 4; bits *= 2) total +=
        simt_shuffle_xor(SIMT_ALL_LANES, total, bits);
    SIMT_UNROLL for (int c = 0; c < 4; c++) sums[c] = 0;
    return total;
}

/* A tile's totals. */
template <bool has_gates>
SIMT_DEVICE void gemv_store_tile(const struct gemv_call &p, int64_t tile, float total)
{
    int lane = simt_lane(), row = lane / 4;
    if (has_gates)
        total = silu_times(total, simt_shuffle_down(SIMT_ALL_LANES, total, 4));
    if (lane % 4 == 0 && (!has_gates || row % 2 == 0))
        gemv_store(p, tile * p.tile_rows + (has_gates ? row / 2 : row), total);
}

/* Of row i % 8 of a block's tile i / 8: the sum of its parts, in their order. */
SIMT_DEVICE float gemv_joined(const struct gemv_call &p, struct simt_shared<float> totals, int i)
{
    float total = 0;
    for (int j = 0; j < p.parts; j++)
        total += totals.load((i / GEMV_ROWS * p.parts + j) * GEMV_ROWS + i % GEMV_ROWS);
    return total;
}

/* To the next step, of another tile after the last. */
SIMT_DEVICE bool gemv_advance(const struct gemv_call &p, int part, struct gemv_place *place)
{
    place->step += p.parts;
    if (place->step < p.steps)
        return false;
    place->step = part;
    place->tile += p.tile_step;
    place->is_there = place->tile < p.tiles;
    return true;
}

/* Warps beyond num_warps have no tile. */
SIMT_DEVICE struct gemv_place gemv_first_place(const struct gemv_call &p, int block)
{
    int64_t tile = int64_t{simt_warp() / p.parts} * p.num_blocks + block;
    return {tile, simt_warp() % p.parts, simt_warp() < p.num_warps && tile < p.tiles};
}

/* For the whole block, number `block` of those that take the matrix: it uses the block's dynamic
 * shared memory. Blocks take tiles in turn, so that their numbers differ by one at most; warps
 * beyond num_warps come to the barriers only. */
template <int bits, bool is_aligned, bool has_gates, bool constant = true>
SIMT_DEVICE void gemv_rows(const struct gemv_call &p, int block)
{
    typedef struct gemv_format<bits> format;
    const int ring_end = GEMV_STAGES * format::stage_bytes;
    int x_bytes = 2 * p.steps * format::step_units * GEMV_UNIT_X;
    int ring_bytes = p.num_warps * ring_end;
    SIMT_SHARED_DYNAMIC(uint32_t, x, 0, x_bytes / 4);
    SIMT_SHARED_DYNAMIC(uint16_t, x_halves, 0, x_bytes / 2);
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, x_bytes, ring_bytes);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, x_bytes, ring_bytes / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, x_bytes, ring_bytes / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, x_bytes, ring_bytes / 8);
    SIMT_SHARED_DYNAMIC(float, totals, x_bytes + ring_bytes, p.num_warps * GEMV_ROWS);
    const struct grouped_memory memory = {bytes, halves, words, pairs};
    int part = simt_warp() % p.parts, first = simt_warp() * ring_end;
    struct gemv_place ahead = gemv_first_place(p, block);
    struct gemv_source source = gemv_source_of<format, has_gates>(p, ahead.tile);
    SIMT_UNROLL for (int i = 0; i < GEMV_STAGES - 1; i++)
    {
        if (ahead.is_there)
            gemv_stage<format, is_aligned>(p, memory, first + i * format::stage_bytes, source,
                                           ahead.step);
        simt_copy_commit();
        if (gemv_advance(p, part, &ahead))
            source = gemv_source_of<format, has_gates>(p, ahead.tile);
    }
    gemv_stage_x<format, constant>(p, x, x_halves);
    simt_sync_block();

    /* Anew: they were in the way of x. */
    struct gemv_place place = gemv_first_place(p, block);
    ahead = place;
    SIMT_UNROLL for (int i = 0; i < GEMV_STAGES - 1; i++) gemv_advance(p, part, &ahead);
    source = gemv_source_of<format, has_gates>(p, ahead.tile);
    float sums[4] = {0, 0, 0, 0}, total = 0;
    int stage = 0, free_stage = ring_end - format::stage_bytes;
    while (place.is_there) {
        simt_copy_wait<GEMV_STAGES - 2>();
        simt_sync_warp(SIMT_ALL_LANES); /* the step is there, all have read the one before */
        if (ahead.is_there)
            gemv_stage<format, is_aligned>(p, memory, first + free_stage, source, ahead.step);
        simt_copy_commit();
        gemv_products<format>(p, memory, first + stage, place.step, x, sums);
        if (place.step + p.parts >= p.steps) {
            total = gemv_total(sums);
            if (p.parts == 1)
                gemv_store_tile<has_gates>(p, place.tile, total);
        }
        if (gemv_advance(p, part, &ahead))
            source = gemv_source_of<format, has_gates>(p, ahead.tile);
        gemv_advance(p, part, &place);
        free_stage = stage;
        stage = stage + format::stage_bytes < ring_end ? stage + format::stage_bytes : 0;
    }
    simt_copy_wait<0>();
    if (p.parts == 1)
        return;
    if (simt_lane() % 4 == 0 && simt_warp() < p.num_warps)
        totals.store(simt_warp() * GEMV_ROWS + simt_lane() / 4, total);
    simt_sync_block();
    int i = simt_thread();
    if (i >= p.num_warps / p.parts * GEMV_ROWS || (has_gates && i % 2 != 0))
        return;
    total = gemv_joined(p, totals, i);
    if (has_gates)
        total = silu_times(total, gemv_joined(p, totals, i + 1));
    int64_t tile = int64_t{i / GEMV_ROWS} * p.num_blocks + block;
    gemv_store(p, tile * p.tile_rows + (has_gates ? i % GEMV_ROWS / 2 : i % GEMV_ROWS), total);
}

/* ---- launch --------------------------------------------------------------------------------- */

static inline int gemv_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* As few warps, at most most_warps a block, as give each the same number of tiles, then parts while
 * there are warps left and each has two steps. Sets these numbers, parts only where they are 0:
 * they decide about the order of a sum, so that a kernel with less room takes those of
 * linear_grouped.gemv. Gives the bytes of shared memory. */
template <int bits>
static size_t gemv_plan_of(struct gemv_call *p, int64_t most_blocks, int most_warps)
{
    typedef struct gemv_format<bits> format;
    const int group = GEMV_UNIT / format::groups;
    int units = static_cast<int>((p->inner + GEMV_UNIT - 1) / GEMV_UNIT);
    int steps = (units + format::step_units - 1) / format::step_units;
    int padded = static_cast<int>(linear_grouped_padded(p->inner));
    p->steps = (steps + 1) / 2;
    p->base_bytes = bits == 8 ? padded : padded / 2;
    p->high_bytes = padded / 8 * (bits == 8 ? 0 : bits - 4);
    p->num_groups = static_cast<int>((p->inner + group - 1) / group);
    p->whole_steps = p->num_groups * group / (GEMV_UNIT * format::step_units);
    int64_t blocks = p->tiles < most_blocks ? p->tiles : most_blocks;
    int64_t in_block = (p->tiles + blocks - 1) / blocks;
    int x_bytes = 2 * p->steps * format::step_units * GEMV_UNIT_X;
    int warp_bytes = GEMV_STAGES * format::stage_bytes + 4 * GEMV_ROWS;
    int most = (GEMV_SHARED - x_bytes) / warp_bytes;
    most = gemv_smaller(most, gemv_smaller(format::most_warps, most_warps));
    int64_t turns = (in_block + most - 1) / most;
    int64_t warps = (in_block + turns - 1) / turns;
    if (p->parts == 0) {
        p->parts = 1;
        while (turns == 1 && p->parts < GEMV_MAX_PARTS && warps * (p->parts + 1) <= most &&
               p->steps >= 2 * (p->parts + 1))
            p->parts++;
    }
    warps *= p->parts;
    p->num_blocks = static_cast<int>(blocks);
    p->num_warps = static_cast<int>(warps);
    p->tile_step = warps / p->parts * blocks;
    p->most_warps = most;
    return static_cast<size_t>(x_bytes + warps * warp_bytes);
}

static inline size_t gemv_plan(struct gemv_call *p, int64_t most_blocks, int most_warps)
{
    switch (p->w.bits) {
    case 4:
        return gemv_plan_of<4>(p, most_blocks, most_warps);
    case 5:
        return gemv_plan_of<5>(p, most_blocks, most_warps);
    case 6:
        return gemv_plan_of<6>(p, most_blocks, most_warps);
    default:
        return gemv_plan_of<8>(p, most_blocks, most_warps);
    }
}

/* Planes whose copies move 16 bytes, and 4 of scales. */
static inline bool gemv_is_aligned(const struct grouped_view &w)
{
    uintptr_t planes = reinterpret_cast<uintptr_t>(w.base) | static_cast<uintptr_t>(w.base_stride) |
                       reinterpret_cast<uintptr_t>(w.high) | static_cast<uintptr_t>(w.high_stride);
    uintptr_t scales =
        reinterpret_cast<uintptr_t>(w.scales) | static_cast<uintptr_t>(w.scales_stride);
    return planes % 16 == 0 && scales % 4 == 0;
}

/* But for what gemv_plan sets. */
static inline struct gemv_call gemv_call_of(const struct assay_linear_grouped_args *a)
{
    struct gemv_call p = {};
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    p.w = grouped_view_of(&a->w);
    p.columns = a->w.rows;
    p.inner = a->w.columns;
    p.tile_rows = GEMV_ROWS;
    p.tiles = (p.columns + GEMV_ROWS - 1) / GEMV_ROWS;
    p.magic = 0x43004300u;
    p.has_residual = a->residual.data != NULL;
    if (p.has_residual)
        p.residual = row_view_of(&a->residual);
    return p;
}

#endif
