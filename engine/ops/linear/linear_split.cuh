/* SPDX-License-Identifier: MIT
 *
 * binary32 activations as sums of two bf16 numbers, for tensor cores: x = high + low + r.
 *
 * high = x rounded to bf16, low = x - high rounded to bf16; the difference is exact. So
 * |r| <= 2^-17 |x| + 2^-134. Two corrections keep the class of x in `high`, which alone then
 * decides about infinities and NaN: a finite x does not round to infinity (the largest finite value
 * stands instead; what is left is below half of its last place), and a nonzero x does not round to
 * zero (the smallest subnormal stands instead).
 */
#ifndef ASSAY_LINEAR_SPLIT_CUH
#define ASSAY_LINEAR_SPLIT_CUH

#include "ops/linear/linear_device.cuh"

SIMT_DEVICE void linear_split_value(float x, uint16_t *high, uint16_t *low)
{
    uint32_t magnitude = simt_f32_bits(x) & 0x7fffffffu;
    uint32_t word = simt_bf16_from_f32(x);
    bool is_finite = magnitude < 0x7f800000u;
    if (is_finite && (word & 0x7fffu) == 0x7f80u)
        word -= 1;
    if (magnitude != 0 && (word & 0x7fffu) == 0)
        word |= 1;
    *high = static_cast<uint16_t>(word);
    *low = is_finite ? simt_bf16_from_f32(x - simt_bf16_to_f32(*high)) : static_cast<uint16_t>(0);
}

/* Both parts as planes [T, pitch] of bf16 behind each other, the low one first; columns from K on
 * are zeros. A thread a chunk. */
SIMT_KERNEL(linear_split)(struct linear_call p, unsigned char *planes, int64_t pitch)
{
    int64_t chunks = pitch / ROW_CHUNK, plane_bytes = p.rows * pitch * 2;
    int64_t i = static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (; i < p.rows * chunks; i += step) {
        int64_t row = i / chunks, k = i % chunks * ROW_CHUNK;
        float x[ROW_CHUNK];
        uint16_t high[ROW_CHUNK], low[ROW_CHUNK];
        row_load_chunk<true>(p.x, linear_row(p.x, row), k, p.inner, x);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) linear_split_value(x[j], &high[j], &low[j]);
        struct simt_words high_words, low_words;
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            high_words.word[j] = high[2 * j] | static_cast<uint32_t>(high[2 * j + 1]) << 16;
            low_words.word[j] = low[2 * j] | static_cast<uint32_t>(low[2 * j + 1]) << 16;
        }
        unsigned char *to = planes + (row * pitch + k) * 2;
        simt_store16(to, low_words);
        simt_store16(to + plane_bytes, high_words);
    }
}

/* bf16 activations for tensor cores: x itself, or the planes. */
struct linear_planes {
    struct row_view x;   /* of the first plane */
    int64_t inner;       /* columns that may be read */
    int64_t plane_bytes; /* from one plane to the next */
    int count;           /* 1; 2: low, high */
};

static inline assay_status linear_planes_of(const struct linear_call *p, struct simt_launch *launch,
                                            struct linear_planes *planes)
{
    enum { THREADS = 256, MAX_BLOCKS = 4096 };
    *planes = {p->x, p->inner, 0, 1};
    if (p->x.is_bf16)
        return ASSAY_OK;
    int64_t pitch = linear_split_pitch(p->inner);
    int64_t most = MAX_BLOCKS, blocks = (p->rows * (pitch / ROW_CHUNK) + THREADS - 1) / THREADS;
    unsigned char *memory = static_cast<unsigned char *>(launch->workspace);
    *planes = {{memory, 1, pitch * 2, 0, true, true}, pitch, p->rows * pitch * 2, 2};
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, linear_split, *p, memory, pitch);
}

#endif
