/* SPDX-License-Identifier: MIT
 *
 * linear_a8's operands as its kernels see them, and the kernel that quantises x for them.
 *
 * The integer sum of a group does not depend on the order of its columns, so x is stored in the
 * order in which w is cheap to unpack. mma m16n8k32 takes from lane q of a quad bytes 4 q .. + 3
 * (half 0) and 16 + 4 q .. + 3 (half 1) of 32 columns. A 32-bit word of the base plane has eight
 * columns, one a nibble: masked it is their even columns, shifted and masked their odd ones. So
 * of the eight words of a group lane q takes words 2 q and 2 q + 1, one for each of the two mma
 * (`slice`), and half h has columns 2 i + h of the word. q8g32 has one weight group a slice: lane
 * q takes columns 8 q + 4 h + i of the slice.
 *
 * Codes of w stand in the upper bits of their byte, code * 2^(8 - bits): a nibble with its upper
 * bit turned is that at once. The sums carry the factor, at most 64 * 127 * 128 < 2^22, to the end.
 */
#ifndef ASSAY_A8_DEVICE_CUH
#define ASSAY_A8_DEVICE_CUH

#include "cuda/rows.cuh"
#include "ops/linear_a8/linear_a8_routes.h"

struct a8_plane {
    const unsigned char *data;
    int64_t stride; /* bytes from row to row */
};

struct a8_call {
    struct row_view x, residual, y; /* residual.data NULL: none */
    struct a8_plane base, high, scales;
    int bits, group;
    int64_t rows, columns, inner, padded; /* T, N, K, K with its padding */
    int64_t groups;                       /* of w that hold a column below K */
    float unit;                           /* of the sums: 2^(bits - 8) */
    unsigned char *codes;                 /* of x, in the workspace */
    float *x_scales;                      /* [padded / 64][pitch] */
    int64_t scale_groups;                 /* of x that have a scale in A8_BLOCKS */
    int64_t pitch;                        /* rows of x, rounded up */
};

static inline struct a8_plane a8_plane_of(const struct assay_tensor *tensor)
{
    return {static_cast<const unsigned char *>(tensor->data),
            tensor->stride[0] * static_cast<int64_t>(assay_dtype_bytes(tensor->dtype))};
}

/* tile: what the workspace's rows are a multiple of. */
static inline struct a8_call a8_call_of(const void *args, const struct simt_launch *launch,
                                        int64_t tile)
{
    const struct assay_linear_a8_args *a = static_cast<const struct assay_linear_a8_args *>(args);
    struct a8_call p = {};
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    if (a->residual.data != NULL)
        p.residual = row_view_of(&a->residual);
    p.base = a8_plane_of(&a->w.base);
    p.scales = a8_plane_of(&a->w.scales);
    p.bits = assay_weight_bits(a->w.format);
    if (p.bits == 5 || p.bits == 6)
        p.high = a8_plane_of(&a->w.high);
    p.group = static_cast<int>(assay_weight_group(a->w.format));
    p.rows = a->x.extent[0];
    p.columns = a->w.rows;
    p.inner = a->w.columns;
    p.padded = a8_padded(p.inner);
    p.groups = (p.inner + p.group - 1) / p.group;
    p.unit = 1.0f / static_cast<float>(1 << (8 - p.bits));
    p.pitch = a8_device_pitch(p.rows, tile);
    p.scale_groups = a8_scale_groups(p.padded);
    p.codes = static_cast<unsigned char *>(launch->workspace);
    p.x_scales = reinterpret_cast<float *>(p.codes + p.pitch * p.padded);
    return p;
}

enum { A8_MOST_STRIDE = 1 << 23 }; /* bytes: 128 rows are within 32 bits of each other */

/* The copies of the kernels move 16 bytes of planes and all scales of 128 columns. */
static inline bool a8_is_regular(const struct a8_call &p)
{
    uintptr_t planes =
        reinterpret_cast<uintptr_t>(p.base.data) | static_cast<uintptr_t>(p.base.stride) |
        reinterpret_cast<uintptr_t>(p.high.data) | static_cast<uintptr_t>(p.high.stride);
    uintptr_t scales =
        reinterpret_cast<uintptr_t>(p.scales.data) | static_cast<uintptr_t>(p.scales.stride);
    return planes % 16 == 0 && scales % (256 / static_cast<unsigned>(p.group)) == 0 &&
           p.base.stride < A8_MOST_STRIDE && p.high.stride < A8_MOST_STRIDE &&
           p.scales.stride < A8_MOST_STRIDE && p.padded < A8_MOST_STRIDE;
}

