/* SPDX-License-Identifier: MIT
 *
 * Sessions: one sequence's state (KV cache, convolution and recurrent states) on one model, and
 * the forward passes that extend it. A session is used by one thread at a time.
 */
#ifndef ASSAY_SESSION_H
#define ASSAY_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/model.h>
#include <assay/precision.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_session assay_session;

/* CUDA Graphs for passes of up to 8 tokens: recorded once for each width, kind of result and range
 * of context lengths, then replayed. The results are those of the calls themselves, bit for bit.
 * Route counters count each replay's calls. */
enum assay_cuda_graphs {
    ASSAY_CUDA_GRAPHS_AUTO, /* on where the context's backend is cuda */
    ASSAY_CUDA_GRAPHS_ON,   /* ASSAY_E_UNSUPPORTED on another backend */
    ASSAY_CUDA_GRAPHS_OFF
};

struct assay_session_options {
    int64_t capacity;      /* tokens the session can hold; 0: 4096, at most max_positions */
    int64_t prefill_chunk; /* tokens a forward pass takes at most; 0: 512 */
    int64_t gdn_chunk;     /* tokens a chunk of gdn_chunked; 0: 64 */
    /* Calls of at most this many tokens go through gdn_recurrent, longer ones through
     * gdn_chunked; 0: 1. Scoring through the decode path sets it to the prefill chunk. */
    int64_t recurrent_limit;
    assay_trade_set trades; /* what the session does, gated or not: the caller has checked */
    enum assay_cuda_graphs cuda_graphs;
};

struct assay_session_options assay_session_defaults(void);

/* An empty sequence. The context is used by all calls of the session and must outlive it, as must
 * the model. On backend cuda the first session of a model copies its weights to the device; others
 * of the same context share that copy. */
ASSAY_MUST_USE assay_status assay_session_create(assay_context *context, const assay_model *model,
                                                 const struct assay_session_options *options,
                                                 assay_session **session,
                                                 struct assay_error *error);
void assay_session_destroy(assay_session *session);
/* Back to the empty sequence; keeps the memory, forgets the checkpoint. */
void assay_session_reset(assay_session *session);
/* Tokens processed so far. */
int64_t assay_session_length(const assay_session *session);
/* The tokens [0, length), until the next call that changes the session. */
const int32_t *assay_session_tokens(const assay_session *session);

/* Which logits a forward pass returns. */
enum assay_logits { ASSAY_LOGITS_NONE, ASSAY_LOGITS_LAST, ASSAY_LOGITS_ALL };

/* Prefill and scoring: appends ids[0, num_ids) to the sequence, in passes of at most prefill_chunk
 * tokens. logits receives vocab_size floats (LAST) or num_ids * vocab_size (ALL). On an error the
 * session is as it was before the call when the cause is the arguments (ASSAY_E_RANGE: an id
 * outside the vocabulary; ASSAY_E_FULL: capacity), and must be rewound or reset otherwise
 * (assay_session_broken): its length is then that of the passes that succeeded. */
ASSAY_MUST_USE assay_status assay_session_forward(assay_session *session, const int32_t *ids,
                                                  int64_t num_ids, enum assay_logits which,
                                                  float *logits, struct assay_error *error);
bool assay_session_broken(const assay_session *session);

enum { ASSAY_VERIFY_COLUMNS = 32 /* of a decode step, at most */ };

/* A decode step of several columns, as the verification of a draft runs it: appends ids[0,
 * num_ids), at least 1 and at most ASSAY_VERIFY_COLUMNS and the prefill chunk, in one pass whose
 * tokens all go through gdn_recurrent. logits receives num_ids * vocab_size floats. Errors as
 * above; ASSAY_E_ARG: too few or too many ids. */
ASSAY_MUST_USE assay_status assay_session_verify(assay_session *session, const int32_t *ids,
                                                 int64_t num_ids, float *logits,
                                                 struct assay_error *error);

/* The same of several sequences in one pass, which reads the weights once for all of them: appends
 * ids[i * columns, (i + 1) * columns) to lanes[i]. The lanes are different sessions of one context,
 * one model and one set of trades; num_lanes * columns is at most ASSAY_VERIFY_COLUMNS and the
 * prefill chunk of lanes[0]. logits receives num_lanes * columns * vocab_size floats, lane by lane.
 * A lane's logits and states depend on its own sequence and on num_lanes * columns only: products
 * are those of a step as wide. A rewind runs its part of the step again alone, so that there, and
 * only there, the bits may be those of a narrower step's products. Graphs are not used. After an
 * error that is none of the arguments' all lanes are broken. */
ASSAY_MUST_USE assay_status assay_session_verify_lanes(assay_session *const *lanes, int num_lanes,
                                                       const int32_t *ids, int64_t columns,
                                                       float *logits, struct assay_error *error);

/* ---- back, beside, later ---------------------------------------------------------------------
 *
 * A KV cache is cut by counting less; a recurrent state has no inverse. A rewind therefore begins
 * at the newest place whose states the session has, the checkpoint or the empty sequence, and runs
 * the passes from there again, each as wide and of the kind that it was, the last one cut at the
 * target. The session then has the bits of one that was given these passes and no others. */

/* Keeps a copy of the states of this moment, in place of an earlier one. The first call allocates
 * it (struct assay_session_memory: states). What a speculating decoder does before each round. */
