/* SPDX-License-Identifier: MIT
 *
 * What a running launch is made of. Private to the executor.
 */
#ifndef ASSAY_CUDA_EXECUTOR_STATE_H
#define ASSAY_CUDA_EXECUTOR_STATE_H

#include <string.h>

#include "cuda/executor/executor.h"
#include "cuda/executor/fiber.h"

enum thread_state { THREAD_READY, THREAD_AT_BARRIER, THREAD_AT_WARP, THREAD_EXITED };

enum warp_operation { WARP_SYNC, WARP_SHUFFLE, WARP_BALLOT, WARP_LDMATRIX, WARP_MMA };

/* What a lane brought to a warp operation. It completes when every lane in the mask waits with the
 * same operation, variant and mask, and, but for WARP_SYNC, at the same place. */
struct warp_request {
    enum warp_operation operation;
    int variant; /* ldmatrix: matrices, negative when transposed; mma: enum simt_mma */
    uint32_t mask;
    uint64_t value; /* in: of this lane; out: the result */
    int source;     /* shuffle */
    void *d;
    const void *a, *b, *c;
};

struct simt_thread {
    struct fiber fiber;
    struct launch_state *launch;
    int rank, lane, warp;
    enum thread_state state;
    struct simt_site site; /* where it waits */
    struct warp_request request;
    /* Happens-before inside the warp since the last block barrier: clock[j] is the latest moment of
     * lane j that this thread knows to be past. clock[lane] is its own time; each warp
     * synchronisation advances it. */
    uint32_t clock[SIMT_WARP_LANES];
    int copies;         /* first of its copies in flight, -1: none */
    int64_t copy_group; /* the group that the next copy joins */
};

/* An access to a byte since the last block barrier, kept while a later one could race with it. */
struct access_record {
    int next;
    int thread;
    uint32_t clock;
    bool is_atomic;
    struct simt_site site;
};

/* What is known of a byte of shared memory, or of a grain of bytes (below). */
struct shadow_byte {
    uint32_t write_epoch;  /* of the last plain write */
    uint32_t access_epoch; /* of the records */
    uint32_t write_clock;
    int writer;
    struct simt_site write_site;
    int records; /* reads and atomics, -1: none */
    int copy;    /* in flight to here, -1: none */
    bool is_written;
};

/* 16 bytes from a multiple of 16 on. Each run of `grain` of them has been touched as a whole only,
 * so that the entry of its first byte stands for all. An access to a part of a run halves the
 * grains; writing the chunk at once joins them. */
enum { SHADOW_CHUNK = 16 };

struct shadow_chunk {
    uint32_t first_epoch; /* of the block that touched it last */
    uint32_t grain;       /* 1, 2, 4, 8 or 16 */
};

/* A cp.async between issue and wait. */
struct copy_record {
    int next; /* of the same thread */
    struct simt_array array;
    int64_t at;
    const void *source;
    int bytes, valid;
    int thread;
    int64_t group;
    uint32_t epoch, clock; /* of the issue */
    struct simt_site site;
};

/* Which blocks touched a byte of global memory in this launch: linear index + 1, 0: none. */
struct global_byte {
    uint32_t writer, reader; /* reader: SHARED_BY_BLOCKS when more than one */
    uint16_t write_site, read_site;
    bool by_atomic; /* all writes were atomics */
};

enum { MAX_SITES = 256 };

struct static_array {
    struct simt_array array;
    struct simt_site site;
};

enum { MAX_STATIC_ARRAYS = 32 };

struct launch_state {
    const struct simt_launch *launch;
    const char *kernel;
    void (*body)(void *closure);
    void *closure;
    uint64_t seed, draws;
    struct simt_fault fault;
    bool out_of_memory;

    int num_threads, num_warps;
    struct simt_thread *threads;
    int *ready; /* ranks of the threads that can run, in no order */
    int num_ready, at_barrier, exited;
    uint32_t *at_warp; /* of each warp: the lanes that wait at a warp operation */
    unsigned char *stacks;
    size_t stacks_bytes;

