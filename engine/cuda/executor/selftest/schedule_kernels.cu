/* SPDX-License-Identifier: MIT
 *
 * Race-free kernels; see the header.
 */
#include "cuda/executor/selftest/schedule_kernels.h"

#include "cuda/simt.cuh"

SIMT_DEVICE unsigned block_rank()
{
    struct simt_dim b = simt_block_index(), g = simt_grid_extent();
    return b.x + g.x * (b.y + g.y * b.z);
}

SIMT_DEVICE unsigned grid_rank()
{
    struct simt_dim e = simt_block_extent();
    return block_rank() * e.x * e.y * e.z + static_cast<unsigned>(simt_thread());
}

SIMT_KERNEL(trace_kernel)(unsigned *counter, unsigned *trace)
{
    simt_store(trace + simt_atomic_add(counter, 1u), grid_rank());
    simt_sync_block();
    simt_store(trace + simt_atomic_add(counter, 1u), grid_rank());
}

enum { BINS = 8, MAX_WARPS = 32 };

SIMT_KERNEL(reduce_kernel)(const unsigned *in, int width, unsigned *out)
{
    SIMT_SHARED(unsigned, bins, BINS);
    SIMT_SHARED_DYNAMIC(unsigned, partial, 0, MAX_WARPS);
    int t = simt_thread(), threads = static_cast<int>(simt_block_extent().x);
    in += static_cast<int64_t>(block_rank()) * width;
    if (t < BINS)
        bins.store(t, 0u);
    simt_sync_block();
    unsigned sum = 0;
    for (int i = t; i < width; i += threads) {
        unsigned value = simt_load(in + i);
        sum += value * value;
        simt_atomic_add(bins.at(value % BINS), 1u);
    }
    for (int bits = 16; bits > 0; bits /= 2)
        sum += simt_shuffle_xor(SIMT_ALL_LANES, sum, bits);
    if (simt_lane() == 0)
        partial.store(simt_warp(), sum);
    simt_sync_block();
    if (t > 0)
        return;
    unsigned total = 0, product = 1;
    for (int i = 0; i < threads / 32; i++)
        total += partial.load(i);
    for (int i = 0; i < BINS; i++)
        product = product * 31 + bins.load(i);
    simt_store(out + block_rank(), total * product);
}

SIMT_KERNEL(name_kernel)(unsigned long long *out)
{
    struct simt_dim t = simt_thread_index(), b = simt_block_index();
    unsigned long long name = t.x | t.y << 8 | t.z << 16 | b.x << 24;
    simt_store(out + grid_rank(), name | static_cast<unsigned long long>(b.y | b.z << 8) << 32);
}

assay_status trace_schedule(struct simt_launch *launch, unsigned *counter, unsigned *trace)
{
    return SIMT_LAUNCH(launch, trace_kernel, counter, trace);
}

assay_status reduce_blocks(struct simt_launch *launch, const unsigned *in, int width, unsigned *out)
{
    return SIMT_LAUNCH(launch, reduce_kernel, in, width, out);
}

assay_status name_threads(struct simt_launch *launch, unsigned long long *out)
{
    return SIMT_LAUNCH(launch, name_kernel, out);
}
