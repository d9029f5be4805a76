/* SPDX-License-Identifier: MIT
 *
 * Race-free kernels whose schedule can be seen, and whose results must not depend on it.
 */
#ifndef EXECUTOR_SCHEDULE_KERNELS_H
#define EXECUTOR_SCHEDULE_KERNELS_H

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every thread takes two tickets, before and after a barrier: trace[ticket] = linear thread index
 * in the grid. counter starts at 0. */
assay_status trace_schedule(struct simt_launch *launch, unsigned *counter, unsigned *trace);

/* out[block] = sum of the squares of in[block * width ...], by shuffles and a shared array, times a
 * histogram of in's lowest three bits, by shared atomics. */
assay_status reduce_blocks(struct simt_launch *launch, const unsigned *in, int width,
                           unsigned *out);

/* out[linear thread index in the grid] = its coordinates, packed. */
assay_status name_threads(struct simt_launch *launch, unsigned long long *out);

#ifdef __cplusplus
}
#endif
#endif
