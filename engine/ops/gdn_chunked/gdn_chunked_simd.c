/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked, vectorised. Per head and chunk:
 *
 *   1. prepare: the decays between any two tokens, and with them the matrices
 *        solve_ij = beta_i (k_i . k_j) decay_ij   (j < i)      mix_ij = (q_i . k_j) decay_ij  (j <=
 * i) vectorised over j, with k stored by columns.
 *   2. for each tile of state columns (columns do not see each other): for every token the products
 *      of k and q with the start state, the forward substitution
 *        delta_i = beta_i (v_i - D_i S0^T k_i) - sum_{j<i} solve_ij delta_j
 *      and the output; then the state's update.
 *
 * Folding W S0 into the right-hand side saves the C x dk solve for W and its product with S0. The
 * substitution is in binary32: bf16 or TF32 there is what breaks chunks of 64 and more.
 *
 * Profiles f32 and state16. Bound: gdn_chunked_bound.md. Chains of additions are at most dk + C
 * long.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/gdn_chunked/gdn_chunked_routes.h"

#include <math.h>

enum { TILE_VECTORS = 4, TILE = TILE_VECTORS * SIMD_LANES };

struct job {
    const struct assay_gdn_chunked_args *args;
    char *workspace;
    int64_t slots;
};

/* One chunk of one head, and a task's scratch memory. */
struct chunk {
    const struct assay_gdn_chunked_args *a;
    int64_t head, key_head, first, rows, padded, key_dim;
    double *exponent; /* [padded] sums of g over (j, i] for the row at work */
    float *q, *k;     /* [rows, dk], q scaled */
    float *k_columns; /* [dk, padded]; lanes past `rows` are 0 */
    float *solve;     /* [rows, padded] */
    float *mix;       /* [rows, padded] */
    float *decay;     /* [rows] D_i: what is left of the start state after token i */
    float *remain;    /* [padded] what is left of token i at the end of the chunk */
    float *state;     /* [dk, TILE] */
    float *delta;     /* [rows, TILE] */
};

static float gate(const struct assay_tensor *tensor, const struct chunk *c, int64_t i)
{
    return ((const float *)assay_tensor_row(tensor, c->first + i))[c->head];
}

static void load_rows(struct chunk *c)
{
    const struct assay_gdn_chunked_args *a = c->a;
    memset(c->k_columns, 0, (size_t)(c->key_dim * c->padded) * sizeof *c->k_columns);
    for (int64_t i = 0; i < c->rows; i++) {
        int64_t row = (c->first + i) * a->q.extent[1] + c->key_head;
        float *q = c->q + i * c->key_dim, *k = c->k + i * c->key_dim;
        words_to_f32(assay_tensor_row(&a->q, row), a->q.dtype, c->key_dim, q);
        words_to_f32(assay_tensor_row(&a->k, row), a->k.dtype, c->key_dim, k);
        for (int64_t d = 0; d < c->key_dim; d++) {
            q[d] = (float)((double)q[d] * a->scale);
            c->k_columns[d * c->padded + i] = k[d];
        }
    }
}

/* Row i of solve and mix, SIMD_LANES tokens j from `first_j` on. Lanes with j >= i (solve) or j > i
 * (mix) hold numbers that nothing reads. */
static void gram(const struct chunk *c, int64_t i, int64_t first_j, float beta)
{
    const float *q = c->q + i * c->key_dim, *k = c->k + i * c->key_dim;
    vf kk = vf_set(0), qk = vf_set(0);
    for (int64_t d = 0; d < c->key_dim; d++) {
        vf column = vf_load(c->k_columns + d * c->padded + first_j);
        kk = vf_fma(vf_set(k[d]), column, kk);
        qk = vf_fma(vf_set(q[d]), column, qk);
    }
    const double *exponent = c->exponent + first_j;
    vf decay = vf_exp(vf_from_vd(vd_load(exponent), vd_load(exponent + SIMD_LANES_F64)));
    vf_store(c->solve + i * c->padded + first_j, vf_set(beta) * (kk * decay));
    vf_store(c->mix + i * c->padded + first_j, qk * decay);
}