/* ---- x -------------------------------------------------------------------------------------- */

enum a8_order {
    A8_ROWS,     /* codes[t][padded] */
    A8_BLOCKS,   /* the same; scales in binary16, [group / 16][t / 8][group % 16 / 8][t % 8][group %
                  * 8], zeros for groups that are not there */
    A8_FRAGMENTS /* codes[t / 8][group][lane 4 (t % 8) + q][slice][half][i]: what a lane loads */
};

SIMT_DEVICE uint32_t a8_codes(const float *x, int step, float inverse)
{
    uint32_t word = 0;
    SIMT_UNROLL for (int i = 0; i < 4; i++)
    {
        int code = static_cast<int>(rintf(x[i * step] * inverse));
        code = code > A8_LARGEST ? A8_LARGEST : code < -A8_LARGEST ? -A8_LARGEST : code;
        word |= (static_cast<uint32_t>(code) & 0xff) << 8 * i;
    }
    return word;
}

/* Eight lanes a group, each with eight columns: [LINEARA8-1] and [LINEARA8-6]. Rows from p.rows to
 * the pitch become zeros. Of magnitudes as words NaN and infinities are the largest. */
template <int order> SIMT_KERNEL(a8_quantise_rows)(struct a8_call p)
{
    int64_t columns = order == A8_BLOCKS ? p.scale_groups * A8_GROUP : p.padded;
    int64_t chunks = columns / ROW_CHUNK, threads = simt_block_extent().x;
    for (int64_t at = simt_block_index().x * threads + simt_thread(); at < p.pitch * chunks;
         at += threads * simt_grid_extent().x) {
        int64_t row = at / chunks, k = at % chunks * ROW_CHUNK, group = k / A8_GROUP;
        float x[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (row < p.rows)
            row_load_chunk<true>(p.x, p.x.data + row * p.x.outer_stride, k, p.inner, x);
        uint32_t largest = simt_f32_bits(1e-20f);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        {
            uint32_t magnitude = simt_f32_bits(x[i]) & 0x7fffffffu;
            largest = magnitude > largest ? magnitude : largest;
        }
        SIMT_UNROLL for (int bits = 4; bits > 0; bits /= 2)
        {
            uint32_t other = simt_shuffle_xor(SIMT_ALL_LANES, largest, bits);
            largest = other > largest ? other : largest;
        }
        float amax = simt_f32_from_bits(largest), most = A8_LARGEST;
        float scale = simt_f16_to_f32(simt_f16_from_f32(amax / most));
        bool is_good = largest < 0x7f800000u && scale <= 65504.0f;
        float inverse = is_good ? most / amax : 0;
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) x[i] = is_good ? x[i] : 0;
        if (k >= p.inner || row >= p.rows)
            scale = 0;
        else if (!is_good)
            scale = simt_f32_from_bits(0x7fc00000u);

        int j = static_cast<int>(k % A8_GROUP) / ROW_CHUNK;
        bool is_q8 = p.bits == 8;
        int slice = is_q8 ? j / 4 : j % 2, q = is_q8 ? j % 4 : j / 2;
        uint32_t halves[2] = {is_q8 ? a8_codes(x, 1, inverse) : a8_codes(x, 2, inverse),
                              is_q8 ? a8_codes(x + 4, 1, inverse) : a8_codes(x + 1, 2, inverse)};
        if (order == A8_BLOCKS && k >= p.padded) {
            /* scales only */
        } else if (order != A8_FRAGMENTS) {
            unsigned char *to = p.codes + row * p.padded + group * A8_GROUP + 32 * slice + 4 * q;
            simt_store(reinterpret_cast<uint32_t *>(to), halves[0]);
            simt_store(reinterpret_cast<uint32_t *>(to + 16), halves[1]);
        } else {
            int64_t tile = row / 8 * (p.padded / A8_GROUP) + group;
            unsigned char *to = p.codes + tile * 512 + (4 * (row % 8) + q) * 16 + 8 * slice;
            simt_store(reinterpret_cast<uint64_t *>(to),
                       static_cast<uint64_t>(halves[1]) << 32 | halves[0]);
        }
        if (j == 0 && order == A8_BLOCKS)
            simt_store(reinterpret_cast<uint16_t *>(p.x_scales) +
                           ((group / 16 * (p.pitch / 8) + row / 8) * 2 + group % 16 / 8) * 64 +
                           row % 8 * 8 + group % 8,
                       simt_f16_from_f32(scale));
        else if (j == 0)
            simt_store(p.x_scales + group * p.pitch + row, scale);
    }
}

