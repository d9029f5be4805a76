/* SPDX-License-Identifier: MIT
 *
 * The inside of a session, shared by the files of this folder.
 */
#ifndef ASSAY_RUNTIME_SESSION_PRIVATE_H
#define ASSAY_RUNTIME_SESSION_PRIVATE_H

#include <assay/session.h>

#include "model/schedule.h"

struct step_graphs;

enum {
    SESSION_STEP_TOKENS = 8,           /* a pass of at most this many tokens is a decode step */
    SESSION_HEAD_ROWS = 64,            /* rows of logits that a session keeps on a device */
    SESSION_LARGEST_CAPACITY = 1 << 24 /* positions that rope takes, [ROPE-6] */
};

/* What follows the layers of a pass. */
enum pass_tail {
    PASS_NONE,
    PASS_LAST,   /* logits of the newest token */
    PASS_ALL,    /* logits of all tokens of the pass */
    PASS_CHOOSE, /* logits of the newest token, and a token drawn from them */
    NUM_PASS_TAILS
};

/* How PASS_CHOOSE draws; fixed while a generation runs. */
struct token_choice {
    struct assay_sampling sampling;
    int64_t limit; /* addressable tokens */
};

/* One pass as calls of ops: everything they get by value. */
struct pass {
    struct schedule_block block;
    enum pass_tail tail;
    float *logits;               /* of PASS_LAST and PASS_ALL */
    int64_t step;                /* number of the drawn token in its generation, */
    struct assay_tensor step_at; /* less what is added from here: absent or [1] i32 */
};

/* What differs between passes of one width, in memory that the ops read: start, step, then at
 * STEP_RECORD_TOKENS the ids and behind them the positions. */
enum { STEP_RECORD_START, STEP_RECORD_STEP, STEP_RECORD_TOKENS = 16 };

/* How each token came: the first of a pass names its kind, the others are inside. */
enum pass_mark { MARK_INSIDE, MARK_PREFILL, MARK_DECODE, NUM_PASS_MARKS };

/* What a sequence is made of, in host memory: a rewind runs passes again, a file keeps them. */
struct session_history {
    int32_t *tokens; /* [capacity] */
    uint8_t *marks;  /* [capacity] enum pass_mark */
};

/* The states as they were at `length` tokens; buffers of the context. */
struct session_checkpoint {
    void *states; /* NULL: never allocated */
    float *last_row;
    int64_t length; /* -1: none */
};

struct assay_session {
    struct assay_session_options options; /* as given */
    assay_context *context;
    const assay_model *model;
    const struct assay_model_config *config;
    struct schedule schedule;
    struct assay_precision precision;
    int64_t capacity;
    int64_t prefill_chunk;
    int64_t chunk_asked; /* before it was cut to the capacity, which no pass exceeds anyway */
    int64_t length;
    size_t workspace_bytes; /* planned: largest of the products of its passes */
    bool broken;    /* a pass failed half-way: states and length no longer belong together */
    bool on_device; /* ops read memory that the host cannot */
    bool by_record; /* decode steps take start and step from the record (all backends but cpu) */
    struct step_graphs *graphs; /* NULL: no graphs */

    /* All that a sequence remembers, one buffer of the context each. The KV caches are never
     * cleared: slots at or beyond the length are never read. */
    void *kv_memory;
    size_t kv_bytes;
    uint64_t kv_generation; /* counts its moves */
    void *state_memory;     /* convolution and recurrent states */
    size_t state_bytes;
    void *scratch_memory;
    size_t scratch_bytes;
    size_t activation_bytes; /* of scratch_memory, from its start: no meaning between passes */
    float *last_row; /* [H] residual stream of the newest token; has meaning when length > 0 */
    float *logits;   /* [head_rows, V] */
    int64_t head_rows;
    int32_t *counts; /* [V] generated tokens, for the penalties */
    int32_t *chosen; /* [1] the drawn token */
    int32_t *record; /* the step record */
    /* The host's side of record and counts; the same memory where the host can write it. */
    int32_t *host_record, *host_counts;
    struct token_choice choice;
    struct session_history history;
    struct session_checkpoint checkpoint;
};

/* ---- session_memory.c ---------------------------------------------------------------------- */
ASSAY_MUST_USE assay_status session_allocate(assay_session *session, struct assay_error *error);
void session_free(assay_session *session);

/* ---- session_plan.c ------------------------------------------------------------------------ */
/* Plans the workspace of the products and reserves it in the context's arena. */
ASSAY_MUST_USE assay_status session_plan_workspace(assay_session *session,
                                                   struct assay_error *error);

/* ---- session_pass.c ------------------------------------------------------------------------ */
/* Appends ids[0, num_ids), at most prefill_chunk. logits: the caller's, for PASS_LAST and PASS_ALL.
 * step: for PASS_CHOOSE. Errors are in the context. */
ASSAY_MUST_USE assay_status session_pass(assay_session *session, enum assay_pass_kind kind,
                                         const int32_t *ids, int64_t num_ids, enum pass_tail tail,
                                         float *logits, int64_t step);
/* The calls of a pass. */
ASSAY_MUST_USE assay_status session_pass_calls(assay_session *session, const struct pass *pass);
/* Draws from the logits of the newest token into session->chosen. */
ASSAY_MUST_USE assay_status session_choose(assay_session *session, int64_t step,
                                           struct assay_tensor step_at);
/* The length up to which one launch geometry serves a decode step that ends at `length`: a power of
 * four times 256, at most the capacity. */
int64_t session_tier(const assay_session *session, int64_t length, int *index);

/* ---- session_history.c --------------------------------------------------------------------- */
ASSAY_MUST_USE assay_status session_history_allocate(assay_session *session,
                                                     struct assay_error *error);
/* History and checkpoint. */
void session_history_free(assay_session *session);
/* Notes a pass that is about to be part of the sequence: ids may lie in the history itself. */
void session_history_append(assay_session *session, enum assay_pass_kind kind, const int32_t *ids,
                            int64_t num_ids);
/* ASSAY_E_ARG when a pass failed half-way. */
ASSAY_MUST_USE assay_status session_whole(const assay_session *session, struct assay_error *error);

/* ---- session_digest.c ---------------------------------------------------------------------- */
enum session_part { PART_CONFIG, PART_LAYERS, PART_EMBEDDING, PART_HEAD, NUM_SESSION_PARTS };
enum { PART_DIGEST_BYTES = 32 };

/* BLAKE2b-256 of what the session's results depend on, part by part: numbers of the config, planes
 * of the layers and the final norm, of the embedding and of the head, the last two in the formats
 * that the session's ops read. */
ASSAY_MUST_USE assay_status session_digests(
    const assay_session *session, unsigned char digests[NUM_SESSION_PARTS][PART_DIGEST_BYTES],
    struct assay_error *error);

/* ---- session.c ----------------------------------------------------------------------------- */
/* Everything that can be wrong with a call, before any state changes. */
ASSAY_MUST_USE assay_status session_check(const assay_session *session, const int32_t *ids,
                                          int64_t num_ids, struct assay_error *error);
/* Copies the context's error into *error (which keeps an earlier one) and returns the status. */
assay_status session_op_error(const assay_session *session, assay_status status,
                              struct assay_error *error);

#endif