/* Exponents are sums over (j, i], formed in binary64 by adding g_i to the row before: never a
 * difference of two sums, which would cancel, and be NaN for g = -inf. */
static void prepare(struct chunk *c)
{
    load_rows(c);
    double since_start = 0;
    memset(c->exponent, 0, (size_t)c->padded * sizeof *c->exponent);
    for (int64_t i = 0; i < c->rows; i++) {
        double g = (double)gate(&c->a->g, c, i);
        since_start += g;
        for (int64_t j = 0; j < i; j++)
            c->exponent[j] += g;
        for (int64_t j = 0; j <= i; j += SIMD_LANES)
            gram(c, i, j, gate(&c->a->beta, c, i));
        c->decay[i] = (float)exp(since_start);
    }
    for (int64_t i = 0; i < c->rows; i++)
        c->remain[i] = (float)exp(c->exponent[i]);
}

/* Columns [column, column + count) of the head; count below a vector only in the last tile. */
struct tile {
    int64_t column, count;
};

static inline vf load(const void *row, enum assay_dtype dtype, const struct tile *tile, int n)
{
    int64_t column = tile->column + n * SIMD_LANES;
    return tile->count >= SIMD_LANES ? vf_load_any(row, dtype, column)
                                     : vf_load_tail(row, dtype, column, tile->count);
}

static inline void store(void *row, enum assay_dtype dtype, const struct tile *tile, int n, vf v)
{
    int64_t column = tile->column + n * SIMD_LANES;
    if (tile->count >= SIMD_LANES)
        vf_store_any(row, dtype, column, v);
    else
        vf_store_tail(row, dtype, column, tile->count, v);
}

/* Delta and output of token i. Always inlined, with constant `vectors`. */
static inline __attribute__((always_inline)) void token(const struct chunk *c,
                                                        const struct tile *tile, int64_t i,
                                                        int vectors)
{
    const struct assay_gdn_chunked_args *a = c->a;
    const float *q = c->q + i * c->key_dim, *k = c->k + i * c->key_dim;
    vf p[TILE_VECTORS], o[TILE_VECTORS];
    for (int n = 0; n < vectors; n++)
        p[n] = o[n] = vf_set(0);
    for (int64_t d = 0; d < c->key_dim; d++) {
        vf kd = vf_set(k[d]), qd = vf_set(q[d]);
        for (int n = 0; n < vectors; n++) {
            vf s = vf_load(c->state + d * TILE + n * SIMD_LANES);
            p[n] = vf_fma(kd, s, p[n]);
            o[n] = vf_fma(qd, s, o[n]);
        }
    }
    int64_t row = (c->first + i) * a->v.extent[1] + c->head;
    const void *v = assay_tensor_row(&a->v, row);
    vf decay = vf_set(c->decay[i]), beta = vf_set(gate(&a->beta, c, i));
    for (int n = 0; n < vectors; n++) { /* p becomes the delta */
        p[n] = beta * (load(v, a->v.dtype, tile, n) - decay * p[n]);
        o[n] = decay * o[n];
    }
    const float *solve = c->solve + i * c->padded, *mix = c->mix + i * c->padded;
    for (int64_t j = 0; j < i; j++) {
        vf s = vf_set(solve[j]), m = vf_set(mix[j]);
        for (int n = 0; n < vectors; n++) {
            vf delta = vf_load(c->delta + j * TILE + n * SIMD_LANES);
            p[n] = vf_fma(-s, delta, p[n]);
            o[n] = vf_fma(m, delta, o[n]);
        }
    }
    void *out = assay_tensor_row(&a->o, row); /* may be v, whose tile has been read */
    for (int n = 0; n < vectors; n++) {
        vf_store(c->delta + i * TILE + n * SIMD_LANES, p[n]);
        store(out, a->o.dtype, tile, n, vf_fma(vf_set(mix[i]), p[n], o[n]));
    }
}

