/* SPDX-License-Identifier: MIT
 *
 * What a context's work spends its time on: kernels, copies and fills of backend cuda with the
 * device's own time stamps (CUPTI, looked up when the first trace starts), or spans of the host's
 * clock on the other backends. For profiles: tracing makes calls slower, not kernels.
 */
#ifndef ASSAY_TRACE_H
#define ASSAY_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_trace assay_trace;

enum { ASSAY_TRACE_NO_LABEL = -1 };

struct assay_trace_span {
    int32_t label; /* the newest when the work was given out; ASSAY_TRACE_NO_LABEL for replays */
    double start, end; /* seconds; all spans of a trace by one clock */
};

/* Starts a trace of the context's work; one at a time in a process on backend cuda. *trace is NULL
 * on failure: ASSAY_E_UNSUPPORTED when libcupti is not found, ASSAY_E_CUDA. */
ASSAY_MUST_USE assay_status assay_trace_start(assay_context *context, assay_trace **trace,
                                              struct assay_error *error);
/* Work given out from here on carries the label (>= 0), or none. On the host a span reaches to the
 * next call. */
void assay_trace_label(assay_trace *trace, int32_t label);
/* Waits for the work and ends the trace. *spans, in order of their starts, live as long as it. */
ASSAY_MUST_USE assay_status assay_trace_stop(assay_trace *trace,
                                             const struct assay_trace_span **spans, size_t *count,
                                             struct assay_error *error);
/* Ends it if need be. NULL is fine. */
void assay_trace_destroy(assay_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
