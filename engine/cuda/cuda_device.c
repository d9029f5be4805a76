/* SPDX-License-Identifier: MIT
 *
 * The CUDA runtime behind contexts of backend cuda: devices, memory, one stream a context, graphs
 * and timers. Every call's status is checked; errors carry the call's name.
 */
#include "cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "core/context_state.h"
#include "cuda/bandwidth.h"
#include "cuda/device_route.h"

struct cuda_device {
    int index;
    cudaStream_t stream;
    bool recording;
    struct route_counts recorded; /* calls of the recording */
    void *handle;                 /* of cuBLAS */
    void (*destroy_handle)(void *handle);
};

struct assay_graph {
    int index; /* of the device */
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    size_t num_nodes;
    uint64_t workspace_generation;
    struct route_counts counts; /* of a replay */
};

struct assay_timer {
    assay_context *context;
    cudaEvent_t start, stop;
};

/* Notes a failure of the runtime. cudaErrorMemoryAllocation is not sticky, but cudaGetLastError
 * must be told that it was seen. */
static assay_status check(cudaError_t code, const char *call, struct assay_error *error)
{
    if (code == cudaSuccess)
        return ASSAY_OK;
    (void)cudaGetLastError();
    return assay_fail(error, code == cudaErrorMemoryAllocation ? ASSAY_E_MEMORY : ASSAY_E_CUDA,
                      "cuda", call, "%s (%s)", cudaGetErrorString(code), cudaGetErrorName(code));
}

#define TRY_CUDA(error, call, ...) ASSAY_TRY(check(call(__VA_ARGS__), #call, error))

/* ---- devices ------------------------------------------------------------------------------- */

int assay_device_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count;
}

static assay_status check_index(int index, const char *where, struct assay_error *error)
{
    int count = assay_device_count();
    if (count == 0)
        return assay_fail(error, ASSAY_E_NOT_FOUND, where, "device",
                          "no CUDA device or driver was found; nvidia-smi shows what the driver "
                          "sees");
    if (index < 0 || index >= count)
        return assay_fail(error, ASSAY_E_NOT_FOUND, where, "device",
                          "there is no device %d, only 0 "
                          "to %d",
                          index, count - 1);
    return ASSAY_OK;
}

assay_status assay_device_describe(int index, struct assay_device *device,
                                   struct assay_error *error)
{
    *device = (struct assay_device){0};
    ASSAY_TRY(check_index(index, "devices", error));
    struct cudaDeviceProp properties;
    TRY_CUDA(error, cudaGetDeviceProperties, &properties, index);
    snprintf(device->name, sizeof device->name, "%.127s", properties.name);
    device->major = properties.major;
    device->minor = properties.minor;
    device->num_multiprocessors = properties.multiProcessorCount;
    device->memory_bytes = properties.totalGlobalMem;
    device->cache_bytes = (size_t)properties.l2CacheSize;
    TRY_CUDA(error, cudaDriverGetVersion, &device->driver);
    TRY_CUDA(error, cudaRuntimeGetVersion, &device->runtime);
    return ASSAY_OK;
}

assay_status cuda_device_open(int index, struct cuda_device **device, size_t *shared_bytes,
                              struct assay_error *error)
{
    int shared = 0;
    *device = NULL;
    ASSAY_TRY(check_index(index, "context", error));
    struct cuda_device *d = assay_alloc_zero(1, sizeof *d);
    if (d == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "device", "", "cannot allocate a device record");
    d->index = index;
    assay_status status = check(cudaSetDevice(index), "cudaSetDevice", error);
    if (status == ASSAY_OK)
        status =
            check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index),
                  "cudaDeviceGetAttribute", error);
    if (status == ASSAY_OK)
        status = check(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking),
                       "cudaStreamCreateWithFlags", error);
    if (status != ASSAY_OK) {
        assay_free(d);
        return status;
    }
    *shared_bytes = (size_t)shared;
    *device = d;
    return ASSAY_OK;
}

