/* SPDX-License-Identifier: MIT
 *
 * Whole-model oracle: the forward pass of Qwen3.5-family models in binary64, from the stored
 * weights to the logits, formulas (F1)-(F20) and the MTP layer (F22)-(F24) of qwen3_5.md section 5.
 * It shares no schedule, kernel, decoder or file reader with the engine.
 *
 * Result of a forward pass: binary64 arithmetic throughout. Every dot product has one fixed order
 * of additions that depends on its length only, so that on one machine the results are the same
 * bits however a sequence is cut into calls and whatever the number of threads. Between machines
 * only exp, log1p and the rotary tables may differ, by the last bits of the C library.
 *
 * Messages: fallible functions take message[size] and fill it on failure with what, where and what
 * was expected. Statuses are those of <assay/status.h>.
 */
#ifndef ORACLE_MODEL_H
#define ORACLE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

struct oracle_model;   /* weights, widened to binary64; immutable, may be shared by threads */
struct oracle_session; /* one sequence: keys and values, GDN states, conv states; in binary64 */

/* Extents a caller needs (names as in qwen3_5.md section 0). */
struct oracle_model_extents {
    int64_t vocab_size;  /* V */
    int64_t hidden_size; /* H */
    int64_t num_layers;  /* L */
    int64_t key_heads;   /* Hk */
    int64_t value_heads; /* Hv */
    int64_t key_dim;     /* dk */
    int64_t value_dim;   /* dv */
    bool has_mtp;
};

/* Opens a folder with config.json and model.safetensors or its index. *model is NULL on failure.
 * ASSAY_E_UNSUPPORTED: valid, but not of this family. */
assay_status oracle_model_open(const char *dir, struct oracle_model **model, char *message,
                               size_t size);
void oracle_model_close(struct oracle_model *model); /* NULL is allowed */
struct oracle_model_extents oracle_model_extents(const struct oracle_model *model);

enum oracle_arithmetic {
    ORACLE_FLOAT64, /* the reference: no rounding but that of binary64 */
    /* The binary32 casts of the HuggingFace implementation (golden/references/FULL.md) in their
     * places: rotary angles, norms, gates, delta rule, softmax. Explains the "library" references.
     * Sums of binary32 terms are formed in binary64 and rounded once: the library's own order of
     * additions is not reproduced. */
    ORACLE_LIBRARY
};

/* The GDN state is rounded to this format after every token; the token's own output still comes
 * from the unrounded state. For measuring what a storage format costs. */
enum oracle_state_storage {
    ORACLE_STATE_F64,
    ORACLE_STATE_F32,
    ORACLE_STATE_F16,
    ORACLE_STATE_BF16
};

/* Planted errors, for tests that show that a comparison would notice. X(enumerator, what it does)
 */
#define ORACLE_FAULT_TABLE(X)                                                                 \
    X(NONE, "correct")                                                                        \
    X(QUERY_GATE_HALVES, "q_proj rows split in the middle instead of per head")               \
    X(KEY_HEAD_MODULO, "value head h reads key head h % Hk instead of h / r")                 \
    X(CONV_REVERSED, "first conv tap meets the present token")                                \
    X(EPS_OUTSIDE_ROOT, "x / (sqrt(mean) + eps) in every RMS norm")                           \
    X(NORM_WITHOUT_ONE, "offset norms multiply by w instead of 1 + w")                        \
    X(DECAY_AFTER_DELTA, "the state decays after the update, so the prediction is undecayed") \
    X(ROPE_INTERLEAVED, "neighbouring elements are rotated as a pair")                        \
    X(ROPE_ALL_DIMS, "all D elements are rotated instead of the first R")                     \
    X(L2_EPS_OUTSIDE, "x / max(norm, eps) for the GDN queries and keys")                      \
    X(GATE_BEFORE_NORM, "GDN output multiplied by silu(z) before the norm")                   \
    X(QUERY_UNSCALED, "GDN query without dk^-0.5")                                            \
    X(MTP_INPUTS_SWAPPED, "hidden state before embedding in the MTP input")                   \
    X(MTP_HIDDEN_RAW, "hidden state enters the MTP layer without its norm")                   \
    /* Of mixtures of experts; nothing in a dense model. */                                   \
    X(EXPERTS_UNNORMALISED, "expert weights are not divided by their sum")                    \
    X(EXPERT_HALVES_SWAPPED, "silu of an expert's up rows instead of its gate rows")          \
    X(SHARED_UNGATED, "the shared expert counts in full")

