/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for one row of x, in binary32, as a part of a kernel: that of linear_grouped.gemv,
 * and those of ops that take several products. A warp takes four rows of w; each lane every 32nd
 * chunk of 16 bytes of the base plane, with what belongs to it of the other planes. Chunks come
 * through a queue of asynchronous copies into places of shared memory that only their lane reads,
 * so that a warp waits for no other; x lies in shared memory, in order of chunks. Where the rows of
 * w are few several warps share them, each a part of the columns.
 *
 * A code becomes binary32 without a conversion: its bits are put into the mantissa of a power of
 * two whose last place they then count, which is subtracted, exactly. Three instructions a weight
 * (q4g64), four (q5g64, q6g64).
 *
 * Profile f32. Bound: linear_grouped_bound.md; 32 products a chunk by FMA, chunks by FMA, a tree of
 * 5 additions, then the parts. Moves the planes once through device memory, which limits it for
 * q8g32; the others come near the rate of instructions as well.
 */
#ifndef ASSAY_LINEAR_GROUPED_GEMV_CUH
#define ASSAY_LINEAR_GROUPED_GEMV_CUH

#include "ops/linear_grouped/grouped_planes.cuh"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/silu_mul/silu_device.cuh"

enum {
    GEMV_ROWS = 4,   /* of w, a warp */
    GEMV_STAGES = 3, /* chunks of each row a lane has under way or in hand */
    GEMV_HALF = 16,  /* columns whose elements of x are in registers */
    GEMV_MAX_PARTS = LINEAR_GROUPED_GEMV_PARTS,
    GEMV_SHARED = 227 * 1024
};

/* One block on each multiprocessor of an H200, of 80 registers a lane. The executor's sweep shall
 * reach several turns and parts with few rows. */
#if defined(__CUDACC__)
enum { GEMV_BLOCKS = 132, GEMV_MAX_WARPS = 24 };
#else
enum { GEMV_BLOCKS = 2, GEMV_MAX_WARPS = 4 };
#endif

/* A chunk, and words of 32 bits of a stage: 16 bytes of the base plane for each lane and row, then
 * the high plane, then two scales (copies move at least 4 bytes). */
template <int bits> struct gemv_format {
    static const int columns = bits == 8 ? 16 : 32, pieces = columns / 4, halves = columns / 16;
    static const int high_words = bits == 5 ? 1 : bits == 6 ? 2 : 0;
    static const int high_at = GEMV_ROWS * 32 * 4, scales_at = high_at * (4 + high_words) / 4;
    static const int stage_words = scales_at + GEMV_ROWS * 32;
};

struct gemv_call {
    struct row_view x, residual, y;
    struct grouped_view w;
    int64_t columns, inner; /* N, K */
    int64_t quads;          /* of rows of w */
    int quad_rows;          /* columns of y that a quad has: 4, or 1 where w has less than 4 */
    int64_t row_bytes[3];   /* from rows 0 and 2 of a quad to the next, in each plane */
    int64_t next_bytes[3];  /* from row 1 */
    int chunks, iterations; /* of a row; iterations of 32 chunks */
    /* 2^23, 2^19, .. 2^7. Parameters: the compiler would take two instructions for two constants in
     * (word & 15) | power, one where this is in a register. */
    uint32_t power[5];
    int parts; /* warps that share a quad; of several each warp takes one quad only */
    int num_blocks, num_warps; /* that take the matrix; warps of a block */
    int most_warps;            /* that a block has room for */
    bool has_residual;
};

/* Where a warp is. */
struct gemv_place {
    int64_t quad;
    int iteration;
};

SIMT_DEVICE int64_t gemv_row(const struct gemv_call &p, int64_t quad)
{
    int64_t row = quad * p.quad_rows, last = p.columns - p.quad_rows;
    return row < last ? row : last;
}

/* Place of a piece of 4 elements of x: lanes read pieces of different chunks at the same time. */
template <int bits> SIMT_DEVICE int gemv_piece(int piece)
{
    return 4 * (piece ^ (piece >> 3 & (gemv_format<bits>::pieces - 1)));
}

template <int bits>
SIMT_DEVICE void gemv_stage_x(const struct gemv_call &p, struct simt_shared<float> x)
{
    int chunks = p.chunks * (gemv_format<bits>::columns / ROW_CHUNK);
    for (int i = simt_thread(); i < chunks; i += static_cast<int>(simt_block_extent().x)) {
        float values[ROW_CHUNK];
        row_load_chunk<true>(p.x, p.x.data, int64_t{i} * ROW_CHUNK, p.inner, values);
        SIMT_UNROLL for (int j = 0; j < 2; j++)
        {
            struct simt_words words;
            SIMT_UNROLL for (int c = 0; c < 4; c++) words.word[c] =
                simt_f32_bits(values[4 * j + c]);
            x.store16(gemv_piece<bits>(2 * i + j), words);
        }
    }
}