void cuda_device_close(struct cuda_device *device)
{
    if (device == NULL)
        return;
    (void)cudaSetDevice(device->index);
    (void)cudaStreamSynchronize(device->stream);
    if (device->handle != NULL)
        device->destroy_handle(device->handle);
    (void)cudaStreamDestroy(device->stream);
    assay_free(device->recorded.list);
    assay_free(device);
}

void *cuda_device_stream(const struct cuda_device *device)
{
    return device->stream;
}

void *cuda_device_handle(const struct cuda_device *device)
{
    return device->handle;
}

void cuda_device_keep(struct cuda_device *device, void *handle, void (*destroy)(void *handle))
{
    device->handle = handle;
    device->destroy_handle = destroy;
}

bool cuda_device_is_recording(const struct cuda_device *device)
{
    return device->recording;
}

/* ---- memory -------------------------------------------------------------------------------- */

assay_status cuda_device_alloc(struct cuda_device *device, size_t bytes, void **memory,
                               struct assay_error *error)
{
    *memory = NULL;
    if (assay_fault_now())
        return assay_fail(error, ASSAY_E_MEMORY, "cuda", "cudaMalloc", "out of memory (planted)");
    TRY_CUDA(error, cudaSetDevice, device->index);
    TRY_CUDA(error, cudaMalloc, memory, bytes > 0 ? bytes : 1);
    return ASSAY_OK;
}

void cuda_device_free(struct cuda_device *device, void *memory)
{
    if (memory == NULL)
        return;
    (void)cudaSetDevice(device->index);
    (void)cudaStreamSynchronize(device->stream);
    (void)cudaFree(memory);
}

assay_status cuda_device_fill(struct cuda_device *device, void *memory, int byte, size_t bytes,
                              struct assay_error *error)
{
    TRY_CUDA(error, cudaSetDevice, device->index);
    TRY_CUDA(error, cudaMemsetAsync, memory, byte, bytes, device->stream);
    return ASSAY_OK;
}

/* The record must say what failed now, not what failed before. */
static struct assay_error *record_of(assay_context *context)
{
    assay_error_clear(&context->error);
    return &context->error;
}

assay_status assay_buffer_create(assay_context *context, size_t bytes, void **buffer)
{
    struct assay_error *error = record_of(context);
    if (context->device != NULL)
        return cuda_device_alloc(context->device, bytes, buffer, error);
    *buffer = assay_alloc_aligned(bytes);
    if (*buffer == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "buffer", "", "cannot allocate %zu bytes", bytes);
    return ASSAY_OK;
}

void assay_buffer_destroy(assay_context *context, void *buffer)
{
    if (context->device != NULL)
        cuda_device_free(context->device, buffer);
    else
        assay_free(buffer);
}

/* kind: one of cudaMemcpyKind; waits for the copy unless it stays on the device. */
static assay_status copy(assay_context *context, void *to, const void *from, size_t bytes,
                         enum cudaMemcpyKind kind)
{
    struct assay_error *error = record_of(context);
    if (bytes == 0)
        return ASSAY_OK;
    if (context->device == NULL) {
        memmove(to, from, bytes);
        return ASSAY_OK;
    }
    cudaStream_t stream = context->device->stream;
    TRY_CUDA(error, cudaSetDevice, context->device->index);
    TRY_CUDA(error, cudaMemcpyAsync, to, from, bytes, kind, stream);
    if (kind != cudaMemcpyDeviceToDevice)
        TRY_CUDA(error, cudaStreamSynchronize, stream);
    return ASSAY_OK;
}

assay_status assay_buffer_write(assay_context *context, void *buffer, const void *host,
                                size_t bytes)
{
    return copy(context, buffer, host, bytes, cudaMemcpyHostToDevice);
}

assay_status assay_buffer_read(assay_context *context, void *host, const void *buffer, size_t bytes)
{
    return copy(context, host, buffer, bytes, cudaMemcpyDeviceToHost);
}

