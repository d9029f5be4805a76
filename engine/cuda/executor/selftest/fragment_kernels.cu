/* SPDX-License-Identifier: MIT
 *
 * One-warp kernels for the fixtures; see the header.
 */
#include "cuda/executor/selftest/fragment_kernels.h"

#include "cuda/simt.cuh"

enum { A_WORDS = 4, B_WORDS = 2, C_WORDS = 4 };

struct mma_words {
    uint32_t a[A_WORDS], b[B_WORDS], c[C_WORDS];
};

SIMT_DEVICE struct mma_words load_operands(const uint32_t *in)
{
    struct mma_words m;
    in += simt_lane() * (A_WORDS + B_WORDS + C_WORDS);
    for (int i = 0; i < A_WORDS; i++)
        m.a[i] = simt_load(in + i);
    for (int i = 0; i < B_WORDS; i++)
        m.b[i] = simt_load(in + A_WORDS + i);
    for (int i = 0; i < C_WORDS; i++)
        m.c[i] = simt_load(in + A_WORDS + B_WORDS + i);
    return m;
}

SIMT_KERNEL(mma_bf16)(const uint32_t *in, uint32_t *out)
{
    struct mma_words m = load_operands(in);
    float d[C_WORDS];
    for (int i = 0; i < C_WORDS; i++)
        d[i] = simt_f32_from_bits(m.c[i]);
    simt_mma_bf16(d, m.a, m.b, d);
    for (int i = 0; i < C_WORDS; i++)
        simt_store(out + simt_lane() * C_WORDS + i, simt_f32_bits(d[i]));
}

SIMT_KERNEL(mma_f16)(const uint32_t *in, uint32_t *out)
{
    struct mma_words m = load_operands(in);
    float d[C_WORDS];
    for (int i = 0; i < C_WORDS; i++)
        d[i] = simt_f32_from_bits(m.c[i]);
    simt_mma_f16(d, m.a, m.b, d);
    for (int i = 0; i < C_WORDS; i++)
        simt_store(out + simt_lane() * C_WORDS + i, simt_f32_bits(d[i]));
}

SIMT_KERNEL(mma_s8)(const uint32_t *in, uint32_t *out)
{
    struct mma_words m = load_operands(in);
    int d[C_WORDS];
    for (int i = 0; i < C_WORDS; i++)
        d[i] = static_cast<int>(m.c[i]);
    simt_mma_s8(d, m.a, m.b, d);
    for (int i = 0; i < C_WORDS; i++)
        simt_store(out + simt_lane() * C_WORDS + i, static_cast<uint32_t>(d[i]));
}

/* Lane l's four input words are row l of a 32 x 8 tile of 16-bit elements; the tile comes by
 * cp.async. */
template <int count, bool transposed>
SIMT_DEVICE void load_matrices(const uint32_t *in, uint32_t *out)
{
    SIMT_SHARED(uint32_t, tile, FRAGMENT_LANES * 4);
    int lane = simt_lane();
    uint32_t registers[count];
    simt_copy_async<16>(tile.at(4 * lane), in + 4 * lane);
    simt_copy_commit();
    simt_copy_wait<0>();
    simt_sync_warp(SIMT_ALL_LANES);
    if (transposed)
        simt_ldmatrix_transposed<count>(registers, tile.at(4 * lane));
    else
        simt_ldmatrix<count>(registers, tile.at(4 * lane));
    for (int i = 0; i < count; i++)
        simt_store(out + lane * count + i, registers[i]);
}

SIMT_KERNEL(ldmatrix_x1)(const uint32_t *in, uint32_t *out)
{
    load_matrices<1, false>(in, out);
}

SIMT_KERNEL(ldmatrix_x2)(const uint32_t *in, uint32_t *out)
{
    load_matrices<2, false>(in, out);
}

SIMT_KERNEL(ldmatrix_x4)(const uint32_t *in, uint32_t *out)
{
    load_matrices<4, false>(in, out);
}

SIMT_KERNEL(ldmatrix_x1_trans)(const uint32_t *in, uint32_t *out)
{
    load_matrices<1, true>(in, out);
}

SIMT_KERNEL(ldmatrix_x2_trans)(const uint32_t *in, uint32_t *out)
{
    load_matrices<2, true>(in, out);
}

SIMT_KERNEL(ldmatrix_x4_trans)(const uint32_t *in, uint32_t *out)
{
    load_matrices<4, true>(in, out);
}