template <int order>
static assay_status a8_quantise_launch(const struct a8_call &p, struct simt_launch *launch)
{
    enum { THREADS = 256, MAX_BLOCKS = 8192 };
    int64_t most = MAX_BLOCKS, columns = order == A8_BLOCKS ? p.scale_groups * A8_GROUP : p.padded;
    int64_t items = p.pitch * (columns / ROW_CHUNK);
    int64_t blocks = (items + THREADS - 1) / THREADS;
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, a8_quantise_rows<order>, p);
}

/* ---- w -------------------------------------------------------------------------------------- */

/* Even columns 0, 2, 4, 6 of a word of eight nibbles and the bits beside them, one a byte, in the
 * upper bits; `odd` the others. extra: one bit (q5) or two (q6) a column. */
template <int bits>
SIMT_DEVICE void a8_unpack(uint32_t word, uint32_t extra, uint32_t *even, uint32_t *odd)
{
    if (bits == 4) {
        *even = (word << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
        *odd = (word & 0xf0f0f0f0u) ^ 0x80808080u;
    } else if (bits == 5) {
        /* The copies of bit 2 i at 2 i + 6 j meet bit 8 i for j = i only, and no carry gets there.
         */
        uint32_t high_even = (extra & 0x55) * 0x41041u & 0x01010101u;
        uint32_t high_odd = (extra >> 1 & 0x55) * 0x41041u & 0x01010101u;
        *even = ((word << 3 & 0x78787878u) | high_even << 7) ^ 0x80808080u;
        *odd = ((word >> 1 & 0x78787878u) | high_odd << 7) ^ 0x80808080u;
    } else {
        uint32_t high_even = extra & 0x3333, high_odd = extra >> 2 & 0x3333;
        high_even = (high_even | high_even << 8) & 0x00ff00ffu;
        high_odd = (high_odd | high_odd << 8) & 0x00ff00ffu;
        high_even = (high_even | high_even << 4) & 0x03030303u;
        high_odd = (high_odd | high_odd << 4) & 0x03030303u;
        *even = ((word << 2 & 0x3c3c3c3cu) | high_even << 6) ^ 0x80808080u;
        *odd = ((word >> 2 & 0x3c3c3c3cu) | high_odd << 6) ^ 0x80808080u;
    }
}

/* Adding integers below 2^22 to the word of 1.5 * 2^23 counts in units of its last place. */
enum { A8_MAGIC = 0x4b400000 };

SIMT_DEVICE float a8_sum(int d)
{
    return simt_f32_from_bits(static_cast<uint32_t>(d)) - 12582912.0f;
}

/* ---- y -------------------------------------------------------------------------------------- */

SIMT_DEVICE float a8_residual(const struct a8_call &p, int64_t row, int64_t column)
{
    const unsigned char *from = p.residual.data + row * p.residual.outer_stride;
    return simt_load(reinterpret_cast<const float *>(from) + column);
}

SIMT_DEVICE void a8_store(const struct a8_call &p, int64_t row, int64_t column, float acc)
{
    float value = acc * p.unit;
    if (p.residual.data != NULL)
        value += a8_residual(p, row, column);
    unsigned char *to = p.y.data + row * p.y.outer_stride;
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(to) + column, simt_bf16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(to) + column, value);
}

/* Two columns, the first an even one, as far as y has them. */
SIMT_DEVICE void a8_store_pair(const struct a8_call &p, int64_t row, int64_t column, float first,
                               float second)
{
    if (row >= p.rows || column >= p.columns)
        return;
    if (!p.y.is_aligned || column + 1 == p.columns) {
        a8_store(p, row, column, first);
        if (column + 1 < p.columns)
            a8_store(p, row, column + 1, second);
        return;
    }
    first *= p.unit;
    second *= p.unit;
    if (p.residual.data != NULL) {
        first += a8_residual(p, row, column);
        second += a8_residual(p, row, column + 1);
    }
    unsigned char *to = p.y.data + row * p.y.outer_stride + column * (p.y.is_bf16 ? 2 : 4);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint32_t *>(to), simt_bf16x2_from_f32(first, second));
    else
        simt_store(reinterpret_cast<uint64_t *>(to),
                   static_cast<uint64_t>(simt_f32_bits(second)) << 32 | simt_f32_bits(first));
}

#endif