/* This lane's chunk of a place into its stage. The last quad starts at row N - 4, and stores the
 * rows that are its own; of less than four rows in all each is a quad, four times the same. */
template <int bits, bool is_aligned>
SIMT_DEVICE void gemv_stage(const struct gemv_call &p, struct simt_shared<uint32_t> stage,
                            struct gemv_place place)
{
    typedef struct gemv_format<bits> format;
    int chunk = place.iteration * 32 + simt_lane(), lane = simt_lane();
    if (chunk >= p.chunks)
        return;
    int64_t row = gemv_row(p, place.quad);
    const unsigned char *base = p.w.base + row * p.w.base_stride + int64_t{16} * chunk;
    const unsigned char *high =
        p.w.high + row * p.w.high_stride + int64_t{4} * format::high_words * chunk;
    const unsigned char *scales = p.w.scales + row * p.w.scales_stride + chunk / 4 * 4;
    SIMT_UNROLL for (int r = 0; r < GEMV_ROWS; r++)
    {
        int at = r * 32 + lane, high_at = format::high_at + at * format::high_words;
        if (is_aligned) {
            simt_copy_async<16>(stage.at(4 * at), base);
            if (format::high_words > 0)
                simt_copy_async<format::high_words == 2 ? 8 : 4>(stage.at(high_at), high);
            simt_copy_async<4>(stage.at(format::scales_at + at), scales);
        } else {
            SIMT_UNROLL for (int i = 0; i < 4; i++)
                stage.store(4 * at + i, grouped_load(base + 4 * i, 4, false));
            SIMT_UNROLL for (int i = 0; i < format::high_words; i++)
                stage.store(high_at + i, grouped_load(high + 4 * i, 4, false));
            stage.store(format::scales_at + at, grouped_load(scales, 4, false));
        }
        if (r + 1 == GEMV_ROWS)
            break;
        base += r % 2 == 0 ? p.row_bytes[0] : p.next_bytes[0];
        high += r % 2 == 0 ? p.row_bytes[1] : p.next_bytes[1];
        scales += r % 2 == 0 ? p.row_bytes[2] : p.next_bytes[2];
    }
}

/* The `width` bits from bit `place` of a word on, less `offset`; they are bits of the mantissa. */
SIMT_DEVICE float gemv_number(const uint32_t *power, uint32_t word, int width, int place,
                              int offset)
{
    uint32_t mask = ((1u << width) - 1) << place;
    return simt_f32_from_bits((word & mask) | power[place / 4]) -
           static_cast<float>((1 << (23 - place)) + offset);
}

/* Four bytes of at most 6 bits each. */
SIMT_DEVICE void gemv_bytes(const uint32_t *power, uint32_t bytes, int width, float *codes,
                            int step)
{
    SIMT_UNROLL for (int i = 0; i < 3; i++) codes[step * i] =
        gemv_number(power, bytes, width, 8 * i, 1 << (width - 1));
    codes[3 * step] = gemv_number(power, bytes >> 8, width, 16, 1 << (width - 1));
}

/* gemv_codes_B: 16 codes of a chunk of B bits, those of columns 16 half .. 16 half + 15. */
SIMT_DEVICE void gemv_codes_4(const uint32_t *power, const uint32_t *base, int half, float *codes)
{
    SIMT_UNROLL for (int i = 0; i < GEMV_HALF; i++)
    {
        uint32_t word = base[2 * half + i / 8];
        bool is_far = i % 8 > 4;
        codes[i] =
            gemv_number(power, is_far ? word >> 12 : word, 4, i % 8 * 4 - (is_far ? 12 : 0), 8);
    }
}

/* Those of columns 8 i + 4 half .. 8 i + 4 half + 3, i = 0 .. 3: bit 8 i + j of the high plane goes
 * with half-byte j of word i, and one shift brings it there for four words at a time. */
SIMT_DEVICE void gemv_codes_5(const uint32_t *power, const uint32_t *base, const uint32_t *high,
                              int half, float *codes)
{
    uint32_t select = half == 0 ? 0x5140 : 0x7362; /* bytes 2 half, 2 half + 1 of each word */
    uint32_t first = simt_permute_bytes(base[0], base[1], select);
    uint32_t second = simt_permute_bytes(base[2], base[3], select);
    SIMT_UNROLL for (int c = 0; c < 4; c++)
    {
        int bit = 4 * half + c;
        uint32_t low = simt_permute_bytes(first, second, c < 2 ? 0x5410 : 0x7632);
        uint32_t top = bit <= 4 ? high[0] << (4 - bit) : high[0] >> (bit - 4);
        gemv_bytes(power, ((c % 2 == 0 ? low : low >> 4) & 0x0f0f0f0f) | (top & 0x10101010), 5,
                   codes + c, 4);
    }
}

