/* SPDX-License-Identifier: MIT
 *
 * Activity records of CUPTI: what ran on a device, from when to when. One trace a process.
 */
#ifndef ASSAY_CUDA_KERNEL_TRACE_H
#define ASSAY_CUDA_KERNEL_TRACE_H

#include <assay/trace.h>

/* The label of work that follows is `id` - 1; ids are >= 0. */
ASSAY_MUST_USE assay_status kernel_trace_start(struct assay_error *error);
void kernel_trace_push(uint64_t id);
void kernel_trace_pop(void);
/* *spans: for the caller to free with assay_free; NULL where there are none. */
ASSAY_MUST_USE assay_status kernel_trace_stop(struct assay_trace_span **spans, size_t *count,
                                              struct assay_error *error);

#endif
