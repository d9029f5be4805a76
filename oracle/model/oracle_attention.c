/* SPDX-License-Identifier: MIT
 *
 * Gated full attention, (F5)-(F10), over the keys and values of all earlier calls.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_model_private.h"

#define QUERY_BLOCK 64 /* queries that share one table of scores */

struct attention {
    struct oracle_pass *pass;
    const struct oracle_kv *kv;
    const double *q; /* [n, Nq, D], rotated */
    double *out;     /* [n, Nq, D] */
    double *probs;   /* [Nq, n, keys] for the observer, or NULL */
    int64_t blocks;  /* per head */
    atomic_bool out_of_memory;
};

/* (F5): rows of q_proj are head-major, a head's query before its gate. */
static void split_query_gate(const struct oracle_pass *pass, const double *both, double *q,
                             double *gate)
{
    int64_t heads = pass->config->heads, d = pass->config->head_dim;
    bool halves = oracle_faulty(pass, ORACLE_FAULT_QUERY_GATE_HALVES);
    size_t bytes = (size_t)d * sizeof *q;
    for (int64_t t = 0; t < pass->n; t++)
        for (int64_t h = 0; h < heads; h++) {
            const double *row = both + t * 2 * heads * d;
            int64_t query_at = halves ? h * d : 2 * h * d;
            int64_t gate_at = halves ? (heads + h) * d : (2 * h + 1) * d;
            memcpy(q + (t * heads + h) * d, row + query_at, bytes);
            memcpy(gate + (t * heads + h) * d, row + gate_at, bytes);
        }
}

/* (F7) for text, where the three position axes agree. Tables [n, R]; the second half repeats the
 * first. The angle is formed in long double: position * theta^(-2i/R) reaches thousands, and its
 * rounding to binary64 would be the largest error of the layer. */
static void rotary_tables(const struct oracle_pass *pass, int64_t position, int64_t rotary_dim,
                          double *cosine, double *sine)
{
    int64_t pairs = rotary_dim / 2;
    bool library = pass->session->options.arithmetic == ORACLE_LIBRARY;
    for (int64_t i = 0; i < pairs; i++) {
        long double exponent = 2 * (long double)i / (long double)rotary_dim;
        if (library)
            exponent = (float)exponent;
        long double divisor = powl((long double)pass->config->rope_theta, exponent);
        long double frequency = library ? (float)(1 / (float)divisor) : 1 / divisor;
        for (int64_t t = 0; t < pass->n; t++) {
            long double angle = (long double)(position + t) * frequency;
            if (library)
                angle = (float)angle;
            double *c = cosine + t * rotary_dim + i, *s = sine + t * rotary_dim + i;
            c[0] = c[pairs] = oracle_cast(pass, (double)cosl(angle));
            s[0] = s[pairs] = oracle_cast(pass, (double)sinl(angle));
        }
    }
}

/* Rotates the first R elements of every head in place. */
static void rotate(const struct oracle_pass *pass, double *x, int64_t heads, int64_t rotary_dim,
                   const double *cosine, const double *sine)
{
    bool neighbours = oracle_faulty(pass, ORACLE_FAULT_ROPE_INTERLEAVED);
    int64_t pairs = rotary_dim / 2;
    for (int64_t row = 0; row < pass->n * heads; row++, x += pass->config->head_dim)
        for (int64_t i = 0; i < pairs; i++) {
            double c = cosine[row / heads * rotary_dim + i], s = sine[row / heads * rotary_dim + i];
            double *first = neighbours ? x + 2 * i : x + i;
            double *second = neighbours ? first + 1 : first + pairs;
            double a = *first, b = *second;
            *first = a * c - b * s;
            *second = b * c + a * s;
        }
}

/* s[0, keys) -> softmax; s[keys, width) -> 0. */
static void softmax(const struct oracle_pass *pass, double *s, int64_t keys, int64_t width)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        s[j] = oracle_cast(pass, s[j]);
        largest = s[j] > largest ? s[j] : largest;
    }
    for (int64_t j = 0; j < keys; j++) {
        s[j] = oracle_cast(pass, exp(oracle_cast(pass, s[j] - largest)));
        sum += s[j];
    }
    sum = oracle_cast(pass, sum);
    for (int64_t j = 0; j < keys; j++)
        s[j] = oracle_cast(pass, s[j] / sum);
    for (int64_t j = keys; j < width; j++)
        s[j] = 0;
}

