/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for calls whose planes are not aligned for the other kernels: a thread an output, codes
 * one by one. The same bits as theirs.
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. Limited by its integer instructions.
 */
#ifndef ASSAY_A8_GENERIC_CUH
#define ASSAY_A8_GENERIC_CUH

#include "ops/linear_a8/a8_device.cuh"

/* Code of column k as an integer of p.bits bits. */
SIMT_DEVICE int a8_code_at(const struct a8_call &p, const unsigned char *base,
                           const unsigned char *high, int64_t k)
{
    if (p.bits == 8)
        return static_cast<int8_t>(simt_load_constant(base + k));
    int u = simt_load_constant(base + k / 2) >> (k % 2 * 4) & 15;
    if (p.bits == 5)
        u |= (simt_load_constant(high + k / 8) >> (k % 8) & 1) << 4;
    else if (p.bits == 6)
        u |= (simt_load_constant(high + k / 4) >> (k % 4 * 2) & 3) << 4;
    return u - (1 << (p.bits - 1));
}

/* Where a8_quantise_rows<A8_ROWS> puts column c of a group. */
SIMT_DEVICE int a8_place_of(const struct a8_call &p, int c)
{
    if (p.bits == 8)
        return c / 32 * 32 + c % 8 / 4 * 16 + c % 32 / 8 * 4 + c % 4;
    int word = c / 8;
    return word % 2 * 32 + c % 2 * 16 + word / 2 * 4 + c % 8 / 2;
}

SIMT_KERNEL(a8_generic)(struct a8_call p)
{
    int64_t threads = simt_block_extent().x;
    for (int64_t at = simt_block_index().x * threads + simt_thread(); at < p.rows * p.columns;
         at += threads * simt_grid_extent().x) {
        int64_t row = at / p.columns, column = at % p.columns;
        const unsigned char *base = p.base.data + column * p.base.stride;
        const unsigned char *high = p.high.data + column * p.high.stride;
        const uint16_t *scales =
            reinterpret_cast<const uint16_t *>(p.scales.data + column * p.scales.stride);
        const unsigned char *codes = p.codes + row * p.padded;
        float acc = 0;
        for (int64_t g = 0; g < p.groups; g++) {
            int sum = 0;
            for (int64_t k = g * p.group; k < (g + 1) * p.group; k++) {
                int64_t first = k / A8_GROUP * A8_GROUP;
                int x = static_cast<int8_t>(
                    simt_load(codes + first + a8_place_of(p, static_cast<int>(k - first))));
                sum += x * a8_code_at(p, base, high, k);
            }
            float x_scale = simt_load(p.x_scales + g * p.group / A8_GROUP * p.pitch + row);
            acc = fmaf(static_cast<float>(sum),
                       simt_f16_to_f32(simt_load_constant(scales + g)) * x_scale, acc);
        }
        a8_store(p, row, column, acc);
    }
}

static inline assay_status a8_generic_launch(struct a8_call p, struct simt_launch *launch)
{
    enum { THREADS = 128, MAX_BLOCKS = 65535 };
    assay_status status = a8_quantise_launch<A8_ROWS>(p, launch);
    if (status != ASSAY_OK)
        return status;
    int64_t most = MAX_BLOCKS, blocks = (p.rows * p.columns + THREADS - 1) / THREADS;
    p.unit = 1; /* its codes stand in the lower bits */
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    return SIMT_LAUNCH(launch, a8_generic, p);
}

#endif
