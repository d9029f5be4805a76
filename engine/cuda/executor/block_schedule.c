/* SPDX-License-Identifier: MIT
 *
 * A launch: blocks in random order, and in each block the threads that can run, drawn one by one.
 */
#include "cuda/executor/executor_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/core.h"

/* A kernel's frames are small; the room is for a fault's message under AddressSanitizer. */
enum { STACK_BYTES = 128 * 1024, GUARD_BYTES = 4096 };

_Thread_local struct simt_thread *simt_current;

static const struct simt_site nowhere = {NULL, 0};

uint64_t simt_next_seed(void)
{
    static _Thread_local uint64_t count;
    const char *text = getenv("ASSAY_SIMT_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : ++count;
}

/* A number below n < 2^32. The mixing function is that of splitmix64 (Steele, Lea, Flood, 2014): a
 * draw at each switch of threads has to be cheap, and no value depends on it. */
static int64_t draw_below(struct launch_state *l, int64_t n)
{
    uint64_t x = l->seed + ++l->draws * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (int64_t)((x >> 32) * (uint64_t)n >> 32);
}

/* ---- threads of a block --------------------------------------------------------------------- */

void thread_make_ready(struct simt_thread *thread)
{
    struct launch_state *l = thread->launch;
    thread->state = THREAD_READY;
    if (thread != simt_current) /* the running thread is still in the list */
        l->ready[l->num_ready++] = thread->rank;
}

void thread_wait(struct simt_thread *thread)
{
    fiber_yield(&thread->fiber);
}

static void thread_main(void *argument)
{
    struct simt_thread *t = argument;
    t->launch->body(t->launch->closure);
    t->state = THREAD_EXITED;
    t->launch->exited++;
}

static bool all_at_one_barrier(const struct launch_state *l)
{
    for (int i = 1; i < l->num_threads; i++)
        if (!simt_same_site(l->threads[0].site, l->threads[i].site))
            return false;
    return true;
}

void simt_host_sync_block(const char *file, int line)
{
    struct simt_thread *t = simt_current;
    struct launch_state *l = t->launch;
    t->site = simt_site(file, line);
    t->state = THREAD_AT_BARRIER;
    if (++l->at_barrier == l->num_threads && all_at_one_barrier(l)) {
        if (!shared_next_epoch(l))
            fiber_leave(&t->fiber);
        l->at_barrier = 0;
        for (int i = 0; i < l->num_threads; i++)
            thread_make_ready(&l->threads[i]);
    }
    thread_wait(t);
}

static void begin_block(struct launch_state *l)
{
    shared_begin_block(l);
    l->at_barrier = 0;
    l->exited = 0;
    l->num_ready = l->num_threads;
    memset(l->at_warp, 0, (size_t)l->num_warps * sizeof *l->at_warp);
    for (int i = 0; i < l->num_threads; i++) {
        struct simt_thread *t = &l->threads[i];
        *t = (struct simt_thread){.launch = l,
                                  .rank = i,
                                  .lane = i % SIMT_WARP_LANES,
                                  .warp = i / SIMT_WARP_LANES,
                                  .state = THREAD_READY,
                                  .copies = -1};
        t->clock[t->lane] = 1;
        unsigned char *stack = l->stacks + (size_t)i * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
        fiber_prepare(&t->fiber, stack, STACK_BYTES, thread_main, t);
        l->ready[i] = i;
    }
}

/* Nobody can run and somebody has not exited. */
static void diagnose(struct launch_state *l)
{
    if (collective_diagnose(l))
        return;
    const struct simt_thread *first = NULL, *other = NULL;
    for (int i = 0; i < l->num_threads; i++) {
        const struct simt_thread *t = &l->threads[i];
        if (t->state == THREAD_EXITED)
            continue;
        if (first == NULL)
            first = t;
        else if (other == NULL && !simt_same_site(first->site, t->site))
            other = t;
    }
    if (first == NULL)
        return; /* all have exited: not called then */
    if (other != NULL)
        fault_record(l, SIMT_FAULT_BARRIER, first->rank, first->site, other->site,
                     "waits at a barrier, thread %d at another", other->rank);
    else
        fault_record(l, SIMT_FAULT_BARRIER, first->rank, first->site, nowhere,
                     "waits at a barrier that %d of %d threads never reach: they have exited",
                     l->exited, l->num_threads);
}

/* Whether the block ran to its end without a fault. */
static bool run_block(struct launch_state *l)
{
    begin_block(l);
    while (l->num_ready > 0) {
        int position = (int)draw_below(l, l->num_ready);
        struct simt_thread *t = &l->threads[l->ready[position]];
        simt_current = t;
        fiber_resume(&t->fiber);
        simt_current = NULL;
        if (l->fault.kind != SIMT_FAULT_NONE)
            return false;
        if (t->state != THREAD_READY)
            l->ready[position] = l->ready[--l->num_ready];
    }
    if (l->exited < l->num_threads)
        diagnose(l);
    return l->fault.kind == SIMT_FAULT_NONE && shared_next_epoch(l);
}

/* ---- the grid ------------------------------------------------------------------------------- */

static int64_t volume(struct simt_dim d)
{
    /* at most 2^22 in each factor after check_sizes */
    return (int64_t)d.x * d.y * d.z;
}

static size_t shared_limit(const struct simt_launch *launch)
{
    return launch->shared_limit > 0 ? launch->shared_limit : SIMT_MAX_SHARED;
}

static bool check_sizes(struct launch_state *l)
{
    const struct simt_launch *launch = l->launch;
    struct simt_dim g = launch->grid, b = launch->block;
    bool good = g.x > 0 && g.y > 0 && g.z > 0 && b.x > 0 && b.y > 0 && b.z > 0;
    good = good && g.x <= SIMT_MAX_BLOCKS && g.y <= 65535 && g.z <= 65535 && b.x <= 1024 &&
           b.y <= 1024 && b.z <= 64;
    good = good && volume(g) <= SIMT_MAX_BLOCKS && volume(b) <= SIMT_MAX_THREADS &&
           launch->shared_bytes <= shared_limit(launch);
    if (!good)
        fault_record(l, SIMT_FAULT_LAUNCH, -1, nowhere, nowhere,
                     "grid %u x %u x %u, block %u x %u x %u, %zu shared bytes", g.x, g.y, g.z, b.x,
                     b.y, b.z, launch->shared_bytes);
    return good;
}

/* All stacks in one mapping, a page without access below each: an overflow ends the process. */
static bool map_stacks(struct launch_state *l)
{
    size_t step = STACK_BYTES + GUARD_BYTES;
    l->stacks_bytes = step * (size_t)l->num_threads;
    void *memory = MAP_FAILED;
    if (!assay_fault_now())
        memory = mmap(NULL, l->stacks_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    l->stacks = memory;
    for (int i = 0; i < l->num_threads; i++)
        if (mprotect(l->stacks + step * (size_t)i, GUARD_BYTES, PROT_NONE) != 0)
            return false;
    return true;
}

static bool allocate(struct launch_state *l)
{
    l->num_threads = (int)volume(l->launch->block);
    l->num_warps = (l->num_threads + SIMT_WARP_LANES - 1) / SIMT_WARP_LANES;
    l->threads = assay_alloc_zero((size_t)l->num_threads, sizeof *l->threads);
    l->ready = assay_alloc_zero((size_t)l->num_threads, sizeof *l->ready);
    l->at_warp = assay_alloc_zero((size_t)l->num_warps, sizeof *l->at_warp);
    l->shared_used = (uint32_t)l->launch->shared_bytes;
    /* A route has said what it takes by simt_measure. */
    const bool is_measured = l->shared_used > 0 && l->launch->shared_limit > 0;
    l->shared_capacity = l->shared_used + (is_measured ? SIMT_SHARED_BESIDE : SIMT_MAX_STATIC);
    if (l->shared_capacity > shared_limit(l->launch))
        l->shared_capacity = (uint32_t)shared_limit(l->launch);
    l->shared = assay_alloc_aligned(l->shared_capacity);
    size_t num_chunks = l->shared_capacity / SHADOW_CHUNK + 1;
    l->shadow = assay_alloc_zero(num_chunks * SHADOW_CHUNK, sizeof *l->shadow);
    l->chunks = assay_alloc_zero(num_chunks, sizeof *l->chunks);
    return l->threads != NULL && l->ready != NULL && l->at_warp != NULL && l->shared != NULL &&
           l->shadow != NULL && l->chunks != NULL && global_begin(l) && map_stacks(l);
}

static void release(struct launch_state *l)
{
    if (l->stacks != NULL)
        munmap(l->stacks, l->stacks_bytes);
    assay_free(l->threads);
    assay_free(l->ready);
    assay_free(l->at_warp);
    assay_free(l->shared);
    assay_free(l->shadow);
    assay_free(l->chunks);
    assay_free(l->records);
    assay_free(l->copies);
    global_end(l);
}

/* Fisher and Yates' shuffle. NULL without memory. */
static int32_t *block_order(struct launch_state *l, int64_t count)
{
    int32_t *order = assay_alloc_zero((size_t)count, sizeof *order);
    for (int64_t i = 0; order != NULL && i < count; i++) {
        int64_t j = draw_below(l, i + 1);
        order[i] = order[j];
        order[j] = (int32_t)i;
    }
    return order;
}

static void run_grid(struct launch_state *l)
{
    struct simt_dim g = l->launch->grid;
    int64_t count = volume(g);
    int32_t *order = allocate(l) ? block_order(l, count) : NULL;
    if (order == NULL) {
        l->out_of_memory = true;
        fault_record(l, SIMT_FAULT_MEMORY, -1, nowhere, nowhere,
                     "no memory for a block of %d threads", l->num_threads);
    }
    for (int64_t i = 0; order != NULL && i < count; i++) {
        l->block = order[i];
        l->block_index =
            (struct simt_dim){(unsigned)(l->block % g.x), (unsigned)(l->block / g.x % g.y),
                              (unsigned)(l->block / g.x / g.y)};
        if (!run_block(l))
            break;
    }
    assay_free(order);
    release(l);
}

assay_status simt_execute(const struct simt_launch *launch, const char *kernel,
                          void (*body)(void *closure), void *closure)
{
    struct launch_state l = {.launch = launch,
                             .kernel = kernel,
                             .body = body,
                             .closure = closure,
                             .seed = launch->seed != 0 ? launch->seed : simt_next_seed(),
                             .block = -1};
    if (check_sizes(&l))
        run_grid(&l);
    if (launch->fault != NULL)
        *launch->fault = l.fault;
    if (l.fault.kind == SIMT_FAULT_NONE)
        return ASSAY_OK;
    return assay_fail(launch->error, l.out_of_memory ? ASSAY_E_MEMORY : ASSAY_E_INTERNAL, kernel,
                      simt_fault_name(l.fault.kind), "%s", l.fault.message);
}

/* ---- where a thread is ---------------------------------------------------------------------- */

struct simt_dim simt_host_thread(void)
{
    struct simt_dim b = simt_current->launch->launch->block;
    unsigned rank = (unsigned)simt_current->rank;
    return (struct simt_dim){rank % b.x, rank / b.x % b.y, rank / b.x / b.y};
}

struct simt_dim simt_host_block(void)
{
    return simt_current->launch->block_index;
}

struct simt_dim simt_host_block_extent(void)
{
    return simt_current->launch->launch->block;
}

struct simt_dim simt_host_grid_extent(void)
{
    return simt_current->launch->launch->grid;
}

int simt_host_thread_rank(void)
{
    return simt_current->rank;
}