assay_status assay_buffer_copy(assay_context *context, void *to, const void *from, size_t bytes)
{
    return copy(context, to, from, bytes, cudaMemcpyDeviceToDevice);
}

assay_status assay_buffer_stream(assay_context *context, void *to, const void *from, size_t bytes)
{
    struct assay_error *error = record_of(context);
    if (context->device == NULL)
        return copy(context, to, from, bytes, cudaMemcpyDeviceToDevice);
    struct simt_launch launch = {.stream = context->device->stream, .error = error};
    TRY_CUDA(error, cudaSetDevice, context->device->index);
    return bandwidth_copy_launch(from, to, bytes, &launch);
}

assay_status assay_buffer_fill(assay_context *context, void *buffer, int byte, size_t bytes)
{
    struct assay_error *error = record_of(context);
    if (bytes == 0)
        return ASSAY_OK;
    if (context->device != NULL)
        return cuda_device_fill(context->device, buffer, byte, bytes, error);
    memset(buffer, byte, bytes);
    return ASSAY_OK;
}

assay_status assay_context_synchronize(assay_context *context)
{
    struct assay_error *error = record_of(context);
    if (context->device != NULL)
        TRY_CUDA(error, cudaStreamSynchronize, context->device->stream);
    return ASSAY_OK;
}

/* ---- launches ------------------------------------------------------------------------------ */

assay_status cuda_route_run(assay_context *context, const struct assay_op *op,
                            device_launch *launch, const void *args, void *workspace)
{
    struct assay_error error = {.status = ASSAY_OK};
    cudaError_t code = cudaSetDevice(context->device->index);
    if (code != cudaSuccess)
        return check(code, "cudaSetDevice", &context->error);
    struct simt_launch l = {
        .workspace = workspace, .stream = context->device->stream, .error = &error};
    assay_status status = launch(args, &l);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_refuse(context, status, op->name, error.where,
                        "%s: grid %u x %u x %u, block %u x %u x %u, %zu bytes shared",
                        error.message, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y,
                        l.block.z, l.shared_bytes);
}

/* ---- graphs -------------------------------------------------------------------------------- */

assay_status assay_graph_begin(assay_context *context)
{
    struct assay_error *error = record_of(context);
    struct cuda_device *device = context->device;
    if (device == NULL)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "graph", "context",
                          "only backend cuda has graphs");
    if (device->recording)
        return assay_fail(error, ASSAY_E_ARG, "graph", "context", "is recording already");
    TRY_CUDA(error, cudaSetDevice, device->index);
    TRY_CUDA(error, cudaStreamBeginCapture, device->stream, cudaStreamCaptureModeThreadLocal);
    device->recording = true;
    device->recorded.number = 0;
    context->recorded = &device->recorded;
    return ASSAY_OK;
}

assay_status assay_graph_end(assay_context *context, assay_graph **graph)
{
    struct cuda_device *device = context->device;
    *graph = NULL;
    struct assay_error *error = record_of(context);
    if (device == NULL || !device->recording)
        return assay_fail(error, ASSAY_E_ARG, "graph", "context", "is not recording");
    device->recording = false;
    context->recorded = NULL;
    assay_graph *g = assay_alloc_zero(1, sizeof *g);
    cudaGraph_t recorded = NULL;
    assay_status status =
        check(cudaStreamEndCapture(device->stream, &recorded), "cudaStreamEndCapture", error);
    if (g == NULL && status == ASSAY_OK)
        status = assay_fail(error, ASSAY_E_MEMORY, "graph", "", "cannot allocate a graph record");
    if (g == NULL) {
        if (recorded != NULL)
            (void)cudaGraphDestroy(recorded);
        return status;
    }
    g->index = device->index;
    g->graph = recorded;
    g->workspace_generation = context->workspace_generation;
    if (status == ASSAY_OK)
        status =
            check(cudaGraphGetNodes(recorded, NULL, &g->num_nodes), "cudaGraphGetNodes", error);
    if (status == ASSAY_OK)
        status =
            check(cudaGraphInstantiate(&g->executable, recorded, 0), "cudaGraphInstantiate", error);
    g->counts = device->recorded;
    device->recorded = (struct route_counts){0};
    for (int i = 0; i < g->counts.number && status == ASSAY_OK; i++)
        status = context_count(context, "graph", &context->counts, g->counts.list[i].route, 0);
    if (status != ASSAY_OK) {
        assay_graph_destroy(g);
        return status;
    }
    *graph = g;
    return ASSAY_OK;
}

