/* SPDX-License-Identifier: MIT
 *
 * The host SIMT executor: runs CUDA kernels on the CPU to find what a device hides. Every CUDA
 * thread is a fiber. Blocks run one after another in a seeded random order; within a block the
 * next thread is drawn at random whenever one waits. The same seed gives the same schedule.
 *
 * It stops a launch at its first fault:
 *   BARRIER        some threads of a block wait at a barrier, others have exited or wait at another
 *   RACE           two threads touch the same byte of shared memory, at least one writes, and no
 *                  barrier or warp synchronisation orders them. Decided by happens-before and not
 * by what the schedule happened to do, so almost any seed finds it. UNINITIALISED  a thread reads
 * shared memory that no thread of the block wrote ASYNC          memory is touched while cp.async
 * still writes it (no commit, no wait) BOUNDS         an access outside its shared array, or
 * outside every region of the launch LANES          lanes of a warp operation disagree about kind,
 * mask or place, or a mask names lanes that have exited, do not exist, or do not take part
 *   SHARING        two blocks touch the same byte of global memory and one of them writes. Blocks
 *                  have no order, so only atomics may meet. (Regions above SIMT_MAX_TRACKED bytes
 *                  are not watched.)
 *   ALIGNMENT      an address is not a multiple of the access size
 *   READ_ONLY      a load through the read-only path from memory that the launch may write
 *   LAUNCH         impossible sizes
 *   MEMORY         the host has no memory for the launch
 *
 * Not modelled: races in global memory within a block, an overrun that ends in another region of
 * the launch, named barriers, memory fences, timing. The functions below are called by kernels
 * through simt.cuh and by launches, never directly.
 */
#ifndef ASSAY_CUDA_EXECUTOR_H
#define ASSAY_CUDA_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SIMT_WARP_LANES = 32,
    SIMT_MAX_THREADS = 1024,            /* of a block */
    SIMT_MAX_SHARED = SIMT_SHARED_MOST, /* bytes of a block, static and dynamic */
    SIMT_MAX_STATIC = 48 * 1024,        /* of them in static arrays, as nvcc allows */
    SIMT_MAX_BLOCKS = 1 << 22,          /* of a grid: more would only take long */
    SIMT_MAX_TRACKED = 1 << 24,         /* bytes of a region whose sharing is watched */
};

#define SIMT_FAULT_TABLE(X)                             \
    X(NONE, "none")                                     \
    X(BARRIER, "divergent barrier")                     \
    X(RACE, "race in shared memory")                    \
    X(UNINITIALISED, "read of unwritten shared memory") \
    X(ASYNC, "asynchronous copy in flight")             \
    X(BOUNDS, "out of bounds")                          \
    X(LANES, "lanes disagree")                          \
    X(SHARING, "blocks share global memory")            \
    X(ALIGNMENT, "misaligned address")                  \
    X(READ_ONLY, "read-only load of writable memory")   \
    X(LAUNCH, "impossible launch")                      \
    X(MEMORY, "out of memory")

enum simt_fault_kind {
#define SIMT_FAULT_ENUM(enumerator, name) SIMT_FAULT_##enumerator,
    SIMT_FAULT_TABLE(SIMT_FAULT_ENUM)
#undef SIMT_FAULT_ENUM
        SIMT_NUM_FAULTS
};

const char *simt_fault_name(enum simt_fault_kind kind);

/* A place in a kernel's source. */
struct simt_site {
    const char *file; /* without folders; NULL: none */
    int line;
};

struct simt_fault {
    enum simt_fault_kind kind;
    struct simt_site site;  /* where it showed */
    struct simt_site other; /* the other party's place, if there is one */
    int64_t block;          /* linear index in the grid, -1: before any ran */
    int thread;             /* linear index in the block, -1: none */
    uint64_t seed;
    char message[400]; /* one line that says all of the above */
};

/* Runs body(closure) once for each thread of the grid. ASSAY_E_INTERNAL and a filled launch->fault
 * and launch->error when the kernel is faulty, ASSAY_E_MEMORY when the host has no memory. May be
 * called from several host threads at once. */
assay_status simt_execute(const struct simt_launch *launch, const char *kernel,
                          void (*body)(void *closure), void *closure);

/* The seed of a launch that names none: $ASSAY_SIMT_SEED when it is set, and otherwise another one
 * each time (counted per host thread), so that repetitions try other schedules. */
uint64_t simt_next_seed(void);

/* ---- from inside a kernel ------------------------------------------------------------------- */

struct simt_dim simt_host_thread(void);
struct simt_dim simt_host_block(void);
struct simt_dim simt_host_block_extent(void);
struct simt_dim simt_host_grid_extent(void);
int simt_host_thread_rank(void);

/* A piece of the block's shared memory. */
struct simt_array {
    const char *name;
    uint32_t offset, bytes;
};

enum simt_access { SIMT_READ, SIMT_WRITE, SIMT_ATOMIC, SIMT_READ_ONLY };

/* The static array that is declared at this place, and a view into the dynamic memory. */
struct simt_array simt_array_static(const char *name, size_t bytes, const char *file, int line);
struct simt_array simt_array_dynamic(const char *name, size_t offset, size_t bytes,
                                     const char *file, int line);
struct simt_array simt_array_slice(struct simt_array array, int64_t first, int64_t bytes,
                                   const char *file, int line);

/* Checks and records an access of bytes [at, at + bytes) of the array, and gives their address,
 * where the caller reads or writes them at once. */
void *simt_shared_touch(struct simt_array array, int64_t at, size_t bytes, enum simt_access access,
                        const char *file, int line);
/* The same for global memory, where only regions and alignment are checked. */
void simt_global_touch(const void *address, size_t bytes, enum simt_access access, const char *file,
                       int line);

void simt_host_sync_block(const char *file, int line);
void simt_host_sync_warp(uint32_t mask, const char *file, int line);

/* The value that lane `source` passed; a negative source: the lane's own value. */
uint64_t simt_host_shuffle(uint32_t mask, uint64_t value, int source, const char *file, int line);
/* Bit i: lane i is in the mask and its predicate holds. */
uint32_t simt_host_ballot(uint32_t mask, bool predicate, const char *file, int line);

/* cp.async of `bytes` (4, 8 or 16), the last bytes - valid of them zeros. */
void simt_host_copy(struct simt_array array, int64_t at, const void *source, int bytes, int valid,
                    const char *file, int line);
void simt_host_copy_commit(void);
void simt_host_copy_wait(int pending_groups);

/* ldmatrix of 1, 2 or 4 matrices: this lane's row starts at byte `at` of the array. */
void simt_host_ldmatrix(uint32_t *registers, int count, bool transposed, struct simt_array array,
                        int64_t at, const char *file, int line);

enum simt_mma { SIMT_MMA_BF16, SIMT_MMA_F16, SIMT_MMA_S8 };
/* d = a * b + c; c and d hold float or int32_t. d may be c. */
void simt_host_mma(enum simt_mma kind, void *d, const uint32_t *a, const uint32_t *b, const void *c,
                   const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
