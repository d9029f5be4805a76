/* SPDX-License-Identifier: MIT
 *
 * Traces: the device's records on backend cuda, else the host's clock between labels.
 */
#include <assay/trace.h>

#include <time.h>

#include <assay/device.h>

#include "core/core.h"
#if defined(ASSAY_HAVE_CUDA)
#include "cuda/kernel_trace.h"
#endif

struct assay_trace {
    assay_context *context;
    bool on_device, is_running, lost;
    int32_t label;
    double label_start; /* host */
    struct assay_trace_span *spans;
    size_t count, capacity;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* On the host: ends the span of the present label. */
static void close_span(assay_trace *trace)
{
    const double end = now();
    if (trace->count == trace->capacity) {
        const size_t capacity = trace->capacity == 0 ? 1024 : 2 * trace->capacity;
        struct assay_trace_span *grown = assay_resize(trace->spans, capacity, sizeof *grown);
        if (grown == NULL) {
            trace->lost = true;
            return;
        }
        trace->spans = grown;
        trace->capacity = capacity;
    }
    trace->spans[trace->count++] = (struct assay_trace_span){trace->label, trace->label_start, end};
}

assay_status assay_trace_start(assay_context *context, assay_trace **trace,
                               struct assay_error *error)
{
    *trace = NULL;
    struct assay_trace *t = assay_alloc_zero(1, sizeof *t);
    if (t == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "trace", "", "cannot allocate a trace");
    t->context = context;
    t->on_device = assay_on_device(context);
    t->label = ASSAY_TRACE_NO_LABEL;
    assay_status status = ASSAY_OK;
#if defined(ASSAY_HAVE_CUDA)
    if (t->on_device) {
        status = assay_context_synchronize(context);
        if (status == ASSAY_OK)
            status = kernel_trace_start(error);
        else
            status =
                assay_fail(error, status, "trace", "", "%s", assay_context_error(context)->message);
    }
#endif
    if (status != ASSAY_OK) {
        assay_free(t);
        return status;
    }
    t->is_running = true;
    t->label_start = now();
    *trace = t;
    return ASSAY_OK;
}

void assay_trace_label(assay_trace *trace, int32_t label)
{
#if defined(ASSAY_HAVE_CUDA)
    if (trace->on_device) {
        if (trace->label != ASSAY_TRACE_NO_LABEL)
            kernel_trace_pop();
        if (label != ASSAY_TRACE_NO_LABEL)
            kernel_trace_push((uint64_t)label + 1);
        trace->label = label;
        return;
    }
#endif
    close_span(trace);
    trace->label = label;
    trace->label_start = now();
}

assay_status assay_trace_stop(assay_trace *trace, const struct assay_trace_span **spans,
                              size_t *count, struct assay_error *error)
{
    *spans = NULL;
    *count = 0;
    if (!trace->is_running)
        return assay_fail(error, ASSAY_E_ARG, "trace", "", "was ended before");
    assay_status status = assay_context_synchronize(trace->context);
    if (status != ASSAY_OK)
        status = assay_fail(error, status, "trace", "", "%s",
                            assay_context_error(trace->context)->message);
    assay_trace_label(trace, ASSAY_TRACE_NO_LABEL);
    trace->is_running = false;
#if defined(ASSAY_HAVE_CUDA)
    if (trace->on_device) {
        struct assay_error other = {.status = ASSAY_OK};
        const assay_status stopped =
            kernel_trace_stop(&trace->spans, &trace->count, status == ASSAY_OK ? error : &other);
        if (status == ASSAY_OK)
            status = stopped;
    }
#endif
    if (status == ASSAY_OK && trace->lost)
        status = assay_fail(error, ASSAY_E_MEMORY, "trace", "", "no memory for its records");
    ASSAY_TRY(status);
    *spans = trace->spans;
    *count = trace->count;
    return ASSAY_OK;
}

void assay_trace_destroy(assay_trace *trace)
{
    if (trace == NULL)
        return;
    const struct assay_trace_span *spans;
    size_t count;
    struct assay_error unread = {.status = ASSAY_OK};
    assay_status status = ASSAY_OK;
    if (trace->is_running)
        status = assay_trace_stop(trace, &spans, &count, &unread);
    (void)status;
    assay_free(trace->spans);
    assay_free(trace);
}
