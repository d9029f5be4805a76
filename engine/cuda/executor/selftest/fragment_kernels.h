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

enum fragment_operands { OPERANDS_BF16, OPERANDS_F16, OPERANDS_S8, OPERANDS_F32, OPERANDS_BITS };

/* Words are per lane: lane l reads in[l * in_words ...] and writes out[l * out_words ...]. */
struct fragment_op {
    const char *name;
    int in_words, out_words;
    enum fragment_operands operands; /* what the words hold, the last four of mma: the addend */
    assay_status (*run)(struct simt_launch *launch, const uint32_t *in, uint32_t *out);
};

extern const struct fragment_op fragment_ops[];
extern const int num_fragment_ops;

enum { FRAGMENT_LANES = 32, FRAGMENT_MAX_WORDS = 10 };

#ifdef __cplusplus
}
#endif
#endif
