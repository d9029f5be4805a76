/* SPDX-License-Identifier: MIT
 *
 * Codes of grouped formats as operands of mma, and steps: 128 bytes of the base plane of some rows,
 * with what belongs to them of the other planes, that a warp copies into its own part of shared
 * memory. Steps know views of rows; which row and columns a view is their user says.
 *
 * Columns come in units of 64, four slices of 16 for mma. Which columns make a slice does not
 * matter as long as both operands agree, so a lane takes the columns whose codes lie side by side:
 * 16 of each of its rows (q8g32: 8 of each of the unit's two groups).
 */
#ifndef ASSAY_GROUPED_STEPS_CUH
#define ASSAY_GROUPED_STEPS_CUH

#include "ops/linear_grouped/grouped_planes.cuh"

enum { GROUPED_QUAD = 16 /* columns of a unit that a lane of a quad takes */ };
enum { GROUPED_STEP = 128 /* bytes of the base plane */ };

/* ---- codes ---------------------------------------------------------------------------------- */

/* The columns, of the 16 of a lane, that are the low and the high half of word j of slices 2 half
 * and 2 half + 1: those whose codes grouped_pairs has side by side. */
template <int bits> SIMT_DEVICE int grouped_low_column(int half, int j)
{
    return bits == 8 ? 8 * half + j / 2 * 4 + j % 2 : bits == 4 ? 8 * half + j : 4 * half + j;
}

template <int bits> SIMT_DEVICE int grouped_high_column(int half, int j)
{
    return grouped_low_column<bits>(half, j) + (bits == 8 ? 2 : bits == 4 ? 4 : 8);
}

/* The 16 codes of a lane and view in a unit as pairs of bf16: 128 + u is put together from bits,
 * the offset subtracted exactly. Register r of slice s of mma is pairs[2 s + r]. q4g64: columns i
 * and i + 4 of a word of the base plane, i = 0 .. 3. q5g64, q6g64: columns i and i + 8 of two
 * words, whose bits of the high plane are as far apart as their place there asks for. q8g32:
 * columns 0 and 2, 1 and 3 of a word; the sign bit makes 256 of 128. */
SIMT_DEVICE void grouped_pairs_low(uint32_t magic, const uint32_t *base, uint32_t *pairs)
{
    SIMT_UNROLL for (int i = 0; i < 8; i++) pairs[i] =
        simt_bf16x2_subtract((base[i / 4] >> i % 4 * 4 & 0x000f000fu) | magic, 0x43084308u);
}

template <int bits>
SIMT_DEVICE void grouped_pairs_high(uint32_t magic, const uint32_t *base, uint32_t high,
                                    uint32_t *pairs)
{
    const bool is_5 = bits == 5;
    if (is_5)
        high |= high << 12;
    SIMT_UNROLL for (int i = 0; i < 4; i++)
    {
        uint32_t select = is_5 ? (i < 2 ? 0x6240 : 0x7351) : (i < 2 ? 0x6420 : 0x7531);
        uint32_t four = simt_permute_bytes(base[0], base[1], select) >> i % 2 * 4;
        int place = (bits - 4) * i; /* of the high bits, to be at 4 */
        uint32_t top = place < 4 ? high << (4 - place) : high >> (place - 4);
        four = (four & 0x0f0f0f0fu) | (top & (is_5 ? 0x10101010u : 0x30303030u));
        const uint32_t offset = is_5 ? 0x43104310u : 0x43204320u;
        pairs[i] =
            simt_bf16x2_subtract(simt_permute_bytes(four, magic, is_5 ? 0x5150 : 0x5250), offset);
        pairs[4 + i] =
            simt_bf16x2_subtract(simt_permute_bytes(four, magic, is_5 ? 0x5352 : 0x5351), offset);
    }
}

SIMT_DEVICE void grouped_pairs_8(uint32_t magic, const uint32_t *base, uint32_t *pairs)
{
    SIMT_UNROLL for (int i = 0; i < 4; i++)
    {
        uint32_t w = base[i / 2] >> i % 2 * 8;
        pairs[i] = simt_bf16x2_subtract((w & 0x007f007fu) | magic, (w & 0x00800080u) | magic);
    }
}