ASSAY_MUST_USE assay_status assay_session_checkpoint(assay_session *session,
                                                     struct assay_error *error);
/* The sequence becomes its first `length` tokens; the cost is that of the tokens since the
 * checkpoint, or of all `length` when the checkpoint is younger, which is then forgotten. Also
 * makes a broken session whole. ASSAY_E_ARG: `length` is more than the session has; otherwise
 * errors as of a forward pass. */
ASSAY_MUST_USE assay_status assay_session_rewind(assay_session *session, int64_t length,
                                                 struct assay_error *error);
/* A second session of the same context, model, options and sequence, which shares no memory with
 * the first but the weights, and has no checkpoint. *fork is NULL on failure. */
ASSAY_MUST_USE assay_status assay_session_fork(const assay_session *session, assay_session **fork,
                                               struct assay_error *error);

/* One file: settings, digests of config and weights, tokens, passes, KV rows, states, checksum
 * (docs/containers.md). It appears complete or not at all. Reads all weights once, for the digests.
 */
ASSAY_MUST_USE assay_status assay_session_save(const assay_session *session, const char *path,
                                               struct assay_error *error);
/* The session's sequence becomes the file's, with the bits that the saved session had: what follows
 * is what would have followed there. Capacity and graphs may differ. ASSAY_E_ARG: another backend,
 * instruction set, chunk length, format or product, other weights (also the same ones in another
 * format), and the message says which; ASSAY_E_FULL: capacity; ASSAY_E_CORRUPT. The session is then
 * as it was before the call; after another error it must be reset. */
ASSAY_MUST_USE assay_status assay_session_restore(assay_session *session, const char *path,
                                                  struct assay_error *error);
/* Tokens in such a file, from its header alone. */
ASSAY_MUST_USE assay_status assay_session_file_length(const char *path, int64_t *length,
                                                      struct assay_error *error);

/* What a session takes and what its passes read, in bytes. Planned: computed from shapes and
 * formats, and what the session then allocates. Not counted: 5 bytes of host memory a token of the
 * capacity, and the checkpoint, as much as the states. */
struct assay_session_memory {
    size_t weights;       /* planes of all weights that its ops read, wherever they lie */
    size_t decode_reads;  /* of these, what a step of one token reads: of the embedding one row, of
                             a layer's experts as many as a token has */
    size_t weight_copies; /* made for it (shared by sessions of one context): encoded matrices; on
                             a device all weights, each tensor from a multiple of 256 bytes on */
    size_t kv, states, scratch;
    size_t workspace; /* largest that the products of its passes take from the context's arena */
};
ASSAY_MUST_USE assay_status assay_session_memory(const assay_session *session,
                                                 struct assay_session_memory *memory,
                                                 struct assay_error *error);

/* For tests: BLAKE2b-256 of the planes of embedding and output head as the session's ops read them,
 * in hex. */
ASSAY_MUST_USE assay_status assay_session_weights_digest(const assay_session *session,
                                                         char digest[65],
                                                         struct assay_error *error);

/* Copies the recurrent state of a layer (qwen3_5.md F15) into out[Hv * dk * dv] as floats; 0
 * elements and ASSAY_E_ARG for a full-attention layer. */
ASSAY_MUST_USE assay_status assay_session_gdn_state(const assay_session *session, int64_t layer,
                                                    float *out, struct assay_error *error);

/* For tests: moves the KV caches to other memory. *old is the memory they were in, which the
 * caller frees with assay_buffer_destroy. */
ASSAY_MUST_USE assay_status assay_session_move_kv(assay_session *session, void **old,
                                                  struct assay_error *error);
/* For tests: fills everything that has no meaning between passes with NaN: the context's workspace,
 * the session's scratch, the slots of its caches behind the newest token. */
ASSAY_MUST_USE assay_status assay_session_poison(assay_session *session, struct assay_error *error);
/* For tests: graphs recorded and graphs replayed since the session was created. */
void assay_session_graph_counts(const assay_session *session, int64_t *recorded, int64_t *replayed);

/* How the next token is chosen. */
struct assay_sampling {
    double temperature; /* 0: greedy */
    int64_t top_k;
    double top_p;
    double min_p;
    double presence;
    double frequency;
    uint64_t seed;
};
struct assay_sampling assay_sampling_defaults(void); /* greedy */

/* Called for every new token; returning false stops the generation. */
typedef bool (*assay_token_callback)(void *user, int32_t id);

struct assay_generation {
    int64_t max_new_tokens;
    struct assay_sampling sampling;
    const int64_t *stop_tokens; /* the stop token itself is not reported */
    int num_stop_tokens;
    int64_t limit; /* addressable tokens; 0: vocab_size */
    assay_token_callback callback;
    void *user;
    /* results */
    int64_t num_new_tokens;
    bool stopped;   /* by a stop token */
    bool cancelled; /* by the callback */
    double prefill_seconds, decode_seconds;
};

/* Appends the prompt, then generates. The last generated token is not appended to the sequence.
 * An empty prompt on an empty session is ASSAY_E_ARG. */
ASSAY_MUST_USE assay_status assay_session_generate(assay_session *session, const int32_t *prompt,
                                                   int64_t num_prompt,
                                                   struct assay_generation *generation,
                                                   struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
