/* SPDX-License-Identifier: MIT
 *
 * A 16 x 8 tile of a matrix product as kernels compute it: operands by cp.async into shared memory,
 * from there by ldmatrix, then mma.
 */
#ifndef EXECUTOR_MMA_KERNELS_H
#define EXECUTOR_MMA_KERNELS_H

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILE_ROWS = 16, TILE_COLUMNS = 8, TILE_INNER = 64 };

/* C[16][8] += A[16][64] B, words as they lie in memory. 16-bit operands: B is [64][8] (by rows, so
 * ldmatrix transposes it), or with `columns` [8][64]. int8: B is [8][64]. */
assay_status tile_bf16(struct simt_launch *launch, const uint16_t *a, const uint16_t *b,
                       bool columns, float *c);
assay_status tile_f16(struct simt_launch *launch, const uint16_t *a, const uint16_t *b,
                      bool columns, float *c);
assay_status tile_s8(struct simt_launch *launch, const int8_t *a, const int8_t *b, int32_t *c);

#ifdef __cplusplus
}
#endif
#endif