/* Of the two words of a group that a lane has; q5g64: its 16 bits of the high plane, q6g64: 32. */
template <int bits>
SIMT_DEVICE void grouped_pairs(uint32_t magic, const uint32_t *base, uint32_t high, uint32_t *pairs)
{
    if (bits == 4)
        grouped_pairs_low(magic, base, pairs);
    else if (bits == 8)
        grouped_pairs_8(magic, base, pairs);
    else
        grouped_pairs_high<bits>(magic, base, high, pairs);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Bytes of a stage: base plane, high plane, scales of each view. */
template <int bits_, int views_> struct grouped_step {
    static const int bits = bits_, views = views_;
    static const int groups = bits == 8 ? 2 : 1;     /* of a unit */
    static const int step_units = bits == 8 ? 2 : 4; /* 128 bytes of the base plane */
    static const int high_row = bits == 5 ? 32 : bits == 6 ? 64 : 0;
    static const int high_at = views * GROUPED_STEP;
    static const int scales_row = 2 * groups * step_units;
    static const int scales_at = high_at + views * high_row;
    static const int stage_bytes = scales_at + views * scales_row;
};

/* One memory, seen as elements of each size. */
struct grouped_memory {
    struct simt_shared<unsigned char> bytes;
    struct simt_shared<uint16_t> halves;
    struct simt_shared<uint32_t> words;
    struct simt_shared<uint64_t> pairs;
};

/* The 16-byte piece of a view stands at another place in each of the views whose lanes read at the
 * same time. */
SIMT_DEVICE int grouped_base_at(int view, int piece)
{
    return view * GROUPED_STEP + 16 * (piece ^ 2 * (view % 4));
}

template <typename step> SIMT_DEVICE int grouped_high_at(int view, int piece)
{
    int turn = step::bits == 5 ? view / 4 % 2 : view / 2 % 4;
    return step::high_at + view * step::high_row + 16 * (piece ^ turn);
}

/* `bytes` bytes to `at`, the first `valid` of them from `from`, zeros then. */
template <int bytes, bool is_aligned>
SIMT_DEVICE void grouped_copy(const struct grouped_memory &memory, int at,
                              const unsigned char *from, int valid)
{
    if (is_aligned)
        simt_copy_async_part<bytes>(memory.bytes.at(at), from, valid);
    else
        SIMT_ROLLED for (int i = 0; i < bytes; i++) memory.bytes.store(
            at + i, i < valid ? simt_load_constant(from + i) : static_cast<unsigned char>(0));
}

/* Where a lane's numbers stand in the stage at `stage`: group 0 of view lane / 4, in units of what
 * is loaded. Stages start at multiples of 128 bytes, so that another group is an exclusive or away,
 * and another view a constant distance. */
struct grouped_lane {
    unsigned pairs, high, scales;
};

template <typename step> SIMT_DEVICE struct grouped_lane grouped_lane_of(int stage)
{
    static_assert(step::stage_bytes % 128 == 0, "see above");
    unsigned lane = static_cast<unsigned>(simt_lane()), row = lane / 4, q = lane % 4;
    unsigned at = static_cast<unsigned>(stage), high_at = at + step::high_at + row * step::high_row;
    unsigned high = step::bits == 5 ? high_at / 2 + 8 * (row / 4) : high_at / 4 + 4 * (row / 2);
    return {at / 8 + row * (GROUPED_STEP / 8) + 4 * (row % 4) + q, high + q,
            (at + static_cast<unsigned>(step::scales_at)) / 8 + row};
}

/* Pairs of view lane / 4 + 8 eighth, in a unit of the step. */
template <typename step>
SIMT_DEVICE void grouped_row_pairs(uint32_t magic, const struct grouped_memory &memory,
                                   const struct grouped_lane &at, int eighth, int unit,
                                   uint32_t *pairs)
{
    unsigned first = 4 * static_cast<unsigned>(unit);
    uint32_t high = 0;
    if (step::bits == 5)
        high = memory.halves.load((at.high ^ first) +
                                  static_cast<unsigned>(4 * eighth * step::high_row));
    if (step::bits == 6)
        high = memory.words.load((at.high ^ first) +
                                 static_cast<unsigned>(2 * eighth * step::high_row));
    SIMT_UNROLL for (int group = 0; group < step::groups; group++)
    {
        unsigned place = 4 * static_cast<unsigned>(unit * step::groups + group);
        uint64_t pair =
            memory.pairs.load((at.pairs ^ place) + static_cast<unsigned>(eighth * GROUPED_STEP));
        uint32_t base[2] = {static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32)};
        grouped_pairs<step::bits>(magic, base, high, pairs + 4 * group);
    }
}

#endif
