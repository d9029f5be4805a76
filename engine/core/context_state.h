/* SPDX-License-Identifier: MIT
 *
 * What a context is made of. Private to engine/core.
 */
#ifndef ASSAY_CORE_CONTEXT_STATE_H
#define ASSAY_CORE_CONTEXT_STATE_H

#include <assay/route.h>

#include "core/core.h"

enum { CONTEXT_MAX_FORCED = 32 };

struct cuda_device;
struct thread_pool;

struct route_counter {
    const struct assay_route *route;
    uint64_t count;
};

/* Routes that ran, in order of their first run. */
struct route_counts {
    struct route_counter *list;
    int number, capacity;
};

struct assay_context {
    enum assay_backend backend;
    enum assay_isa isa;
    struct cuda_device *device; /* backend cuda only */
    size_t shared_limit;        /* bytes of shared memory that a block gets; cuda and simt */
    int num_threads;
    struct thread_pool *pool; /* NULL with one thread */
    struct assay_error error;

    void *workspace; /* grows between calls unless fixed */
    size_t workspace_bytes;
    uint64_t workspace_generation; /* counts its moves */
    size_t workspace_used;         /* by the running call */
    bool workspace_fixed;

    const struct assay_route *forced[CONTEXT_MAX_FORCED];
    int num_forced;

    struct route_counts counts;
    struct route_counts *recorded; /* calls that a graph records count there; else NULL */

    assay_op_observer *observer;
    void *observer_user;
};

assay_status thread_pool_create(int num_threads, struct thread_pool **pool);
void thread_pool_destroy(struct thread_pool *pool);
void thread_pool_run(struct thread_pool *pool, int64_t count, int64_t grain,
                     void (*body)(void *argument, int64_t first, int64_t last), void *argument);

/* Workspace of at least `bytes`, 64-byte aligned; *workspace is NULL for 0 bytes. */
assay_status context_workspace(struct assay_context *context, const char *op, size_t bytes,
                               void **workspace);
/* The forced route of the op, NULL when there is none. */
const struct assay_route *context_forced(const struct assay_context *context,
                                         const struct assay_op *op);
/* Adds `times` to the route's count; 0 makes room for it, so that a later call cannot fail. */
assay_status context_count(struct assay_context *context, const char *where,
                           struct route_counts *counts, const struct assay_route *route,
                           uint64_t times);

#endif