/* Four columns 4 i + c, i = 0 .. 3, at a time, whose high bits are as far apart. */
SIMT_DEVICE void gemv_codes_6(const uint32_t *power, const uint32_t *base, const uint32_t *high,
                              int half, float *codes)
{
    SIMT_UNROLL for (int c = 0; c < 4; c++)
    {
        uint32_t low =
            simt_permute_bytes(base[2 * half], base[2 * half + 1], c < 2 ? 0x6420 : 0x7531);
        uint32_t top = c < 2 ? high[half] << (4 - 2 * c) : high[half] >> (2 * c - 4);
        gemv_bytes(power, ((c % 2 == 0 ? low : low >> 4) & 0x0f0f0f0f) | (top & 0x30303030), 6,
                   codes + c, 4);
    }
}

SIMT_DEVICE void gemv_codes_8(const uint32_t *power, const uint32_t *base, float *codes)
{
    SIMT_UNROLL for (int i = 0; i < GEMV_HALF; i++)
    {
        uint32_t word = base[i / 4] ^ 0x80808080u;
        codes[i] = gemv_number(power, i % 4 < 2 ? word : word >> 16, 8, i % 2 * 8, 128);
    }
}

template <int bits>
SIMT_DEVICE void gemv_codes(const uint32_t *power, const uint32_t *base, const uint32_t *high,
                            int half, float *codes)
{
    if (bits == 4)
        gemv_codes_4(power, base, half, codes);
    else if (bits == 5)
        gemv_codes_5(power, base, high, half, codes);
    else if (bits == 6)
        gemv_codes_6(power, base, high, half, codes);
    else
        gemv_codes_8(power, base, codes);
}

/* Adds the products of a chunk to the sums of its rows. */
template <int bits>
SIMT_DEVICE void gemv_products(const struct gemv_call &p, struct simt_shared<uint32_t> stage,
                               struct simt_shared<float> x, int chunk, float *sums)
{
    typedef struct gemv_format<bits> format;
    struct simt_words base[GEMV_ROWS];
    uint32_t high[GEMV_ROWS][2];
    float partial[GEMV_ROWS];
    SIMT_UNROLL for (int r = 0; r < GEMV_ROWS; r++)
    {
        int at = r * 32 + simt_lane();
        base[r] = stage.load16(4 * at);
        SIMT_UNROLL for (int i = 0; i < format::high_words; i++) high[r][i] =
            stage.load(format::high_at + at * format::high_words + i);
        partial[r] = 0;
    }
    SIMT_UNROLL for (int half = 0; half < format::halves; half++)
    {
        float values[GEMV_HALF], codes[GEMV_HALF];
        SIMT_UNROLL for (int i = 0; i < 4; i++)
        {
            int piece = bits == 5 ? 2 * i + half : 4 * half + i;
            struct simt_words words = x.load16(gemv_piece<bits>(chunk * format::pieces + piece));
            SIMT_UNROLL for (int c = 0; c < 4; c++) values[4 * i + c] =
                simt_f32_from_bits(words.word[c]);
        }
        SIMT_UNROLL for (int r = 0; r < GEMV_ROWS; r++)
        {
            gemv_codes<bits>(p.power, base[r].word, high[r], half, codes);
            SIMT_UNROLL for (int i = 0; i < GEMV_HALF; i++) partial[r] =
                half == 0 && i == 0 ? values[0] * codes[0] : fmaf(values[i], codes[i], partial[r]);
        }
    }
    SIMT_UNROLL for (int r = 0; r < GEMV_ROWS; r++)
    {
        uint32_t pair = stage.load(format::scales_at + r * 32 + simt_lane());
        uint16_t scale = static_cast<uint16_t>(pair >> chunk / 2 % 2 * 16 & 0xffff);
        sums[r] = fmaf(partial[r], simt_f16_to_f32(scale), sums[r]);
    }
}

/* Column r of a quad. One rounding into y; y may be the residual. */
SIMT_DEVICE void gemv_store(const struct gemv_call &p, int64_t quad, int r, float sum)
{
    int64_t n = gemv_row(p, quad) + r;
    if (n < quad * p.quad_rows || r >= p.quad_rows)
        return;
    if (p.has_residual)
        sum += simt_load(reinterpret_cast<const float *>(p.residual.data) + n);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(p.y.data) + n, simt_bf16_from_f32(sum));
    else
        simt_store(reinterpret_cast<float *>(p.y.data) + n, sum);
}