/* One unit: QUERY_BLOCK queries of one head. */
static void attend(void *data, int64_t unit)
{
    struct attention *a = data;
    const struct oracle_pass *pass = a->pass;
    const struct oracle_config *c = pass->config;
    int64_t head = unit / a->blocks, first = unit % a->blocks * QUERY_BLOCK;
    int64_t rows = pass->n - first < QUERY_BLOCK ? pass->n - first : QUERY_BLOCK;
    int64_t past = a->kv->length - pass->n, d = c->head_dim, stride = c->heads * d;
    int64_t width = past + first + rows; /* keys that the last query sees */
    int64_t kv_head = head / (c->heads / c->kv_heads);
    const double *key = a->kv->key + kv_head * a->kv->capacity * d;
    const double *value = a->kv->value + kv_head * a->kv->capacity * d;
    double *scores = oracle_model_alloc(rows * width);
    if (scores == NULL) {
        atomic_store(&a->out_of_memory, true);
        return;
    }
    double scale = 1 / sqrt((double)d);

    oracle_product(&(struct oracle_product){.x = a->q + first * stride + head * d,
                                            .w = key,
                                            .y = scores,
                                            .rows = rows,
                                            .cols = width,
                                            .inner = d,
                                            .x_stride = stride,
                                            .w_stride = d,
                                            .y_stride = width});
    for (int64_t t = 0; t < rows; t++) {
        double *row = scores + t * width;
        int64_t keys = past + first + t + 1;
        for (int64_t j = 0; j < keys; j++)
            row[j] *= scale;
        softmax(pass, row, keys, width);
        if (a->probs != NULL)
            memcpy(a->probs + (head * pass->n + first + t) * a->kv->length, row,
                   (size_t)width * sizeof *row);
    }
    /* A key beyond a query's own position has weight 0 and adds exactly nothing. */
    oracle_combine(&(struct oracle_combination){.a = scores,
                                                .m = value,
                                                .y = a->out + first * stride + head * d,
                                                .rows = rows,
                                                .cols = d,
                                                .inner = width,
                                                .a_stride = width,
                                                .m_stride = d,
                                                .y_stride = stride});
    free(scores);
}

/* Appends the call's keys and values [n, Nkv, D] to the cache [Nkv, capacity, D]. */
static void append(const struct oracle_pass *pass, struct oracle_kv *kv, const double *key,
                   const double *value)
{
    int64_t heads = pass->config->kv_heads, d = pass->config->head_dim;
    for (int64_t t = 0; t < pass->n; t++)
        for (int64_t h = 0; h < heads; h++) {
            int64_t to = (h * kv->capacity + kv->length + t) * d, from = (t * heads + h) * d;
            memcpy(kv->key + to, key + from, (size_t)d * sizeof *key);
            memcpy(kv->value + to, value + from, (size_t)d * sizeof *value);
        }
    kv->length += pass->n;
}

static void attend_all(struct oracle_pass *pass, const struct oracle_kv *kv, const double *q,
                       double *out)
{
    const struct oracle_config *c = pass->config;
    int64_t blocks = (pass->n + QUERY_BLOCK - 1) / QUERY_BLOCK;
    struct attention a = {.pass = pass, .kv = kv, .q = q, .out = out, .blocks = blocks};
    if (pass->observe != NULL) {
        int64_t count = c->heads * pass->n * kv->length;
        a.probs = oracle_pass_alloc(pass, count);
        if (a.probs != NULL)
            memset(a.probs, 0, (size_t)count * sizeof *a.probs);
    }
    if (!pass->out_of_memory) {
        double work = 2.0 * (double)(c->heads * pass->n * c->head_dim) * (double)kv->length;
        oracle_parallel(pass, c->heads * blocks, work, attend, &a);
        pass->out_of_memory = atomic_load(&a.out_of_memory);
    }
    if (!pass->out_of_memory) {
        if (a.probs != NULL)
            oracle_report(pass, "probs", a.probs, c->heads * pass->n, kv->length);
        oracle_report(pass, "attn_out", out, pass->n, c->heads * c->head_dim);
    }
    free(a.probs);
}