bool assay_graph_is_current(const assay_context *context, const assay_graph *graph)
{
    return graph->workspace_generation == context->workspace_generation;
}

size_t assay_graph_num_nodes(const assay_graph *graph)
{
    return graph->num_nodes;
}

assay_status assay_graph_replay(assay_context *context, assay_graph *graph)
{
    struct assay_error *error = record_of(context);
    if (!assay_graph_is_current(context, graph))
        return assay_fail(error, ASSAY_E_ARG, "graph", "workspace",
                          "has moved since the recording: record again");
    TRY_CUDA(error, cudaSetDevice, graph->index);
    TRY_CUDA(error, cudaGraphLaunch, graph->executable, context->device->stream);
    for (int i = 0; i < graph->counts.number; i++)
        ASSAY_TRY(context_count(context, "graph", &context->counts, graph->counts.list[i].route,
                                graph->counts.list[i].count));
    return ASSAY_OK;
}

void assay_graph_destroy(assay_graph *graph)
{
    if (graph == NULL)
        return;
    (void)cudaSetDevice(graph->index);
    if (graph->executable != NULL)
        (void)cudaGraphExecDestroy(graph->executable);
    if (graph->graph != NULL)
        (void)cudaGraphDestroy(graph->graph);
    assay_free(graph->counts.list);
    assay_free(graph);
}

/* ---- timers -------------------------------------------------------------------------------- */

assay_status assay_timer_create(assay_context *context, assay_timer **timer)
{
    *timer = NULL;
    struct assay_error *error = record_of(context);
    if (context->device == NULL)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "timer", "context",
                          "only backend cuda has timers");
    assay_timer *t = assay_alloc_zero(1, sizeof *t);
    if (t == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "timer", "", "cannot allocate a timer");
    t->context = context;
    assay_status status = check(cudaSetDevice(context->device->index), "cudaSetDevice", error);
    if (status == ASSAY_OK)
        status = check(cudaEventCreate(&t->start), "cudaEventCreate", error);
    if (status == ASSAY_OK)
        status = check(cudaEventCreate(&t->stop), "cudaEventCreate", error);
    if (status != ASSAY_OK) {
        assay_timer_destroy(t);
        return status;
    }
    *timer = t;
    return ASSAY_OK;
}

assay_status assay_timer_start(assay_timer *timer)
{
    struct assay_error *error = record_of(timer->context);
    TRY_CUDA(error, cudaEventRecord, timer->start, timer->context->device->stream);
    return ASSAY_OK;
}

assay_status assay_timer_stop(assay_timer *timer, double *seconds)
{
    struct assay_error *error = record_of(timer->context);
    float milliseconds = 0;
    TRY_CUDA(error, cudaEventRecord, timer->stop, timer->context->device->stream);
    TRY_CUDA(error, cudaEventSynchronize, timer->stop);
    TRY_CUDA(error, cudaEventElapsedTime, &milliseconds, timer->start, timer->stop);
    *seconds = 1e-3 * (double)milliseconds;
    return ASSAY_OK;
}

void assay_timer_destroy(assay_timer *timer)
{
    if (timer == NULL)
        return;
    if (timer->start != NULL)
        (void)cudaEventDestroy(timer->start);
    if (timer->stop != NULL)
        (void)cudaEventDestroy(timer->stop);
    assay_free(timer);
}