    int64_t block; /* linear index */
    struct simt_dim block_index;

    /* Block barriers passed in this launch. Memory of earlier blocks has an epoch below
     * first_epoch, so nothing needs clearing between blocks. */
    uint32_t epoch, first_epoch;
    unsigned char *shared;
    struct shadow_byte *shadow;            /* of each byte; in use: the first of each grain */
    struct shadow_chunk *chunks;           /* of each 16 bytes */
    uint32_t shared_used, shared_capacity; /* dynamic bytes first, then the static arrays */
    struct static_array arrays[MAX_STATIC_ARRAYS];
    int num_arrays;
    struct access_record *records; /* valid for one epoch */
    int num_records, record_capacity;
    struct copy_record *copies; /* valid for one block */
    int num_copies, copy_capacity;

    struct global_byte **global; /* of each region; NULL: not watched */
    bool *is_alone;              /* of each region: it shares no byte with another */
    int last_region;             /* touched last, -1: none */
    struct simt_site sites[MAX_SITES];
    int num_sites, last_site; /* the one that was looked for last */

    /* The first read of this epoch that found a byte nobody had written. It is a fault when the
     * epoch ends; a write in the same epoch makes it a race instead, whichever came first. */
    bool has_suspect;
    struct simt_site suspect_site;
    int suspect_thread;
    const char *suspect_array;
    int64_t suspect_at;
};

/* The thread that runs on this host thread, NULL outside kernels. */
extern _Thread_local struct simt_thread *simt_current;

/* ---- fault.c -------------------------------------------------------------------------------- */

/* Each access makes and compares places: the file is as __FILE__ gives it until a report names it.
 */
static inline struct simt_site simt_site(const char *file, int line)
{
    return (struct simt_site){file, line};
}

static inline bool simt_same_site(struct simt_site a, struct simt_site b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* Records the launch's first fault. thread: -1 for none. */
void fault_record(struct launch_state *l, enum simt_fault_kind kind, int thread,
                  struct simt_site site, struct simt_site other, const char *format, ...)
    ASSAY_PRINTF(6, 7);
/* The same from inside the running thread, which ends here. */
__attribute__((noreturn)) void fault_raise(enum simt_fault_kind kind, struct simt_site site,
                                           struct simt_site other, const char *format, ...)
    ASSAY_PRINTF(4, 5);
__attribute__((noreturn)) void fault_out_of_memory(void);

/* ---- block_schedule.c ----------------------------------------------------------------------- */

void thread_make_ready(struct simt_thread *thread);
/* Gives way until the thread is ready again. */
void thread_wait(struct simt_thread *thread);

/* ---- shared.c ------------------------------------------------------------------------------- */

/* A new epoch: all threads have met. False when it ends with a fault. */
bool shared_next_epoch(struct launch_state *l);
void shared_begin_block(struct launch_state *l);
/* The byte range of an array as an arena address, checked against the array and alignment only. */
unsigned char *shared_address(struct simt_array array, int64_t at, size_t bytes,
                              struct simt_site site);
/* Registers one access without looking at the array's bounds. */
void shared_access(struct simt_array array, int64_t at, size_t bytes, enum simt_access access,
                   struct simt_site site);

/* ---- global_shadow.c ------------------------------------------------------------------------ */

bool global_begin(struct launch_state *l);
void global_end(struct launch_state *l);
/* Notes an access that lies in a region of the launch. */
void global_note(const void *address, size_t bytes, enum simt_access access, struct simt_site site);

/* ---- collective.c --------------------------------------------------------------------------- */

/* The reason why lanes that wait at warp operations can never go on; false: none waits. */
bool collective_diagnose(struct launch_state *l);

/* ---- tensor_core.c -------------------------------------------------------------------------- */

/* Of all 32 lanes, lanes[0] .. lanes[31]. */
void tensor_core_mma(struct simt_thread *lanes);
void tensor_core_ldmatrix(struct simt_thread *lanes);

#endif
