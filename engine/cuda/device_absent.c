/* SPDX-License-Identifier: MIT
 *
 * assay/device.h in a build without the backend cuda: host memory, no graphs, no timers.
 */
#include <assay/device.h>

#include <string.h>

#include "core/context_state.h"

static assay_status absent(struct assay_error *error, const char *what)
{
    return assay_fail(error, ASSAY_E_UNSUPPORTED, what, "",
                      "this build does not have the backend cuda; configure with ASSAY_CUDA=ON");
}

int assay_device_count(void)
{
    return 0;
}

assay_status assay_device_describe(int index, struct assay_device *device,
                                   struct assay_error *error)
{
    (void)index;
    *device = (struct assay_device){0};
    return absent(error, "device");
}

assay_status assay_buffer_create(assay_context *context, size_t bytes, void **buffer)
{
    assay_error_clear(&context->error);
    *buffer = assay_alloc_aligned(bytes);
    if (*buffer == NULL)
        return assay_fail(&context->error, ASSAY_E_MEMORY, "buffer", "",
                          "cannot allocate %zu bytes", bytes);
    return ASSAY_OK;
}

void assay_buffer_destroy(assay_context *context, void *buffer)
{
    (void)context;
    assay_free(buffer);
}

static assay_status copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memmove(to, from, bytes);
    return ASSAY_OK;
}

assay_status assay_buffer_write(assay_context *context, void *buffer, const void *host,
                                size_t bytes)
{
    (void)context;
    return copy(buffer, host, bytes);
}

assay_status assay_buffer_read(assay_context *context, void *host, const void *buffer, size_t bytes)
{
    (void)context;
    return copy(host, buffer, bytes);
}

assay_status assay_buffer_copy(assay_context *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    return copy(to, from, bytes);
}

assay_status assay_buffer_stream(assay_context *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    return copy(to, from, bytes);
}

assay_status assay_buffer_fill(assay_context *context, void *buffer, int byte, size_t bytes)
{
    (void)context;
    if (bytes > 0)
        memset(buffer, byte, bytes);
    return ASSAY_OK;
}

assay_status assay_context_synchronize(assay_context *context)
{
    (void)context;
    return ASSAY_OK;
}

assay_status assay_graph_begin(assay_context *context)
{
    return absent(&context->error, "graph");
}

assay_status assay_graph_end(assay_context *context, assay_graph **graph)
{
    *graph = NULL;
    return absent(&context->error, "graph");
}

assay_status assay_graph_replay(assay_context *context, assay_graph *graph)
{
    (void)graph;
    return absent(&context->error, "graph");
}

bool assay_graph_is_current(const assay_context *context, const assay_graph *graph)
{
    (void)context;
    (void)graph;
    return false;
}

size_t assay_graph_num_nodes(const assay_graph *graph)
{
    (void)graph;
    return 0;
}

void assay_graph_destroy(assay_graph *graph)
{
    (void)graph;
}

assay_status assay_timer_create(assay_context *context, assay_timer **timer)
{
    *timer = NULL;
    return absent(&context->error, "timer");
}

assay_status assay_timer_start(assay_timer *timer)
{
    (void)timer;
    return ASSAY_E_UNSUPPORTED;
}

assay_status assay_timer_stop(assay_timer *timer, double *seconds)
{
    (void)timer;
    *seconds = 0;
    return ASSAY_E_UNSUPPORTED;
}

void assay_timer_destroy(assay_timer *timer)
{
    (void)timer;
}
