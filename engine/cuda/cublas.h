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

#ifdef __cplusplus
}
#endif
#endif
