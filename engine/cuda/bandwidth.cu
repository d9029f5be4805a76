/* SPDX-License-Identifier: MIT
 *
 * A copy by a kernel, as fast as memory goes: the ceiling that benchmarks measure against. The
 * runtime's own copies are slower on some devices.
 */
#include "cuda/bandwidth.h"
#include "cuda/simt.cuh"

enum { THREADS = 256, IN_FLIGHT = 8 };

/* Each block takes pieces of IN_FLIGHT * THREADS words in turn; words is a multiple of that. */
SIMT_KERNEL(bandwidth_copy)(const struct simt_words *from, struct simt_words *to, int64_t words)
{
    const int64_t piece = static_cast<int64_t>(IN_FLIGHT) * THREADS;
    for (int64_t first = simt_block_index().x * piece; first < words;
         first += simt_grid_extent().x * piece) {
        struct simt_words w[IN_FLIGHT];
        SIMT_UNROLL for (int i = 0; i < IN_FLIGHT; i++) w[i] =
            simt_load16_once(from + first + i * THREADS + simt_thread());
        SIMT_UNROLL for (int i = 0; i < IN_FLIGHT; i++)
            simt_store16(to + first + i * THREADS + simt_thread(), w[i]);
    }
}

extern "C" assay_status bandwidth_copy_launch(const void *from, void *to, size_t bytes,
                                              struct simt_launch *launch)
{
    launch->grid = {1 << 14, 1, 1};
    launch->block = {THREADS, 1, 1};
    return SIMT_LAUNCH(launch, bandwidth_copy, static_cast<const struct simt_words *>(from),
                       static_cast<struct simt_words *>(to), static_cast<int64_t>(bytes / 16));
}