enum oracle_fault {
#define ORACLE_FAULT_ENUM(enumerator, text) ORACLE_FAULT_##enumerator,
    ORACLE_FAULT_TABLE(ORACLE_FAULT_ENUM)
#undef ORACLE_FAULT_ENUM
        ORACLE_NUM_FAULTS,
    ORACLE_NUM_DENSE_FAULTS = ORACLE_FAULT_EXPERTS_UNNORMALISED /* those before it */
};

/* All zero is the reference on one thread. */
struct oracle_session_options {
    enum oracle_arithmetic arithmetic;
    enum oracle_state_storage state_storage;
    int num_threads;         /* 0 and 1: the calling thread only */
    enum oracle_fault fault; /* tests only */
};

/* An empty sequence; options may be NULL. The model must outlive it. NULL: out of memory. */
struct oracle_session *oracle_session_new(const struct oracle_model *model,
                                          const struct oracle_session_options *options);
/* An independent copy of the whole state, or NULL when out of memory. */
struct oracle_session *oracle_session_fork(const struct oracle_session *session);
void oracle_session_free(struct oracle_session *session); /* NULL is allowed */
int64_t oracle_session_length(const struct oracle_session *session);
/* State of GDN layer `layer` as [Hv, dk, dv], NULL for other layers. Valid until the session
 * changes. */
const double *oracle_session_state(const struct oracle_session *session, int64_t layer);

/* Called with each intermediate, named as in golden/references/FULL.md ("embed",
 * "layers.3.q_rope"), for every layer; row-major [rows, cols]. One row is one token, except
 *   layers.N.conv_state   [Cc, Kc-1]
 *   layers.N.state        [Hv * dk, dv]
 *   layers.N.probs        [Nq * n, keys so far], head-major
 * `values` is valid during the call only. */
typedef void oracle_observer(void *data, const char *name, const double *values, int64_t rows,
                             int64_t cols);

/* What a forward pass of n tokens shall produce; any pointer may be NULL. */
struct oracle_outputs {
    double *logits;       /* [n - first_logits, V]: rows of the tokens from first_logits on */
    int64_t first_logits; /* 0: all; n - 1: the last token only */
    double *hidden;       /* [n, H]: after the final norm; the h_t of (F22) */
    oracle_observer *observe;
    void *data;
};

/* Appends n >= 1 tokens to the sequence. On failure (ASSAY_E_ARG, ASSAY_E_RANGE for a token,
 * ASSAY_E_MEMORY) the session must not be used further. outputs may be NULL. */
assay_status oracle_model_forward(struct oracle_session *session, const int32_t *ids, int64_t n,
                                  const struct oracle_outputs *outputs, char *message, size_t size);

/* (F22)-(F24): appends n positions to the MTP layer's own keys and values. next_ids[i] is the token
 * that follows the token whose hidden state is hidden[i] ([n, H]). Positions count from 0 in order
 * of the calls. outputs->hidden receives the rows after mtp.norm: the hidden input of a further
 * draft. Observed names begin with "mtp." ("mtp.fc", "mtp.layer.output"). ASSAY_E_UNSUPPORTED: the
 * model has no MTP layer. */
assay_status oracle_mtp_forward(struct oracle_session *session, const int32_t *next_ids,
                                const double *hidden, int64_t n,
                                const struct oracle_outputs *outputs, char *message, size_t size);
int64_t oracle_mtp_length(const struct oracle_session *session);
/* Forgets the MTP positions from `length` on (0 <= length <= oracle_mtp_length). */
void oracle_mtp_rewind(struct oracle_session *session, int64_t length);

/* (F20): smallest id among the largest of logits[0, count). */
int32_t oracle_argmax(const double *logits, int64_t count);

#endif