/* The lanes' sums of each row added; lane r < 4 has that of row r. */
SIMT_DEVICE float gemv_total(float *sums)
{
    float total = 0;
    SIMT_UNROLL for (int r = 0; r < GEMV_ROWS; r++)
    {
        SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) sums[r] +=
            simt_shuffle_xor(SIMT_ALL_LANES, sums[r], bits);
        total = simt_lane() == r ? sums[r] : total;
        sums[r] = 0;
    }
    return total;
}

SIMT_DEVICE void gemv_advance(const struct gemv_call &p, int part, struct gemv_place *place)
{
    place->iteration += p.parts;
    if (place->iteration < p.iterations)
        return;
    place->iteration = part;
    place->quad += p.num_warps / p.parts * p.num_blocks;
}

/* A quad's totals, one a lane from lane 0 on. has_gates: of gate, up, gate, up of two columns. */
template <bool has_gates>
SIMT_DEVICE void gemv_store_quad(const struct gemv_call &p, int64_t quad, float total)
{
    int lane = simt_lane();
    if (has_gates)
        total = silu_times(total, simt_shuffle_down(SIMT_ALL_LANES, total, 1));
    if (lane < GEMV_ROWS && (!has_gates || lane % 2 == 0))
        gemv_store(p, quad, has_gates ? lane / 2 : lane, total);
}

/* Of row i % 4 of a block's quad i / 4: the sum of its parts, in their order. */
SIMT_DEVICE float gemv_joined(const struct gemv_call &p, struct simt_shared<float> totals, int i)
{
    float total = 0;
    for (int j = 0; j < p.parts; j++)
        total += totals.load((i / GEMV_ROWS * p.parts + j) * GEMV_ROWS + i % GEMV_ROWS);
    return total;
}

/* For the whole block, number `block` of those that take the matrix: it uses the block's dynamic
 * shared memory. Blocks take quads in turn, so that their numbers differ by one at most; warps
 * beyond num_warps come to the barriers only. */
template <int bits, bool is_aligned, bool has_gates>
SIMT_DEVICE void gemv_rows(const struct gemv_call &p, int block)
{
    typedef struct gemv_format<bits> format;
    int warps = p.num_warps, x_words = p.chunks * format::columns;
    int ring_words = warps * GEMV_STAGES * format::stage_words;
    SIMT_SHARED_DYNAMIC(float, x, 0, x_words);
    SIMT_SHARED_DYNAMIC(uint32_t, ring, 4 * x_words, ring_words);
    SIMT_SHARED_DYNAMIC(float, totals, 4 * (x_words + ring_words), warps * GEMV_ROWS);
    int part = simt_warp() % p.parts, first = simt_warp() * GEMV_STAGES * format::stage_words;
    struct gemv_place place = {int64_t{simt_warp() / p.parts * p.num_blocks + block}, part};
    if (simt_warp() >= warps)
        place.quad = p.quads;
    struct gemv_place ahead = place;
    SIMT_UNROLL for (int i = 0; i < GEMV_STAGES - 1; i++)
    {
        if (ahead.quad < p.quads)
            gemv_stage<bits, is_aligned>(
                p, ring.slice(first + i * format::stage_words, format::stage_words), ahead);
        simt_copy_commit();
        gemv_advance(p, part, &ahead);
    }
    gemv_stage_x<bits>(p, x);
    simt_sync_block();

    float sums[GEMV_ROWS] = {0, 0, 0, 0}, total = 0;
    int stage = 0, free_stage = GEMV_STAGES - 1;
    while (place.quad < p.quads) {
        if (ahead.quad < p.quads)
            gemv_stage<bits, is_aligned>(
                p, ring.slice(first + free_stage * format::stage_words, format::stage_words),
                ahead);
        simt_copy_commit();
        simt_copy_wait<GEMV_STAGES - 1>();
        int chunk = place.iteration * 32 + simt_lane();
        if (chunk < p.chunks)
            gemv_products<bits>(
                p, ring.slice(first + stage * format::stage_words, format::stage_words), x, chunk,
                sums);
        if (place.iteration + p.parts >= p.iterations) {
            total = gemv_total(sums);
            if (p.parts == 1)
                gemv_store_quad<has_gates>(p, place.quad, total);
        }
        gemv_advance(p, part, &ahead);
        gemv_advance(p, part, &place);
        free_stage = stage;
        stage = stage + 1 < GEMV_STAGES ? stage + 1 : 0;
    }
    simt_copy_wait<0>();
    if (p.parts == 1)
        return;
    if (simt_lane() < GEMV_ROWS && simt_warp() < warps)
        totals.store(simt_warp() * GEMV_ROWS + simt_lane(), total);
    simt_sync_block();
    int i = simt_thread();
    if (i >= warps / p.parts * GEMV_ROWS || (has_gates && i % 2 != 0))
        return;
    total = gemv_joined(p, totals, i);
    if (has_gates)
        total = silu_times(total, gemv_joined(p, totals, i + 1));
    gemv_store(p, i / GEMV_ROWS * p.num_blocks + block,
               has_gates ? i % GEMV_ROWS / 2 : i % GEMV_ROWS, total);
}

