/* SPDX-License-Identifier: MIT
 *
 * What host code says about a launch, for a device and for the host executor alike. C, so that
 * routes need no C++.
 */
#ifndef ASSAY_CUDA_SIMT_LAUNCH_H
#define ASSAY_CUDA_SIMT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct simt_dim {
    unsigned x, y, z;
};

enum {
    SIMT_MAX_LEVELS = ASSAY_MAX_RANK - 1,
    SIMT_SHARED_MOST = 227 * 1024, /* bytes that a block may have on sm_90: no kernel takes more */
    SIMT_SHARED_BESIDE = 1024      /* static bytes at most beside dynamic ones */
};

/* Memory that a kernel may touch: rows of row_bytes, in num_levels nested repetitions (outermost
 * first). The executor refuses every global access that does not lie inside one row of one region;
 * a device does not look at it. */
struct simt_region {
    const char *name;
    const unsigned char *base;
    size_t row_bytes;
    int num_levels;
    int64_t count[SIMT_MAX_LEVELS];
    size_t pitch[SIMT_MAX_LEVELS]; /* bytes, descending */
    bool writable;
};

struct simt_fault;

struct simt_launch {
    struct simt_dim grid, block;
    size_t shared_bytes; /* dynamic shared memory */
    bool overlaps;       /* device: may start before the stream's preceding kernel has ended; every
                          * thread of the kernel calls simt_wait_for_stream (simt.cuh) */
    const struct simt_region *regions;
    int num_regions;
    void *workspace;           /* what the route asked for; undefined contents */
    size_t *measure;           /* not NULL: nothing is launched, see simt_measure */
    size_t shared_limit;       /* executor: more is refused; 0: SIMT_SHARED_MOST */
    void *stream;              /* device: cudaStream_t; NULL: the default stream */
    uint64_t seed;             /* executor: of the schedule; 0: see simt_next_seed */
    struct assay_error *error; /* filled on failure; may be NULL */
    struct simt_fault *fault;  /* executor: what was found, executor.h; may be NULL */
};

/* A launch that is only measured: *measure becomes the largest number of bytes of shared memory
 * that a block takes, kernels without dynamic ones apart (those fit everywhere). */
static inline assay_status simt_measure(const struct simt_launch *launch)
{
    const size_t bytes = launch->shared_bytes > 0 ? launch->shared_bytes + SIMT_SHARED_BESIDE : 0;
    if (bytes > *launch->measure)
        *launch->measure = bytes;
    return ASSAY_OK;
}

/* `bytes` bytes in one piece. */
struct simt_region simt_region_bytes(const char *name, const void *base, size_t bytes,
                                     bool writable);
/* The elements of a view and not what lies between its rows. A view whose rows interleave becomes
 * its whole span. */
struct simt_region simt_region_tensor(const char *name, const struct assay_tensor *tensor,
                                      bool writable);

#ifdef __cplusplus
}
#endif
#endif