static inline __attribute__((always_inline)) void run_tile(const struct chunk *c,
                                                           const struct tile *tile, int vectors)
{
    const struct assay_tensor *state = &c->a->state;
    int64_t first_row = c->head * c->key_dim;
    for (int64_t d = 0; d < c->key_dim; d++) {
        const void *s = assay_tensor_row(state, first_row + d);
        for (int n = 0; n < vectors; n++)
            vf_store(c->state + d * TILE + n * SIMD_LANES, load(s, state->dtype, tile, n));
    }
    for (int64_t i = 0; i < c->rows; i++)
        token(c, tile, i, vectors);
    for (int64_t i = 0; i < c->rows; i++)
        for (int n = 0; n < vectors; n++) {
            float *delta = c->delta + i * TILE + n * SIMD_LANES;
            vf_store(delta, vf_set(c->remain[i]) * vf_load(delta));
        }
    vf decay = vf_set(c->decay[c->rows - 1]);
    for (int64_t d = 0; d < c->key_dim; d++) {
        const float *k = c->k_columns + d * c->padded;
        vf sum[TILE_VECTORS];
        for (int n = 0; n < vectors; n++)
            sum[n] = decay * vf_load(c->state + d * TILE + n * SIMD_LANES);
        for (int64_t i = 0; i < c->rows; i++)
            for (int n = 0; n < vectors; n++)
                sum[n] =
                    vf_fma(vf_set(k[i]), vf_load(c->delta + i * TILE + n * SIMD_LANES), sum[n]);
        void *s = assay_tensor_row(state, first_row + d);
        for (int n = 0; n < vectors; n++)
            store(s, state->dtype, tile, n, sum[n]);
    }
}

static void run_chunk(struct chunk *c)
{
    int64_t value_dim = c->a->v.extent[2], column = 0;
    prepare(c);
    for (; column + TILE <= value_dim; column += TILE)
        run_tile(c, &(struct tile){column, TILE}, TILE_VECTORS);
    for (; column < value_dim; column += SIMD_LANES) {
        int64_t left = value_dim - column;
        run_tile(c, &(struct tile){column, left < SIMD_LANES ? left : SIMD_LANES}, 1);
    }
}

static void split_scratch(struct chunk *c, char *memory)
{
    int64_t rows = gdn_chunked_longest(c->a), padded = gdn_chunked_padded(rows);
    int64_t matrix = gdn_chunked_padded(c->key_dim) * padded;
    c->padded = padded;
    c->exponent = (void *)memory;
    c->q = (void *)(c->exponent + padded + GDN_CHUNKED_LANES);
    c->k = c->q + matrix;
    c->k_columns = c->k + matrix;
    c->solve = c->k_columns + matrix;
    c->mix = c->solve + rows * padded;
    c->decay = c->mix + rows * padded;
    c->remain = c->decay + padded;
    c->state = c->remain + padded;
    c->delta = c->state + gdn_chunked_padded(c->key_dim) * GDN_CHUNKED_MAX_TILE;
}

static void slots(void *argument, int64_t first, int64_t last)
{
    const struct job *job = argument;
    const struct assay_gdn_chunked_args *a = job->args;
    int64_t heads = a->v.extent[1], tokens = a->q.extent[0];
    for (int64_t slot = first; slot < last; slot++) {
        struct chunk c = {.a = a, .key_dim = a->q.extent[2]};
        split_scratch(&c, job->workspace + (size_t)slot * gdn_chunked_scratch_bytes(a));
        for (c.head = slot; c.head < heads; c.head += job->slots) {
            c.key_head = c.head / (heads / a->q.extent[1]);
            for (c.first = 0; c.first < tokens; c.first += c.rows) {
                int64_t left = tokens - c.first;
                c.rows = left < a->chunk ? left : a->chunk;
                run_chunk(&c);
            }
        }
    }
}

assay_status SIMD_NAME(gdn_chunked_route)(assay_context *context, const void *args, void *workspace)
{
    struct job job = {args, workspace, gdn_chunked_slots(context, args)};
    assay_parallel(context, job.slots, 1, slots, &job);
    return ASSAY_OK;
}