/* ---- launch --------------------------------------------------------------------------------- */

/* As few warps as give each the same number of quads, then parts while there are warps left and
 * each has two iterations. Sets these numbers, parts only where they are 0: they decide about the
 * order of a sum. Gives the bytes of shared memory. */
template <int bits> static size_t gemv_plan_of(struct gemv_call *p, int64_t most_blocks)
{
    typedef struct gemv_format<bits> format;
    p->chunks = static_cast<int>((p->inner + format::columns - 1) / format::columns);
    p->iterations = (p->chunks + 31) / 32;
    int64_t blocks = p->quads < most_blocks ? p->quads : most_blocks;
    int64_t in_block = (p->quads + blocks - 1) / blocks;
    int x_bytes = 4 * p->chunks * format::columns;
    int warp_bytes = 4 * (GEMV_STAGES * format::stage_words + GEMV_ROWS);
    int most = (GEMV_SHARED - x_bytes) / warp_bytes;
    if (most > GEMV_MAX_WARPS)
        most = GEMV_MAX_WARPS;
    int64_t turns = (in_block + most - 1) / most;
    int64_t warps = (in_block + turns - 1) / turns;
    if (p->parts == 0) {
        p->parts = 1;
        while (turns == 1 && p->parts < GEMV_MAX_PARTS && warps * 2 * p->parts <= most &&
               p->iterations >= 4 * p->parts)
            p->parts *= 2;
    }
    warps *= p->parts;
    p->num_blocks = static_cast<int>(blocks);
    p->num_warps = static_cast<int>(warps);
    p->most_warps = most;
    return static_cast<size_t>(x_bytes + warps * warp_bytes);
}

static inline size_t gemv_plan(struct gemv_call *p, int64_t most_blocks)
{
    return p->w.bits == 4   ? gemv_plan_of<4>(p, most_blocks)
           : p->w.bits == 5 ? gemv_plan_of<5>(p, most_blocks)
           : p->w.bits == 6 ? gemv_plan_of<6>(p, most_blocks)
                            : gemv_plan_of<8>(p, most_blocks);
}

/* Every row of every plane starts where copies may. */
static inline bool gemv_is_aligned(const struct grouped_view &w)
{
    uintptr_t high_bytes = w.bits == 5 ? 4 : 8;
    uintptr_t base = reinterpret_cast<uintptr_t>(w.base) | static_cast<uintptr_t>(w.base_stride);
    uintptr_t high = reinterpret_cast<uintptr_t>(w.high) | static_cast<uintptr_t>(w.high_stride);
    uintptr_t scales =
        reinterpret_cast<uintptr_t>(w.scales) | static_cast<uintptr_t>(w.scales_stride);
    return base % 16 == 0 && high % high_bytes == 0 && scales % 4 == 0;
}

/* For one matrix; parts are not chosen. */
static inline struct gemv_call gemv_call_of(const struct assay_linear_grouped_args *a)
{
    struct gemv_call p = {};
    p.x = row_view_of(&a->x);
    p.residual = row_view_of(&a->residual);
    p.y = row_view_of(&a->y);
    p.w = grouped_view_of(&a->w);
    p.columns = a->w.rows;
    p.inner = a->w.columns;
    p.quad_rows = p.columns >= GEMV_ROWS ? GEMV_ROWS : 1;
    p.quads = (p.columns + p.quad_rows - 1) / p.quad_rows;
    const int64_t strides[3] = {p.w.base_stride, p.w.high_stride, p.w.scales_stride};
    for (int i = 0; i < 3; i++)
        p.row_bytes[i] = p.next_bytes[i] = p.quad_rows > 1 ? strides[i] : 0;
    for (unsigned i = 0; i < 5; i++)
        p.power[i] = (127 + 23 - 4 * i) << 23;
    p.has_residual = a->residual.data != NULL;
    return p;
}

#endif
