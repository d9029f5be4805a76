/* SPDX-License-Identifier: MIT
 *
 * Whole-model oracle, shared by its files only: configuration, weights, session, kernels.
 */
#ifndef ORACLE_MODEL_PRIVATE_H
#define ORACLE_MODEL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle_archive.h"
#include "oracle_model.h"

#define ORACLE_PATH_SIZE   4096
#define ORACLE_MAX_LAYERS  512
#define ORACLE_MAX_THREADS 64

/* ---- configuration (qwen3_5.md section 2) */

struct oracle_config {
    int64_t vocab;                           /* V */
    int64_t hidden;                          /* H */
    int64_t intermediate;                    /* I; of a mixture, the shared expert's width */
    int64_t experts;                         /* E; 0: dense */
    int64_t experts_per_token, expert_width; /* k, Im */
    int64_t num_layers;                      /* L */
    int64_t heads;                           /* Nq */
    int64_t kv_heads;                        /* Nkv */
    int64_t head_dim;                        /* D */
    int64_t rotary_dim;                      /* R */
    double rope_theta;
    double eps;
    int64_t taps;        /* Kc */
    int64_t key_heads;   /* Hk */
    int64_t value_heads; /* Hv */
    int64_t key_dim;     /* dk */
    int64_t value_dim;   /* dv */
    bool tied;
    bool full[ORACLE_MAX_LAYERS]; /* full attention; else GDN */
};

assay_status oracle_config_read(const char *dir, struct oracle_config *config, char *message,
                                size_t size);

static inline int64_t oracle_conv_channels(const struct oracle_config *c) /* Cc */
{
    return 2 * c->key_heads * c->key_dim + c->value_heads * c->value_dim;
}

/* ---- weights; all row-major [out, in], binary64 */

struct oracle_layer {
    double *input_norm, *post_norm;            /* [H] */
    double *gate_proj, *up_proj, *down_proj;   /* [I, H], [I, H], [H, I] */
    double *router, *shared_gate;              /* mixture of experts: [E, H], [H]; else NULL */
    double *experts_gate_up, *experts_down;    /* [E, 2 Im, H], [E, H, Im] */
    double *q_proj, *k_proj, *v_proj, *o_proj; /* full attention; else NULL */
    double *q_norm, *k_norm;                   /* [D] */
    double *qkv, *z, *b, *a, *conv, *out_proj; /* GDN; else NULL */
    double *a_log, *dt_bias, *norm;            /* [Hv], [Hv], [dv] */
};

struct oracle_model {
    struct oracle_config config;
    double *embed, *head, *final_norm;
    struct oracle_layer *layer; /* [L] */
    bool has_mtp;
    double *mtp_embedding_norm, *mtp_hidden_norm, *mtp_fc, *mtp_norm;
    struct oracle_layer mtp_layer;
};

/* ---- session */

struct oracle_kv {
    double *key, *value; /* [Nkv, capacity, D]; keys normalised and rotated */
    int64_t length, capacity;
};

struct oracle_gdn_state {
    double *state; /* [Hv, dk, dv] */
    double *conv;  /* [Kc-1, Cc], oldest first */
};

struct oracle_session {
    const struct oracle_model *model;
    struct oracle_session_options options;
    int64_t length;
    struct oracle_kv *kv;         /* [L], used where full */
    struct oracle_gdn_state *gdn; /* [L], used where not full */
    struct oracle_kv mtp_kv;
};

/* Grows to hold `length` positions; false when out of memory. */
bool oracle_kv_reserve(struct oracle_kv *kv, const struct oracle_config *c, int64_t length);

/* ---- one forward pass */

struct oracle_pass {
    struct oracle_session *session;
    const struct oracle_config *config;
    int64_t n; /* tokens */
    oracle_observer *observe;
    void *data;
    const char *prefix; /* "layers.3" */
    bool out_of_memory; /* sticky */
};

