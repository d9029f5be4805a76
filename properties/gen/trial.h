/* SPDX-License-Identifier: MIT
 *
 * The memory of one run: guarded, poisoned, restorable. Used by verify; build functions see only
 * case.h.
 */
#ifndef PROPERTIES_TRIAL_H
#define PROPERTIES_TRIAL_H

#include "case.h"

enum { TRIAL_MAX_BUFFERS = 20, TRIAL_MAX_CLAIMS = 16 };

enum buffer_role { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_INOUT };

struct trial_buffer {
    char name[24];
    enum buffer_role role;
    struct assay_tensor tensor; /* view into live */
    unsigned char *live;        /* what the op sees: guard, elements and lanes, guard */
    unsigned char *pristine;    /* as built */
    unsigned char *owned;       /* one byte for each byte of live: 1 where an output may write */
    size_t bytes;
    /* Where there is memory: num_segments pieces of segment_bytes, segment_pitch apart, from the
     * start of live, pristine and owned on. One piece, but with layout far. */
    int64_t num_segments;
    size_t segment_bytes, segment_pitch;
    bool at_edge;    /* no guard behind the elements: what follows them cannot be read or written */
    bool is_virtual; /* live is reserved addresses without memory; pristine and owned are NULL */
};

struct trial_state {
    struct trial_buffer buffer[TRIAL_MAX_BUFFERS];
    int num_buffers;
    bool out_of_memory;
    size_t largest;          /* larger buffers are virtual; 0: none is */
    const char *unmet_claim; /* first claim that did not hold */
    int num_claims;
};

/* Builds the case. False when out of memory. Destroy in any case. */
bool trial_create(struct trial *trial, const struct assay_case *c);
/* The same where elements do not matter: buffers of floats above `largest` bytes have addresses and
 * no memory, so that sizes of real models need none on the host. Not for trial_restore. */
bool trial_create_sized(struct trial *trial, const struct assay_case *c, size_t largest);
void trial_destroy(struct trial *trial);
/* Live memory as built; output elements poisoned with pattern 0 or 1. */
void trial_restore(struct trial *trial, int pattern);
/* The op on the trial's memory in the context's backend; waits for the result. */
assay_status trial_run(struct trial *trial, assay_context *context);
/* The buffer of this args field; NULL when there is none. With layout inplace the first output is
 * the first input's buffer: then role is BUFFER_INOUT under the output's name. */
struct trial_buffer *trial_find(struct trial *trial, const char *name);
/* NULL when all is well, else the name of a buffer whose bytes outside the owned ones changed. */
const char *trial_damage(const struct trial *trial, bool *is_input);
/* Index of the first output element that still holds the poison pattern; -1 when none. */
int64_t trial_unwritten(const struct trial_buffer *buffer, int pattern);

#endif
