/* SPDX-License-Identifier: MIT
 *
 * Devices, and memory that a context's ops can read and write: device memory on backend cuda, host
 * memory on the others. Work of a context runs in order on its own stream.
 */
#ifndef ASSAY_DEVICE_H
#define ASSAY_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/context.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_device {
    char name[128];
    int major, minor; /* compute capability */
    int num_multiprocessors;
    size_t memory_bytes;
    size_t cache_bytes;  /* L2 */
    int driver, runtime; /* CUDA versions, 13000 is 13.0 */
};

/* Devices of the machine that backend cuda can use; 0 without a driver or without the backend. */
int assay_device_count(void);
/* ASSAY_E_NOT_FOUND when there is no such device, ASSAY_E_UNSUPPORTED without the backend. */
ASSAY_MUST_USE assay_status assay_device_describe(int index, struct assay_device *device,
                                                  struct assay_error *error);

/* `bytes` bytes of undefined content, 256-byte aligned on a device and 64-byte on the host; never
 * managed memory. Errors of these functions are also in the context's error record:
 * ASSAY_E_MEMORY, ASSAY_E_CUDA. */
ASSAY_MUST_USE assay_status assay_buffer_create(assay_context *context, size_t bytes,
                                                void **buffer);
/* Waits for the context's work. NULL is fine. */
void assay_buffer_destroy(assay_context *context, void *buffer);
/* Host to buffer and back, in order with the context's work; the host memory may be used again when
 * they return. */
ASSAY_MUST_USE assay_status assay_buffer_write(assay_context *context, void *buffer,
                                               const void *host, size_t bytes);
ASSAY_MUST_USE assay_status assay_buffer_read(assay_context *context, void *host,
                                              const void *buffer, size_t bytes);
/* Between buffers of the context, without waiting. */
ASSAY_MUST_USE assay_status assay_buffer_copy(assay_context *context, void *to, const void *from,
                                              size_t bytes);
/* Every byte becomes `byte`, without waiting. */
ASSAY_MUST_USE assay_status assay_buffer_fill(assay_context *context, void *buffer, int byte,
                                              size_t bytes);
/* Waits for all work of the context. A fault of a kernel shows here at the latest. */
ASSAY_MUST_USE assay_status assay_context_synchronize(assay_context *context);

/* The same by a kernel that reaches the memory's bandwidth; bytes: a multiple of 32 KiB. */
ASSAY_MUST_USE assay_status assay_buffer_stream(assay_context *context, void *to, const void *from,
                                                size_t bytes);

/* A recorded sequence of op calls that replays as one launch (backend cuda). What the calls were
 * given by value is fixed: whatever changes between replays lives in buffers. */
typedef struct assay_graph assay_graph;

/* Ops called on the context from here on are recorded and not run. Ops must have run once before
 * with the same shapes, so that the workspace has its size: a call that would have to grow it
 * fails. */
ASSAY_MUST_USE assay_status assay_graph_begin(assay_context *context);
/* Ends the recording; *graph is NULL on failure. Must follow assay_graph_begin in any case. */
ASSAY_MUST_USE assay_status assay_graph_end(assay_context *context, assay_graph **graph);
/* Runs the recorded calls on the context's stream without waiting. ASSAY_E_ARG when the workspace
 * has moved since the recording (assay_graph_is_current). */
ASSAY_MUST_USE assay_status assay_graph_replay(assay_context *context, assay_graph *graph);
/* The context's workspace is where it was at the recording. */
bool assay_graph_is_current(const assay_context *context, const assay_graph *graph);
/* Kernels and copies in it. */
size_t assay_graph_num_nodes(const assay_graph *graph);
void assay_graph_destroy(assay_graph *graph);

/* Times of the context's stream, in seconds since assay_timer_start; for benchmarks. On other
 * backends the host's clock. */
typedef struct assay_timer assay_timer;
ASSAY_MUST_USE assay_status assay_timer_create(assay_context *context, assay_timer **timer);
ASSAY_MUST_USE assay_status assay_timer_start(assay_timer *timer);
ASSAY_MUST_USE assay_status assay_timer_stop(assay_timer *timer, double *seconds); /* waits */
void assay_timer_destroy(assay_timer *timer);

#ifdef __cplusplus
}
#endif
#endif
