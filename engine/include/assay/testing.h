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

/* Backend cpu. Marks what lies behind the first `bytes` bytes of the workspace, for which it makes
 * room (ASSAY_E_MEMORY: there is none); then whether no call has written there. True where there is
 * nothing to see: another backend, no workspace, one of a fixed size that has no room behind. */
ASSAY_MUST_USE assay_status assay_testing_workspace_mark(assay_context *context, size_t bytes);
bool assay_testing_workspace_marked(const assay_context *context, size_t bytes);

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

/* Faults of sessions that programs plant which compile the runtime with ASSAY_SESSION_FAULTS; the
 * library has none of them. X(enumerator, what is wrong) */
#define ASSAY_SESSION_FAULT_TABLE(X)                                                         \
    X(RESET_KEEPS_STATES, "a reset keeps the states of the sequence before")                 \
    X(LENGTH_FORGOTTEN, "a step of several columns does not count its tokens")               \
    X(ABORT_LEAVES_HALF, "a pass that failed half-way is taken back by counting alone")      \
    X(REWIND_POSITION, "a rewind takes the states back and not the position")                \
    X(REWIND_ONE_MORE, "a rewind keeps the states of one token too many")                    \
    X(REWIND_WIDER, "a rewind runs other passes than those that were")                       \
    X(REWIND_LAST_ROW, "a rewind keeps the newest token's residual stream")                  \
    X(CHECKPOINT_KEPT, "a checkpoint outlives a rewind to before it")                        \
    X(FORK_SHARES, "a fork shares a KV cache with its origin")                               \
    X(FORK_ROW_SHORT, "a fork lacks the newest KV row")                                      \
    X(RESTORE_CONV, "restoring forgets the convolution states")                              \
    X(RESTORE_LAST_ROW, "restoring forgets the newest token's residual stream")              \
    X(SAVE_ROW_SHORT, "a file repeats a KV row in the place of the newest")                  \
    X(MOVE_ROW_SHORT, "moving the KV caches leaves the newest row behind")                   \
    X(LANES_SHARE_STATES, "a step of several lanes reads and writes the first one's memory") \
    X(LANES_SHARE_POSITION, "a step of several lanes gives all the first one's positions")   \
    X(LANES_LAST_ROW, "a step of several lanes keeps the first one's residual stream")       \
    X(STALE_GRAPH, "a recorded step is replayed after the KV caches moved (graphs only)")

enum assay_session_fault {
    ASSAY_SESSION_FAULT_NONE,
#define ASSAY_SESSION_FAULT_ENUM(enumerator, text) ASSAY_SESSION_FAULT_##enumerator,
    ASSAY_SESSION_FAULT_TABLE(ASSAY_SESSION_FAULT_ENUM)
#undef ASSAY_SESSION_FAULT_ENUM
        ASSAY_NUM_SESSION_FAULTS
};
/* Defined by such a program. */
extern enum assay_session_fault assay_session_fault;

#ifdef __cplusplus
}
#endif
#endif
