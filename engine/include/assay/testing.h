/* SPDX-License-Identifier: MIT
 *
 * Hooks for tests: fail the n-th allocation, mapping or file operation of the library; reach
 * codecs that are private or chosen by the processor.
 */
#ifndef ASSAY_TESTING_H
#define ASSAY_TESTING_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The n-th following operation that can fail (n = 1: the next one) does fail; 0 turns it off.
 * Counts allocations, mappings, reads, writes, renames and thread starts, in all threads. */
void assay_fault_after(int64_t n);
/* True when the fault has happened since the last assay_fault_after. */
bool assay_fault_happened(void);
/* Allocations of the library that are live now: 0 when everything was closed. */
int64_t assay_live_allocations(void);

/* The context's device has this much shared memory a block: what dispatch does on smaller ones.
 * Backends cuda and simt. */
void assay_testing_limit_shared(assay_context *context, size_t bytes);

/* assay_weights_encode_row and _decode_row with the kernels of one instruction set, which this
 * processor must have; in a build without them: the portable ones. */
ASSAY_MUST_USE assay_status assay_testing_encode_row(enum assay_isa isa,
                                                     const struct assay_weights *to, int64_t row,
                                                     const float *values,
                                                     const struct assay_encode_options *options,
                                                     struct assay_error *error);
void assay_testing_decode_row(enum assay_isa isa, const struct assay_weights *from, int64_t row,
                              float *values);
/* A row of a GGUF tensor of the type with this id in the file: its size, and its values. */
ASSAY_MUST_USE assay_status assay_testing_gguf_row_bytes(uint32_t type, int64_t columns,
                                                         int64_t *bytes, struct assay_error *error);
void assay_testing_gguf_decode_row(uint32_t type, const void *row, int64_t columns, float *values);

#ifdef __cplusplus
}
#endif
#endif
