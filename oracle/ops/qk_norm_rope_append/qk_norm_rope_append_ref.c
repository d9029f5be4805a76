/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append in bounded binary64, from the contract [QKNRA-1] to [QKNRA-3] and qwen3_5.md
 * (F6) to (F8). Roundings between the steps are the bound's affair; v's one rounding is applied
 * here.
 */
#include "qk_norm_rope_append_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "real.h"

/* (F8): axis of a pair when there are three rows of positions. */
static int64_t axis_of(const struct assay_qk_norm_rope_append_args *a, int64_t pair)
{
    int64_t axis = pair % 3;
    bool own_axis = axis != 0 && pair < 3 * a->sections[axis];
    return a->positions.rank == 2 && own_axis ? axis : 0;
}

struct head_work {
    double *x;           /* [D] */
    struct ball *n;      /* [D] */
    struct ball *cosine; /* [R/2] of the token */
    struct ball *sine;   /* [R/2] */
    double *weight[2];   /* [D] of q and of k */
};

/* Half an ulp of binary32 at n, infinite where n may leave its range. */
static double between(struct ball n)
{
    /* n itself may be off by a route's arithmetic before it is rounded: at most 8 roundings. */
    return oracle_half_ulp(fabs(n.v) * (1 + 8 * 0x1p-24) + n.e, ASSAY_F32);
}

static void put(struct oracle_output *y, int64_t at, struct ball value)
{
    y->value[at] = value.v;
    y->own[at] = value.e;
}

/* u cos + v sin into element `at`. */
static void combine(struct ball cosine, struct ball sine, struct ball u, struct ball v, int64_t at,
                    struct oracle_output *y)
{
    bool is_copy = sine.v == 0 && sine.e == 0;
    put(y, at, ball_add(ball_mul(u, cosine), ball_mul(v, sine)));
    double products = fabs(u.v * cosine.v) + fabs(v.v * sine.v);
    y->aux[QKNRA_NORM][at] = products;
    y->aux[QKNRA_TURNED][at] = is_copy ? 0 : products;
    y->aux[QKNRA_SLOPE][at] = is_copy ? 0 : fabs(u.v * sine.v) + fabs(v.v * cosine.v);
    y->aux[QKNRA_BETWEEN][at] =
        is_copy ? between(u) : between(u) * fabs(cosine.v) + between(v) * fabs(sine.v);
}

/* The head in work->x with the weights w, its first element at `at` of y. */
static void take_head(const struct assay_qk_norm_rope_append_args *a, const struct head_work *work,
                      const double *w, int64_t at, struct oracle_output *y)
{
    int64_t width = a->q.extent[2], half = a->rotary_dim / 2;
    struct ball mean =
        ball_div(oracle_dot(work->x, work->x, width, NULL), ball_exact((double)width));
    struct ball root = ball_sqrt(ball_add(mean, ball_exact(a->eps)));
    for (int64_t i = 0; i < width; i++) {
        struct ball gain = ball_exact(w[i]);
        if (a->unit_offset)
            gain = ball_add(ball_exact(1), gain);
        work->n[i] = ball_div(ball_mul(ball_exact(work->x[i]), gain), root);
    }
    for (int64_t i = 0; i < half; i++) {
        struct ball u = work->n[i], v = work->n[i + half];
        combine(work->cosine[i], work->sine[i], u, ball_make(-v.v, v.e), at + i, y);
        combine(work->cosine[i], work->sine[i], v, u, at + i + half, y);
    }
    for (int64_t i = a->rotary_dim; i < width; i++) {
        put(y, at + i, work->n[i]);
        y->aux[QKNRA_NORM][at + i] = fabs(work->n[i].v);
        y->aux[QKNRA_BETWEEN][at + i] = between(work->n[i]);
    }
}

static void set_rotations(const struct assay_qk_norm_rope_append_args *a, int64_t t,
                          const struct head_work *work)
{
    int64_t tokens = a->q.extent[0];
    for (int64_t i = 0; i < a->rotary_dim / 2; i++) {
        int64_t position = oracle_get_int(&a->positions, axis_of(a, i) * tokens + t);
        ball_rotation(position, a->theta, i, a->rotary_dim, &work->cosine[i], &work->sine[i]);
    }
}

static void take_tokens(const struct assay_qk_norm_rope_append_args *a,
                        const struct head_work *work, struct oracle_output *outputs)
{
    int64_t heads = a->q.extent[1], groups = a->k.extent[1], width = a->q.extent[2];
    int64_t first = oracle_qknra_start(a) * groups; /* row of the cache */
    for (int64_t t = 0; t < a->q.extent[0]; t++) {
        set_rotations(a, t, work);
        for (int64_t r = t * heads; r < (t + 1) * heads; r++) {
            oracle_get_row(&a->q, r, work->x);
            take_head(a, work, work->weight[0], r * width, &outputs[QKNRA_Q_OUT]);
        }
        for (int64_t r = t * groups; r < (t + 1) * groups; r++) {
            oracle_get_row(&a->k, r, work->x);
            take_head(a, work, work->weight[1], (first + r) * width, &outputs[QKNRA_K_CACHE]);
        }
    }
}

/* The caches before the call, and v's rows in theirs. */
static void fill(const struct assay_qk_norm_rope_append_args *a, struct oracle_output *outputs)
{
    int64_t slot = a->v_cache.extent[1] * a->v_cache.extent[2];
    int64_t first = oracle_qknra_start(a) * slot, count = a->v.extent[0] * slot;
    for (int64_t i = 0; i < outputs[QKNRA_K_CACHE].count; i++)
        outputs[QKNRA_K_CACHE].value[i] = oracle_get(&a->k_cache, i);
    for (int64_t i = 0; i < outputs[QKNRA_V_CACHE].count; i++) {
        bool is_new = i >= first && i < first + count;
        outputs[QKNRA_V_CACHE].value[i] =
            is_new ? oracle_round(oracle_get(&a->v, i - first), a->v_cache.dtype)
                   : oracle_get(&a->v_cache, i);
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_qk_norm_rope_append_args *a = arguments;
    size_t width = (size_t)a->q.extent[2], half = (size_t)a->rotary_dim / 2;
    struct head_work work = {
        .x = malloc(width * sizeof *work.x),
        .n = malloc(width * sizeof *work.n),
        .cosine = malloc(half * sizeof *work.cosine),
        .sine = malloc(half * sizeof *work.sine),
        .weight = {oracle_get_all(&a->q_weight), oracle_get_all(&a->k_weight)}};
    bool enough = work.x != NULL && work.n != NULL && work.cosine != NULL && work.sine != NULL &&
                  work.weight[0] != NULL && work.weight[1] != NULL;
    if (enough) {
        fill(a, outputs);
        take_tokens(a, &work, outputs);
    }
    free(work.x);
    free(work.n);
    free(work.cosine);
    free(work.sine);
    free(work.weight[0]);
    free(work.weight[1]);
    return enough ? ASSAY_OK : ASSAY_E_MEMORY;
}

static double work_of(const void *arguments)
{
    const struct assay_qk_norm_rope_append_args *a = arguments;
    return (double)(assay_tensor_rows(&a->q) + assay_tensor_rows(&a->k)) *
           (double)(a->q.extent[2] + 2 * a->rotary_dim);
}

const struct oracle_op oracle_op_qk_norm_rope_append = {
    .name = "qk_norm_rope_append",
    .num_outputs = 3,
    .outputs = {"q_out", "k_cache", "v_cache"},
    .ref = ref,
    .mpfr = oracle_qknra_mpfr,
    .bound = oracle_qknra_bound,
    .work = work_of,
};
