/* SPDX-License-Identifier: MIT
 *
 * Contexts: creation, workspace, forced routes, route counters.
 */
#include "core/context_state.h"
#include "cuda/simt_launch.h"

#if defined(ASSAY_HAVE_CUDA)
#include "cuda/cuda_device.h"
#endif

#include <sched.h>
#include <string.h>

#include <assay/device.h>
#include <assay/testing.h>

#if defined(ASSAY_SIMD) && defined(__x86_64__)
#include <cpuid.h>
#endif

const char *assay_backend_name(enum assay_backend backend)
{
    static const char *const names[ASSAY_NUM_BACKENDS] = {"cpu", "cuda", "simt"};
    return (unsigned)backend < ASSAY_NUM_BACKENDS ? names[backend] : "?";
}

const char *assay_isa_name(enum assay_isa isa)
{
    static const char *const names[ASSAY_NUM_ISAS] = {"portable", "avx2", "avx512"};
    return (unsigned)isa < ASSAY_NUM_ISAS ? names[isa] : "?";
}

#if defined(ASSAY_SIMD) && defined(__x86_64__)
/* clang 14's __builtin_cpu_supports does not know f16c. The builtin for AVX2 has asked the system,
 * so the bit of leaf 1 is enough here. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

enum assay_isa assay_isa_detect(void)
{
#if defined(ASSAY_SIMD) && defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return avx512 ? ASSAY_ISA_AVX512 : avx2 ? ASSAY_ISA_AVX2 : ASSAY_ISA_PORTABLE;
#else
    return ASSAY_ISA_PORTABLE;
#endif
}

static int usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

struct assay_context_options assay_context_defaults(void)
{
    return (struct assay_context_options){
        .backend = ASSAY_CPU, .num_threads = 1, .max_isa = ASSAY_NUM_ISAS};
}

static bool is_built(enum assay_backend backend)
{
    switch (backend) {
    case ASSAY_CPU:
        return true;
#if defined(ASSAY_HAVE_SIMT)
    case ASSAY_SIMT:
        return true;
#endif
#if defined(ASSAY_HAVE_CUDA)
    case ASSAY_CUDA:
        return true;
#endif
    default:
        return false;
    }
}

/* ---- memory of the workspace: the device's, or the host's ---------------------------------- */

static assay_status workspace_alloc(struct assay_context *context, size_t bytes, void **memory,
                                    struct assay_error *error)
{
#if defined(ASSAY_HAVE_CUDA)
    if (context->device != NULL)
        return cuda_device_alloc(context->device, bytes, memory, error);
#endif
    (void)context;
    *memory = assay_alloc_aligned(bytes);
    if (*memory == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "context", "workspace_bytes",
                          "cannot allocate %zu bytes", bytes);
    return ASSAY_OK;
}

static void workspace_free(struct assay_context *context)
{
#if defined(ASSAY_HAVE_CUDA)
    if (context->device != NULL) {
        cuda_device_free(context->device, context->workspace);
        return;
    }
#endif
    assay_free(context->workspace);
}

/* Contents need not survive: every call starts with an undefined workspace. */
static assay_status workspace_grow(struct assay_context *context, size_t bytes,
                                   struct assay_error *error)
{
    void *grown;
    ASSAY_TRY(workspace_alloc(context, bytes, &grown, error));
    workspace_free(context);
    context->workspace = grown;
    context->workspace_generation++;
    context->workspace_bytes = bytes;
    return ASSAY_OK;
}

assay_status assay_workspace_poison(assay_context *context)
{
    return assay_buffer_fill(context, context->workspace, 0xff, context->workspace_bytes);
}

/* A recording must not move the workspace: calls recorded before have its address. */
static bool is_recording(const struct assay_context *context)
{
#if defined(ASSAY_HAVE_CUDA)
    return context->device != NULL && cuda_device_is_recording(context->device);
#else
    (void)context;
    return false;
#endif
}

