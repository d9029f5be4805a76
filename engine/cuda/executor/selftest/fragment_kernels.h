/* SPDX-License-Identifier: MIT
 *
 * One-warp kernels that show what each lane of a warp operation gets: the same source on a device,
 * which writes the fixtures of golden/device, and in the executor, which is compared with them.
 */
#ifndef EXECUTOR_FRAGMENT_KERNELS_H
#define EXECUTOR_FRAGMENT_KERNELS_H

#include <stdint.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What input words hold: pairs of bf16 or fp16 (of an mma the last four are a binary32 addend),
 * numbers in binary32, any bits that a conversion should see, any bits at all. */
enum fragment_operands {
    OPERANDS_MMA_BF16,
    OPERANDS_MMA_F16,
    OPERANDS_BF16,
    OPERANDS_F32,
    OPERANDS_CONVERTED,
    OPERANDS_BITS
};

/* Words are per lane: lane l reads in[l * in_words ...] and writes out[l * out_words ...]. */
struct fragment_op {
    const char *name;
    int in_words, out_words;
    enum fragment_operands operands;
    assay_status (*run)(struct simt_launch *launch, const uint32_t *in, uint32_t *out);
};

extern const struct fragment_op fragment_ops[];
extern const int num_fragment_ops;

/* Launches of the engine's row kernels on the same kind of memory (row_launches.c). */
extern const struct fragment_op row_ops[];
extern const int num_row_ops;

enum { FRAGMENT_LANES = 32, FRAGMENT_MAX_WORDS = 10 };

#ifdef __cplusplus
}
#endif
#endif