/* (F6), (F7): norms and rotation of q [n, Nq, D] and k [n, Nkv, D], in place. */
static void prepare_heads(struct oracle_pass *pass, const struct oracle_layer *layer,
                          int64_t position, double *q, double *k)
{
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, d = c->head_dim, q_cols = c->heads * d, k_cols = c->kv_heads * d;
    int64_t rotary = oracle_faulty(pass, ORACLE_FAULT_ROPE_ALL_DIMS) ? d : c->rotary_dim;
    double *cosine = oracle_pass_alloc(pass, n * rotary);
    double *sine = oracle_pass_alloc(pass, n * rotary);
    if (!pass->out_of_memory) {
        oracle_offset_norm(pass, q, layer->q_norm, q, n * c->heads, d);
        oracle_offset_norm(pass, k, layer->k_norm, k, n * c->kv_heads, d);
        oracle_report(pass, "q_norm", q, n, q_cols);
        oracle_report(pass, "k_norm", k, n, k_cols);
        rotary_tables(pass, position, rotary, cosine, sine);
        oracle_report(pass, "rope_cos", cosine, n, rotary);
        oracle_report(pass, "rope_sin", sine, n, rotary);
        rotate(pass, q, c->heads, rotary, cosine, sine);
        rotate(pass, k, c->kv_heads, rotary, cosine, sine);
        oracle_report(pass, "q_rope", q, n, q_cols);
        oracle_report(pass, "k_rope", k, n, k_cols);
    }
    free(cosine);
    free(sine);
}

static void attention_body(struct oracle_pass *pass, const struct oracle_layer *layer,
                           struct oracle_kv *kv, int64_t position, const double *u, double *y,
                           double *const scratch[6])
{
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, h = c->hidden, q_cols = c->heads * c->head_dim;
    int64_t kv_cols = c->kv_heads * c->head_dim;
    double *both = scratch[0], *q = scratch[1], *gate = scratch[2], *out = scratch[3];
    double *k = scratch[4], *v = scratch[5];
    oracle_linear(pass, u, layer->q_proj, both, n, h, 2 * q_cols);
    oracle_linear(pass, u, layer->k_proj, k, n, h, kv_cols);
    oracle_linear(pass, u, layer->v_proj, v, n, h, kv_cols);
    split_query_gate(pass, both, q, gate);
    oracle_report(pass, "q", q, n, q_cols);
    oracle_report(pass, "gate", gate, n, q_cols);
    oracle_report(pass, "k", k, n, kv_cols);
    oracle_report(pass, "v", v, n, kv_cols);
    prepare_heads(pass, layer, position, q, k);
    if (!oracle_kv_reserve(kv, c, kv->length + n))
        pass->out_of_memory = true;
    if (pass->out_of_memory)
        return;
    append(pass, kv, k, v);
    attend_all(pass, kv, q, out);
    if (pass->out_of_memory)
        return;
    for (int64_t i = 0; i < n * q_cols; i++)
        out[i] *= oracle_sigmoid(gate[i]);
    oracle_report(pass, "attn_gated", out, n, q_cols);
    oracle_linear(pass, out, layer->o_proj, y, n, q_cols, h);
    oracle_report(pass, "o_proj", y, n, h);
}

void oracle_attention(struct oracle_pass *pass, const struct oracle_layer *layer,
                      struct oracle_kv *kv, int64_t position, const double *u, double *y)
{
    const struct oracle_config *c = pass->config;
    int64_t q_count = pass->n * c->heads * c->head_dim;
    int64_t kv_count = pass->n * c->kv_heads * c->head_dim;
    const int64_t counts[6] = {2 * q_count, q_count, q_count, q_count, kv_count, kv_count};
    double *scratch[6];
    for (int i = 0; i < 6; i++)
        scratch[i] = oracle_pass_alloc(pass, counts[i]);
    if (!pass->out_of_memory)
        attention_body(pass, layer, kv, position, u, y, scratch);
    for (int i = 0; i < 6; i++)
        free(scratch[i]);
}