assay_status assay_context_create(const struct assay_context_options *options,
                                  assay_context **context, struct assay_error *error)
{
    *context = NULL;
    if (!is_built(options->backend))
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "context", "backend",
                          "this build does not have the backend %s",
                          assay_backend_name(options->backend));
    if (options->num_threads < 0 || options->num_threads > 1024)
        return assay_fail(error, ASSAY_E_ARG, "context", "num_threads",
                          "must be 0 (all processors) to 1024, is %d", options->num_threads);
    struct assay_context *c = assay_alloc_zero(1, sizeof *c);
    if (c == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "context", "", "cannot allocate a context");
    c->backend = options->backend;
    c->isa = assay_isa_detect();
    if (options->max_isa < c->isa)
        c->isa = options->max_isa;
    c->num_threads = options->num_threads > 0 ? options->num_threads : usable_processors();
    assay_status status = ASSAY_OK;
    c->shared_limit = SIMT_SHARED_MOST;
#if defined(ASSAY_HAVE_CUDA)
    if (c->backend == ASSAY_CUDA)
        status = cuda_device_open(options->device, &c->device, &c->shared_limit, error);
#endif
    if (status == ASSAY_OK && options->workspace_bytes > 0) {
        c->workspace_fixed = true;
        c->workspace_bytes = options->workspace_bytes;
        status = workspace_alloc(c, options->workspace_bytes, &c->workspace, error);
    }
    if (status == ASSAY_OK && c->num_threads > 1) {
        status = thread_pool_create(c->num_threads - 1, &c->pool);
        if (status != ASSAY_OK)
            assay_fail(error, status, "context", "num_threads", "cannot start %d threads",
                       c->num_threads);
    }
    if (status != ASSAY_OK) {
        assay_context_destroy(c);
        return status;
    }
    *context = c;
    return ASSAY_OK;
}

void assay_context_destroy(assay_context *context)
{
    if (context == NULL)
        return;
    thread_pool_destroy(context->pool);
    workspace_free(context);
    assay_free(context->counts.list);
#if defined(ASSAY_HAVE_CUDA)
    cuda_device_close(context->device);
#endif
    assay_free(context);
}

bool assay_on_device(const assay_context *context)
{
    return context->device != NULL;
}

size_t assay_workspace_bytes(const assay_context *context)
{
    return context->workspace_used;
}

enum assay_backend assay_context_backend(const assay_context *context)
{
    return context->backend;
}

int assay_context_num_threads(const assay_context *context)
{
    return context->num_threads;
}

enum assay_isa assay_context_isa(const assay_context *context)
{
    return context->isa;
}

const struct assay_error *assay_context_error(const assay_context *context)
{
    return &context->error;
}

void assay_context_clear_error(assay_context *context)
{
    assay_error_clear(&context->error);
}

assay_status assay_context_force_route(assay_context *context, const char *route)
{
    assay_error_clear(&context->error); /* the record is of the last failed call */
    if (route == NULL) {
        context->num_forced = 0;
        return ASSAY_OK;
    }
    const struct assay_op *op;
    const struct assay_route *found = assay_route_find(route, &op);
    if (found == NULL || found->backend != context->backend)
        return assay_fail(&context->error, ASSAY_E_ROUTE_UNKNOWN, "context", "route",
                          "no route of backend %s is named '%s'",
                          assay_backend_name(context->backend), route);
    for (int i = 0; i < context->num_forced; i++) {
        const struct assay_op *other;
        assay_route_find(context->forced[i]->name, &other);
        if (other == op) {
            context->forced[i] = found;
            return ASSAY_OK;
        }
    }
    if (context->num_forced == CONTEXT_MAX_FORCED)
        return assay_fail(&context->error, ASSAY_E_FULL, "context", "route",
                          "at most %d routes can be forced", CONTEXT_MAX_FORCED);
    context->forced[context->num_forced++] = found;
    return ASSAY_OK;
}

