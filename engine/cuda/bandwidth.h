/* SPDX-License-Identifier: MIT
 *
 * The launch of bandwidth.cu.
 */
#ifndef ASSAY_CUDA_BANDWIDTH_H
#define ASSAY_CUDA_BANDWIDTH_H

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bytes: a multiple of 32 KiB; both sides 16-byte aligned. */
assay_status bandwidth_copy_launch(const void *from, void *to, size_t bytes,
                                   struct simt_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
