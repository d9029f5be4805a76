/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent, vectorised over the state's columns, which do not see each other: a task takes a
 * tile of columns of one head through all tokens. The tile (dk rows of four vectors) stays in the
 * first-level cache between tokens; with one token each byte of state is moved once each way.
 *
 * Each token passes over the tile twice: once for the prediction p = (alpha S)^T k, once for
 * S = alpha S + k d^T, with o = S^T q taken from the same registers before S is rounded.
 *
 * Profiles f32 and state16. Bound: gdn_recurrent_bound.md. Chains of additions are dk long.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"

#include <math.h>

enum { TILE_VECTORS = 4, TILE = TILE_VECTORS * SIMD_LANES };

struct job {
    const struct assay_gdn_recurrent_args *args;
    float *q, *k; /* [T, Hk, dk], q scaled */
};

/* Columns [column, column + count) of one head; count below a vector only in the last tile. */
struct tile {
    int64_t head, column, count;
};

static inline vf load(const void *row, enum assay_dtype dtype, int64_t column, int64_t count)
{
    return count >= SIMD_LANES ? vf_load_any(row, dtype, column)
                               : vf_load_tail(row, dtype, column, count);
}

static inline void store(void *row, enum assay_dtype dtype, int64_t column, int64_t count, vf v)
{
    if (count >= SIMD_LANES)
        vf_store_any(row, dtype, column, v);
    else
        vf_store_tail(row, dtype, column, count, v);
}

/* One token for `vectors` vectors of columns; inlined with constant `vectors` and `dtype`. */
static inline __attribute__((always_inline)) void step(const struct job *job,
                                                       const struct tile *tile, int64_t t,
                                                       int vectors, enum assay_dtype dtype)
{
    const struct assay_gdn_recurrent_args *a = job->args;
    int64_t key_heads = a->q.extent[1], heads = a->v.extent[1], key_dim = a->q.extent[2];
    int64_t key_row = t * key_heads + tile->head / (heads / key_heads);
    int64_t row = t * heads + tile->head, state_row = tile->head * key_dim;
    const float *q = job->q + key_row * key_dim, *k = job->k + key_row * key_dim;
    const float *g = assay_tensor_row(&a->g, t), *beta = assay_tensor_row(&a->beta, t);
    vf alpha = vf_set((float)exp((double)g[tile->head]));
    vf p[TILE_VECTORS], o[TILE_VECTORS];
    for (int n = 0; n < vectors; n++)
        p[n] = o[n] = vf_set(0);
    for (int64_t i = 0; i < key_dim; i++) {
        const void *s = assay_tensor_row(&a->state, state_row + i);
        vf ki = vf_set(k[i]);
        for (int n = 0; n < vectors; n++)
            p[n] = vf_fma(ki, alpha * load(s, dtype, tile->column + n * SIMD_LANES, tile->count),
                          p[n]);
    }
    const void *v = assay_tensor_row(&a->v, row);
    for (int n = 0; n < vectors; n++) { /* p becomes the delta */
        vf target = load(v, a->v.dtype, tile->column + n * SIMD_LANES, tile->count);
        p[n] = vf_set(beta[tile->head]) * (target - p[n]);
    }
    for (int64_t i = 0; i < key_dim; i++) {
        void *s = assay_tensor_row(&a->state, state_row + i);
        vf ki = vf_set(k[i]), qi = vf_set(q[i]);
        for (int n = 0; n < vectors; n++) {
            int64_t column = tile->column + n * SIMD_LANES;
            vf updated = vf_fma(ki, p[n], alpha * load(s, dtype, column, tile->count));
            o[n] = vf_fma(qi, updated, o[n]);
            store(s, dtype, column, tile->count, updated);
        }
    }
    void *out = assay_tensor_row(&a->o, row); /* may be v, whose tile has been read */
    for (int n = 0; n < vectors; n++)
        store(out, a->o.dtype, tile->column + n * SIMD_LANES, tile->count, o[n]);
}

static void run_tile(const struct job *job, const struct tile *tile)
{
    bool wide = tile->count == TILE, f32 = job->args->state.dtype == ASSAY_F32;
    for (int64_t t = 0; t < job->args->q.extent[0]; t++) {
        if (wide && f32)
            step(job, tile, t, TILE_VECTORS, ASSAY_F32);
        else if (wide)
            step(job, tile, t, TILE_VECTORS, ASSAY_F16);
        else if (f32)
            step(job, tile, t, 1, ASSAY_F32);
        else
            step(job, tile, t, 1, ASSAY_F16);
    }
}

/* Task i: head i / tiles, tile i % tiles. What is left of a row beside whole tiles goes vector by
 * vector. */
static void tiles(void *argument, int64_t first, int64_t last)
{
    const struct job *job = argument;
    int64_t value_dim = job->args->v.extent[2], per_head = (value_dim + TILE - 1) / TILE;
    for (int64_t i = first; i < last; i++) {
        int64_t column = i % per_head * TILE, end = column + TILE;
        if (end <= value_dim) {
            run_tile(job, &(struct tile){i / per_head, column, TILE});
            continue;
        }
        for (; column < value_dim; column += SIMD_LANES) {
            int64_t left = value_dim - column;
            run_tile(job,
                     &(struct tile){i / per_head, column, left < SIMD_LANES ? left : SIMD_LANES});
        }
    }
}

/* Widens q and k once for all the tiles that read them. */
static void widen(void *argument, int64_t first, int64_t last)
{
    const struct job *job = argument;
    const struct assay_gdn_recurrent_args *a = job->args;
    int64_t key_dim = a->q.extent[2];
    for (int64_t row = first; row < last; row++) {
        float *q = job->q + row * key_dim;
        words_to_f32(assay_tensor_row(&a->k, row), a->k.dtype, key_dim, job->k + row * key_dim);
        words_to_f32(assay_tensor_row(&a->q, row), a->q.dtype, key_dim, q);
        for (int64_t i = 0; i < key_dim; i++)
            q[i] = (float)((double)q[i] * a->scale);
    }
}

assay_status SIMD_NAME(gdn_recurrent_route)(assay_context *context, const void *args,
                                            void *workspace)
{
    const struct assay_gdn_recurrent_args *a = args;
    int64_t count = assay_tensor_count(&a->q);
    if (count == 0)
        return ASSAY_OK;
    struct job job = {a, workspace, (float *)workspace + count};
    assay_parallel(context, assay_tensor_rows(&a->q), 16, widen, &job);
    int64_t per_head = (a->v.extent[2] + TILE - 1) / TILE;
    assay_parallel(context, a->v.extent[1] * per_head, 1, tiles, &job);
    return ASSAY_OK;
}
