/* SPDX-License-Identifier: MIT
 *
 * One warp, one 16 x 8 tile, K = 64; see the header.
 */
#include "cuda/executor/selftest/mma_kernels.h"

#include "cuda/simt.cuh"

/* `count` elements, a multiple of 16 bytes, by the whole warp. */
template <typename T> SIMT_DEVICE void fetch(struct simt_shared<T> to, const T *from, int count)
{
    const int step = 16 / static_cast<int>(sizeof(T));
    for (int i = simt_lane() * step; i < count; i += 32 * step)
        simt_copy_async<16>(to.at(i), from + i);
}

SIMT_DEVICE void arrive()
{
    simt_copy_commit();
    simt_copy_wait<0>();
    simt_sync_warp(SIMT_ALL_LANES);
}

/* Element i of this lane's four of C. */
SIMT_DEVICE int c_index(int i)
{
    return (simt_lane() / 4 + 8 * (i / 2)) * TILE_COLUMNS + simt_lane() % 4 * 2 + i % 2;
}

template <bool is_bf16>
SIMT_DEVICE void tile_16(const uint16_t *a, const uint16_t *b, bool columns, float *c)
{
    SIMT_SHARED(uint16_t, tile_a, TILE_ROWS * TILE_INNER);
    SIMT_SHARED(uint16_t, tile_b, TILE_INNER * TILE_COLUMNS);
    int lane = simt_lane();
    fetch(tile_a, a, TILE_ROWS * TILE_INNER);
    fetch(tile_b, b, TILE_INNER * TILE_COLUMNS);
    arrive();
    float sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = simt_load(c + c_index(i));
    for (int k = 0; k < TILE_INNER; k += 16) {
        uint32_t fragment_a[4], fragment_b[2];
        /* Matrices of A: rows 0-7 and 8-15 of the lower half of K, then of the upper. */
        simt_ldmatrix<4>(fragment_a, tile_a.at(lane % 16 * TILE_INNER + k + lane / 16 * 8));
        if (columns)
            simt_ldmatrix<2>(fragment_b, tile_b.at(lane % 8 * TILE_INNER + k + lane / 8 % 2 * 8));
        else
            simt_ldmatrix_transposed<2>(fragment_b, tile_b.at((k + lane % 16) * TILE_COLUMNS));
        if (is_bf16)
            simt_mma_bf16(sum, fragment_a, fragment_b, sum);
        else
            simt_mma_f16(sum, fragment_a, fragment_b, sum);
    }
    for (int i = 0; i < 4; i++)
        simt_store(c + c_index(i), sum[i]);
}

SIMT_KERNEL(tile_bf16_kernel)(const uint16_t *a, const uint16_t *b, bool columns, float *c)
{
    tile_16<true>(a, b, columns, c);
}

SIMT_KERNEL(tile_f16_kernel)(const uint16_t *a, const uint16_t *b, bool columns, float *c)
{
    tile_16<false>(a, b, columns, c);
}

SIMT_KERNEL(tile_s8_kernel)(const int8_t *a, const int8_t *b, int32_t *c)
{
    SIMT_SHARED(int8_t, tile_a, TILE_ROWS * TILE_INNER);
    SIMT_SHARED(int8_t, tile_b, TILE_COLUMNS * TILE_INNER);
    int lane = simt_lane();
    fetch(tile_a, a, TILE_ROWS * TILE_INNER);
    fetch(tile_b, b, TILE_COLUMNS * TILE_INNER);
    arrive();
    int sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = simt_load(c + c_index(i));
    for (int k = 0; k < TILE_INNER; k += 32) { /* 16 bytes are a row of 8 16-bit elements */
        uint32_t fragment_a[4], fragment_b[2];
        simt_ldmatrix<4>(fragment_a, tile_a.at(lane % 16 * TILE_INNER + k + lane / 16 * 16));
        simt_ldmatrix<2>(fragment_b, tile_b.at(lane % 8 * TILE_INNER + k + lane / 8 % 2 * 16));
        simt_mma_s8(sum, fragment_a, fragment_b, sum);
    }
    for (int i = 0; i < 4; i++)
        simt_store(c + c_index(i), sum[i]);
}

assay_status tile_bf16(struct simt_launch *launch, const uint16_t *a, const uint16_t *b,
                       bool columns, float *c)
{
    return SIMT_LAUNCH(launch, tile_bf16_kernel, a, b, columns, c);
}

assay_status tile_f16(struct simt_launch *launch, const uint16_t *a, const uint16_t *b,
                      bool columns, float *c)
{
    return SIMT_LAUNCH(launch, tile_f16_kernel, a, b, columns, c);
}

assay_status tile_s8(struct simt_launch *launch, const int8_t *a, const int8_t *b, int32_t *c)
{
    return SIMT_LAUNCH(launch, tile_s8_kernel, a, b, c);
}