/* n doubles, uninitialised; on failure sets out_of_memory and returns NULL. free() after use. */
double *oracle_pass_alloc(struct oracle_pass *pass, int64_t count);
/* Reports "prefix.name" (or "name" when prefix is NULL). */
void oracle_report(const struct oracle_pass *pass, const char *name, const double *values,
                   int64_t rows, int64_t cols);
/* run(data, i) for every i in [0, count), on the session's threads when `work` multiply-adds are
 * worth starting them. The calls must be independent. */
void oracle_parallel(const struct oracle_pass *pass, int64_t count, double work,
                     void (*run)(void *data, int64_t i), void *data);
/* y [rows, out] = x [rows, in] W^T */
void oracle_linear(const struct oracle_pass *pass, const double *x, const double *w, double *y,
                   int64_t rows, int64_t in, int64_t out);
/* (F1) row by row; y may be x. */
void oracle_offset_norm(const struct oracle_pass *pass, const double *x, const double *w, double *y,
                        int64_t rows, int64_t cols);
/* (F16): norm over dv, then times silu(z). */
void oracle_gated_norm(const struct oracle_pass *pass, const double *x, const double *z,
                       const double *w, double *y, int64_t rows, int64_t cols);
/* u [n, H] -> y [n, H]; the mixers of (F4). position: of the first of the n tokens. */
void oracle_attention(struct oracle_pass *pass, const struct oracle_layer *layer,
                      struct oracle_kv *kv, int64_t position, const double *u, double *y);
void oracle_gdn(struct oracle_pass *pass, const struct oracle_layer *layer,
                struct oracle_gdn_state *state, const double *u, double *y);
/* (F19): u [n, H], and in y the shared expert's output -> y. */
void oracle_mixture(struct oracle_pass *pass, const struct oracle_layer *layer, const double *u,
                    double *y);

double oracle_sigmoid(double x);
double oracle_silu(double x);
double oracle_softplus(double x);

/* The binary32 cast of the "library" arithmetic; the identity in ORACLE_FLOAT64. */
static inline double oracle_cast(const struct oracle_pass *pass, double x)
{
    return pass->session->options.arithmetic == ORACLE_LIBRARY ? (double)(float)x : x;
}

static inline bool oracle_faulty(const struct oracle_pass *pass, enum oracle_fault fault)
{
    return pass->session->options.fault == fault;
}

/* ---- kernels (oracle_kernels.c): fixed order of additions, whatever the vector width */

/* y[i * y_stride + j] = sum_k x[i * x_stride + k] w[j * w_stride + k] */
struct oracle_product {
    const double *x, *w;
    double *y;
    int64_t rows, cols, inner;
    int64_t x_stride, w_stride, y_stride;
};
void oracle_product(const struct oracle_product *p);

/* y[i * y_stride + c] = sum_j a[i * a_stride + j] m[j * m_stride + c], j ascending; cols % 8 == 0
 * is fast. */
struct oracle_combination {
    const double *a, *m;
    double *y;
    int64_t rows, cols, inner;
    int64_t a_stride, m_stride, y_stride;
};
void oracle_combine(const struct oracle_combination *c);

/* One step of (F15) for one head, in place: p = (alpha S)^T k; S = alpha S + k d^T with
 * d = beta (v - p); o = S^T q. d and o: [dv] of scratch and result. */
struct oracle_delta_step {
    double *state;
    const double *q, *k, *v;
    double alpha, beta;
    double *d, *o;
    int64_t key_dim, value_dim;
};
void oracle_delta_step(const struct oracle_delta_step *step);

/* ---- helpers */

assay_status oracle_model_fail(assay_status status, char *message, size_t size, const char *format,
                               ...) ASSAY_PRINTF(4, 5);
/* dir/file; false when it does not fit. */
bool oracle_model_path(char path[ORACLE_PATH_SIZE], const char *dir, const char *file);
/* Uninitialised, 64-byte aligned, free(); NULL when out of memory or count does not fit. */
double *oracle_model_alloc(int64_t count);

#endif
