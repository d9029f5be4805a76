/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append in MPFR. A normalised element is within a few ulps and those of its sum of
 * squares, cos and sin within one, each product rounds once more; the sum of the two products may
 * cancel, so its error is stated against their magnitudes.
 */
#include "qk_norm_rope_append_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"

/* (F8) again: written out by cases, on purpose not the form of the other oracle. */
static int64_t position_of(const struct assay_qk_norm_rope_append_args *a, int64_t t, int64_t pair)
{
    int64_t axis = 0;
    if (a->positions.rank == 2) {
        if (pair % 3 == 1 && pair < 3 * a->sections[1])
            axis = 1;
        else if (pair % 3 == 2 && pair < 3 * a->sections[2])
            axis = 2;
    }
    return oracle_get_int(&a->positions, axis * a->q.extent[0] + t);
}

struct head {
    const struct assay_qk_norm_rope_append_args *a;
    const struct assay_tensor *weight;
    double *x; /* [D] */
    mpfr_t root, u, v, cosine, sine, first, second;
    long precision;
};

/* n = x_i g_i / root, within D + 8 ulps; the root is there. */
static void normalise(struct head *h, int64_t i, mpfr_t n)
{
    mpfr_set_d(n, oracle_get(h->weight, i), MPFR_RNDN);
    if (h->a->unit_offset)
        mpfr_add_si(n, n, 1, MPFR_RNDN);
    mpfr_mul_d(n, n, h->x[i], MPFR_RNDN);
    mpfr_div(n, n, h->root, MPFR_RNDN);
}

/* u cos + sign v sin, where D + 16 ulps of either product bound all roundings. */
static void combine(struct head *h, const mpfr_t u, const mpfr_t v, int sign, double *value,
                    double *own)
{
    mpfr_mul(h->first, h->cosine, u, MPFR_RNDN);
    mpfr_mul(h->second, h->sine, v, MPFR_RNDN);
    double magnitude =
        fabs(mpfr_get_d(h->first, MPFR_RNDA)) + fabs(mpfr_get_d(h->second, MPFR_RNDA));
    if (sign < 0)
        mpfr_sub(h->first, h->first, h->second, MPFR_RNDN);
    else
        mpfr_add(h->first, h->first, h->second, MPFR_RNDN);
    oracle_mpfr_result(h->first, 1, value, own);
    if (isfinite(*value)) {
        double ulps = (double)h->a->q.extent[2] + 16;
        *own += ldexp(2 * ulps * magnitude, (int)(1 - h->precision));
    }
}

/* The head in h->x at token t, its first element at `at` of y. */
static void take_head(struct head *h, int64_t t, int64_t at, struct oracle_output *y)
{
    const struct assay_qk_norm_rope_append_args *a = h->a;
    int64_t width = a->q.extent[2], half = a->rotary_dim / 2;
    oracle_mpfr_dot(h->root, h->x, h->x, width);
    mpfr_div_si(h->root, h->root, (long)width, MPFR_RNDN);
    mpfr_add_d(h->root, h->root, a->eps, MPFR_RNDN);
    mpfr_sqrt(h->root, h->root, MPFR_RNDN);
    for (int64_t i = 0; i < half; i++) {
        oracle_mpfr_rotation(h->cosine, h->sine, position_of(a, t, i), a->theta, i, a->rotary_dim);
        normalise(h, i, h->u);
        normalise(h, i + half, h->v);
        combine(h, h->u, h->v, -1, &y->value[at + i], &y->own[at + i]);
        combine(h, h->v, h->u, 1, &y->value[at + i + half], &y->own[at + i + half]);
    }
    for (int64_t i = a->rotary_dim; i < width; i++) {
        normalise(h, i, h->u);
        oracle_mpfr_result(h->u, (double)width + 8, &y->value[at + i], &y->own[at + i]);
    }
}

/* The caches before the call, and v's rows in theirs, rounded by MPFR. */
static void fill(const struct assay_qk_norm_rope_append_args *a, mpfr_t exact,
                 struct oracle_output *outputs)
{
    const int digits = a->v_cache.dtype == ASSAY_F32 ? 24 : 8;
    int64_t slot = a->v_cache.extent[1] * a->v_cache.extent[2], start = oracle_qknra_start(a);
    for (int64_t i = 0; i < outputs[QKNRA_K_CACHE].count; i++)
        outputs[QKNRA_K_CACHE].value[i] = oracle_get(&a->k_cache, i);
    for (int64_t i = 0; i < outputs[QKNRA_V_CACHE].count; i++)
        outputs[QKNRA_V_CACHE].value[i] = oracle_get(&a->v_cache, i);
    for (int64_t i = 0; i < assay_tensor_count(&a->v); i++) {
        double v = oracle_get(&a->v, i);
        mpfr_set_d(exact, v, MPFR_RNDN);
        outputs[QKNRA_V_CACHE].value[start * slot + i] =
            isfinite(v) && v != 0 ? oracle_mpfr_round(exact, digits) : v;
    }
}

assay_status oracle_qknra_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    int64_t heads = a->q.extent[1], groups = a->k.extent[1], width = a->q.extent[2];
    struct head h = {.a = a, .precision = precision};
    h.x = malloc((size_t)width * sizeof *h.x);
    if (h.x == NULL)
        return ASSAY_E_MEMORY;
    mpfr_inits2(precision, h.root, h.u, h.v, h.cosine, h.sine, h.first, h.second, (mpfr_ptr)NULL);
    fill(a, h.first, outputs);
    h.weight = &a->q_weight;
    for (int64_t r = 0; r < assay_tensor_rows(&a->q); r++) {
        oracle_get_row(&a->q, r, h.x);
        take_head(&h, r / heads, r * width, &outputs[QKNRA_Q_OUT]);
    }
    h.weight = &a->k_weight;
    for (int64_t r = 0; r < assay_tensor_rows(&a->k); r++) {
        int64_t slot_row = oracle_qknra_start(a) * groups + r;
        oracle_get_row(&a->k, r, h.x);
        take_head(&h, r / groups, slot_row * width, &outputs[QKNRA_K_CACHE]);
    }
    mpfr_clears(h.root, h.u, h.v, h.cosine, h.sine, h.first, h.second, (mpfr_ptr)NULL);
    free(h.x);
    return ASSAY_OK;
}
