/* SPDX-License-Identifier: MIT
 *
 * The inside of a session, shared by session.c and generate.c.
 */
#ifndef ASSAY_RUNTIME_SESSION_PRIVATE_H
#define ASSAY_RUNTIME_SESSION_PRIVATE_H

#include <assay/session.h>

#include "model/schedule.h"

struct assay_session {
    assay_context *context;
    const assay_model *model;
    const struct assay_model_config *config;
    struct schedule schedule;
    struct assay_precision precision;
    int64_t capacity;
    int64_t prefill_chunk;
    int64_t length;
    bool broken; /* a pass failed half-way: states and length no longer belong together */

    /* All that a sequence remembers, one block each. The KV caches are never cleared: slots at or
     * beyond the length are never read. */
    void *kv_memory;
    void *state_memory; /* convolution and recurrent states */
    size_t state_bytes;
    void *scratch_memory;
    float *last_row; /* [H] residual stream of the newest token; has meaning when length > 0 */
    float *logits;   /* [V] of the newest token, filled by session_last_logits */
    int32_t *counts; /* [V] generated tokens, for the penalties */
};

/* Fills session->logits from the newest token. The session must hold one. */
ASSAY_MUST_USE assay_status session_last_logits(assay_session *session, struct assay_error *error);
/* Copies the context's error into *error (which keeps an earlier one) and returns the status. */
assay_status session_op_error(const assay_session *session, assay_status status,
                              struct assay_error *error);

#endif