/* in: a value, a lane to read from. out: by index, xor, up, down, a vote, and a binary64 shuffle.
 */
SIMT_KERNEL(shuffle)(const uint32_t *in, uint32_t *out)
{
    int lane = simt_lane();
    uint32_t value = simt_load(in + 2 * lane);
    int source = static_cast<int>(simt_load(in + 2 * lane + 1) % 32);
    out += 6 * lane;
    simt_store(out + 0, simt_shuffle(SIMT_ALL_LANES, value, source));
    simt_store(out + 1, simt_shuffle_xor(SIMT_ALL_LANES, value, 5));
    simt_store(out + 2, simt_shuffle_up(SIMT_ALL_LANES, value, 3));
    simt_store(out + 3, simt_shuffle_down(SIMT_ALL_LANES, value, 7));
    simt_store(out + 4, simt_ballot(SIMT_ALL_LANES, value % 2 == 1));
    double wide = simt_shuffle_xor(SIMT_ALL_LANES, static_cast<double>(value), 16);
    simt_store(out + 5, static_cast<uint32_t>(wide));
}

/* in: two binary32 words. out: packed bf16, packed fp16, and the low halves back in binary32. */
SIMT_KERNEL(formats)(const uint32_t *in, uint32_t *out)
{
    int lane = simt_lane();
    float low = simt_f32_from_bits(simt_load(in + 2 * lane));
    float high = simt_f32_from_bits(simt_load(in + 2 * lane + 1));
    uint32_t bf16 = simt_bf16x2_from_f32(low, high), f16 = simt_f16x2_from_f32(low, high);
    out += 4 * lane;
    simt_store(out + 0, bf16);
    simt_store(out + 1, f16);
    simt_store(out + 2, simt_f32_bits(simt_bf16_to_f32(static_cast<uint16_t>(bf16))));
    simt_store(out + 3, simt_f32_bits(simt_f16_to_f32(static_cast<uint16_t>(f16))));
}

SIMT_KERNEL(dp4a)(const uint32_t *in, uint32_t *out)
{
    int lane = simt_lane();
    int c = static_cast<int>(simt_load(in + 3 * lane + 2));
    int sum = simt_dp4a(simt_load(in + 3 * lane), simt_load(in + 3 * lane + 1), c);
    simt_store(out + lane, static_cast<uint32_t>(sum));
}

#define RUN(kernel)                                                                  \
    static assay_status run_##kernel(struct simt_launch *launch, const uint32_t *in, \
                                     uint32_t *out)                                  \
    {                                                                                \
        return SIMT_LAUNCH(launch, kernel, in, out);                                 \
    }
RUN(mma_bf16)
RUN(mma_f16)
RUN(mma_s8)
RUN(ldmatrix_x1)
RUN(ldmatrix_x2)
RUN(ldmatrix_x4)
RUN(ldmatrix_x1_trans)
RUN(ldmatrix_x2_trans)
RUN(ldmatrix_x4_trans)
RUN(shuffle)
RUN(formats)
RUN(dp4a)

const struct fragment_op fragment_ops[] = {
    {"mma.bf16", 10, 4, OPERANDS_MMA_BF16, run_mma_bf16},
    {"mma.f16", 10, 4, OPERANDS_MMA_F16, run_mma_f16},
    {"mma.s8", 10, 4, OPERANDS_BITS, run_mma_s8},
    {"ldmatrix.x1", 4, 1, OPERANDS_BITS, run_ldmatrix_x1},
    {"ldmatrix.x2", 4, 2, OPERANDS_BITS, run_ldmatrix_x2},
    {"ldmatrix.x4", 4, 4, OPERANDS_BITS, run_ldmatrix_x4},
    {"ldmatrix.x1.trans", 4, 1, OPERANDS_BITS, run_ldmatrix_x1_trans},
    {"ldmatrix.x2.trans", 4, 2, OPERANDS_BITS, run_ldmatrix_x2_trans},
    {"ldmatrix.x4.trans", 4, 4, OPERANDS_BITS, run_ldmatrix_x4_trans},
    {"shuffle", 2, 6, OPERANDS_BITS, run_shuffle},
    {"formats", 2, 4, OPERANDS_CONVERTED, run_formats},
    {"dp4a", 3, 1, OPERANDS_BITS, run_dp4a},
};
const int num_fragment_ops = static_cast<int>(sizeof fragment_ops / sizeof fragment_ops[0]);
