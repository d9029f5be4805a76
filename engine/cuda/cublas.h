/* SPDX-License-Identifier: MIT
 *
 * The vendor's matrix products, found at run time: a build and a machine without cuBLAS work, its
 * routes are then refused.
 */
#ifndef ASSAY_CUDA_CUBLAS_H
#define ASSAY_CUDA_CUBLAS_H

#include <assay/context.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUBLAS_WORKSPACE = 32 << 20 }; /* bytes; given by the caller, so that graphs can hold it */

/* libcublas could be loaded. */
bool cublas_is_there(void);
/* y[T, N] = x[T, K] w[N, K]^T (+ y with accumulate): x and w bf16, y bf16 or f32; binary32 sums.
 * workspace: CUBLAS_WORKSPACE bytes on the context's device. Does not wait. */
assay_status cublas_linear(assay_context *context, const struct assay_tensor *x,
                           const struct assay_tensor *w, const struct assay_tensor *y,
                           bool accumulate, void *workspace);

/* sums[rows, columns] = x[rows, inner] w[columns, inner]^T of signed bytes, exact in 32 bits: rows
 * one behind the other, all three sizes multiples of 4. */
struct cublas_s8 {
    int64_t rows, columns, inner;
    const int8_t *x, *w;
    int32_t *sums;
};
/* workspace: as above. Does not wait. */
assay_status cublas_linear_s8(assay_context *context, const struct cublas_s8 *product,
                              void *workspace);

#ifdef __cplusplus
}
#endif
#endif