const struct assay_route *context_forced(const struct assay_context *context,
                                         const struct assay_op *op)
{
    for (int i = 0; i < context->num_forced; i++) {
        const struct assay_op *owner;
        if (assay_route_find(context->forced[i]->name, &owner) != NULL && owner == op)
            return context->forced[i];
    }
    return NULL;
}

assay_status context_count(struct assay_context *context, const char *where,
                           struct route_counts *counts, const struct assay_route *route,
                           uint64_t times)
{
    for (int i = 0; i < counts->number; i++) {
        if (counts->list[i].route == route) {
            counts->list[i].count += times;
            return ASSAY_OK;
        }
    }
    if (counts->number == counts->capacity) {
        int capacity = counts->capacity + 32;
        struct route_counter *grown = assay_resize(counts->list, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            return assay_refuse(context, ASSAY_E_MEMORY, where, "counters",
                                "no memory to count the route %s", route->name);
        counts->list = grown;
        counts->capacity = capacity;
    }
    counts->list[counts->number++] = (struct route_counter){route, times};
    return ASSAY_OK;
}

uint64_t assay_context_route_count(const assay_context *context, const char *route)
{
    for (int i = 0; i < context->counts.number; i++)
        if (strcmp(context->counts.list[i].route->name, route) == 0)
            return context->counts.list[i].count;
    return 0;
}

void assay_context_observe(assay_context *context, assay_op_observer *observer, void *user)
{
    context->observer = observer;
    context->observer_user = user;
}

void assay_context_reset_counts(assay_context *context)
{
    /* The entries stay: graphs rely on the room that they made. */
    for (int i = 0; i < context->counts.number; i++)
        context->counts.list[i].count = 0;
}

assay_status context_workspace(struct assay_context *context, const char *op, size_t bytes,
                               void **workspace)
{
    *workspace = NULL;
    context->workspace_used = bytes;
    if (bytes == 0)
        return ASSAY_OK;
    if (bytes > context->workspace_bytes) {
        if (context->workspace_fixed)
            return assay_refuse(context, ASSAY_E_WORKSPACE, op, "workspace",
                                "the call needs %zu bytes, the arena has %zu", bytes,
                                context->workspace_bytes);
        if (is_recording(context))
            return assay_refuse(context, ASSAY_E_WORKSPACE, op, "workspace",
                                "the call needs %zu bytes, the arena has %zu and cannot move while "
                                "a graph is recorded: run the call once before",
                                bytes, context->workspace_bytes);
        struct assay_error error = {.status = ASSAY_OK};
        if (workspace_grow(context, bytes, &error) != ASSAY_OK)
            return assay_refuse(context, error.status, op, "workspace", "%s", error.message);
    }
#if defined(ASSAY_PARANOID)
    ASSAY_TRY(assay_buffer_fill(context, context->workspace, 0xff, bytes));
#endif
    *workspace = context->workspace;
    return ASSAY_OK;
}

void assay_testing_limit_shared(assay_context *context, size_t bytes)
{
    context->shared_limit = bytes;
}

enum { MARK = 0xa5, MARK_BYTES = 4096 };

assay_status assay_testing_workspace_mark(assay_context *context, size_t bytes)
{
    const size_t needed = bytes + MARK_BYTES;
    const bool has_room = needed <= context->workspace_bytes;
    if (context->backend != ASSAY_CPU || bytes == 0 || (!has_room && context->workspace_fixed))
        return ASSAY_OK;
    if (!has_room)
        ASSAY_TRY(workspace_grow(context, needed, NULL));
    memset((char *)context->workspace + bytes, MARK, MARK_BYTES);
    return ASSAY_OK;
}

bool assay_testing_workspace_marked(const assay_context *context, size_t bytes)
{
    if (context->backend != ASSAY_CPU || bytes == 0 ||
        bytes + MARK_BYTES > context->workspace_bytes)
        return true;
    const unsigned char *behind = (const unsigned char *)context->workspace + bytes;
    for (size_t i = 0; i < MARK_BYTES; i++)
        if (behind[i] != MARK)
            return false;
    return true;
}
