/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent in MPFR, token by token as written.
 *
 * Own error: every operation is off by 2^-precision of its result, and what the recurrence makes
 * of that is bounded as in gdn_recurrent_bound.md; half the precision is allowed for it, counted
 * from the largest magnitude that the column has seen.
 */
#include "gdn_recurrent_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

struct scratch {
    mpfr_t *state; /* [dk] */
    mpfr_t sum, term, delta, alpha;
    double *q, *k;
    double largest; /* magnitude in this column */
};

static void see(struct scratch *s, const mpfr_t x)
{
    double magnitude = fabs(mpfr_get_d(x, MPFR_RNDA));
    if (magnitude > s->largest)
        s->largest = magnitude;
}

static void result(const struct scratch *s, const mpfr_t x, long precision,
                   struct oracle_output *out, int64_t at)
{
    oracle_mpfr_result(x, 1, &out->value[at], &out->own[at]);
    if (isfinite(out->value[at]))
        out->own[at] += ldexp(s->largest, (int)(-precision / 2));
}

/* S = alpha S; p = S^T k; d = beta (v - p); S = S + k d; o = S^T (scale q) */
static void step(struct scratch *s, const struct assay_gdn_recurrent_args *a, int64_t t,
                 int64_t head, double v)
{
    int64_t key_heads = a->q.extent[1], heads = a->v.extent[1], key_dim = a->q.extent[2];
    int64_t row = t * key_heads + head / (heads / key_heads);
    oracle_get_row(&a->q, row, s->q);
    oracle_get_row(&a->k, row, s->k);
    mpfr_set_d(s->alpha, oracle_get(&a->g, t * heads + head), MPFR_RNDN);
    mpfr_exp(s->alpha, s->alpha, MPFR_RNDN);
    mpfr_set_zero(s->sum, 1);
    for (int64_t i = 0; i < key_dim; i++) {
        mpfr_mul(s->state[i], s->state[i], s->alpha, MPFR_RNDN);
        mpfr_mul_d(s->term, s->state[i], s->k[i], MPFR_RNDN);
        mpfr_add(s->sum, s->sum, s->term, MPFR_RNDN);
        see(s, s->term);
    }
    mpfr_d_sub(s->delta, v, s->sum, MPFR_RNDN);
    mpfr_mul_d(s->delta, s->delta, oracle_get(&a->beta, t * heads + head), MPFR_RNDN);
    see(s, s->delta);
    mpfr_set_zero(s->sum, 1);
    for (int64_t i = 0; i < key_dim; i++) {
        mpfr_mul_d(s->term, s->delta, s->k[i], MPFR_RNDN);
        mpfr_add(s->state[i], s->state[i], s->term, MPFR_RNDN);
        see(s, s->state[i]);
        mpfr_mul_d(s->term, s->state[i], s->q[i], MPFR_RNDN);
        mpfr_mul_d(s->term, s->term, a->scale, MPFR_RNDN);
        mpfr_add(s->sum, s->sum, s->term, MPFR_RNDN);
        see(s, s->term);
    }
}

static void run_column(struct scratch *s, const struct assay_gdn_recurrent_args *a, long precision,
                       int64_t head, int64_t n, struct oracle_output *outputs)
{
    int64_t key_dim = a->q.extent[2], value_dim = a->v.extent[2], heads = a->v.extent[1];
    s->largest = 0;
    for (int64_t i = 0; i < key_dim; i++) {
        int64_t at = (head * key_dim + i) * value_dim + n;
        mpfr_set_d(s->state[i], oracle_get(&a->state, at), MPFR_RNDN);
    }
    for (int64_t t = 0; t < a->q.extent[0]; t++) {
        int64_t at = (t * heads + head) * value_dim + n;
        step(s, a, t, head, oracle_get(&a->v, at));
        result(s, s->sum, precision, &outputs[0], at);
    }
    for (int64_t i = 0; i < key_dim; i++)
        result(s, s->state[i], precision, &outputs[1], (head * key_dim + i) * value_dim + n);
}

assay_status oracle_gdn_recurrent_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = args;
    int64_t key_dim = a->q.extent[2];
    struct scratch s;
    s.state = malloc((size_t)key_dim * sizeof *s.state);
    s.q = malloc(2 * (size_t)key_dim * sizeof *s.q);
    if (s.state == NULL || s.q == NULL) {
        free(s.state);
        free(s.q);
        return ASSAY_E_MEMORY;
    }
    s.k = s.q + key_dim;
    for (int64_t i = 0; i < key_dim; i++)
        mpfr_init2(s.state[i], precision);
    mpfr_inits2(precision, s.sum, s.term, s.delta, s.alpha, (mpfr_ptr)NULL);
    for (int64_t head = 0; head < a->v.extent[1]; head++)
        for (int64_t n = 0; n < a->v.extent[2]; n++)
            run_column(&s, a, precision, head, n, outputs);
    for (int64_t i = 0; i < key_dim; i++)
        mpfr_clear(s.state[i]);
    mpfr_clears(s.sum, s.term, s.delta, s.alpha, (mpfr_ptr)NULL);
    free(s.state);
    free(s.q);
    return ASSAY_OK;
}
