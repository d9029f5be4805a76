/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked in MPFR: the chunk form (F17) as written, with U, W and (I + A)^-1 by forward
 * substitution. The FP64 oracle goes by the recurrence, so this also tests that the two are equal.
 *
 * Own error: half the precision, counted from the largest magnitude that the column has seen
 * (gdn_recurrent_mpfr.c has the same). Non-finite values are left free from their chunk on.
 */
#include "gdn_chunked_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* Numbers of one head: rows x dk, rows x rows or rows, by name. */
struct matrices {
    const struct assay_gdn_chunked_args *a;
    int64_t head, first, rows, key_dim;
    double *q, *k;       /* [rows, dk] */
    mpfr_t *decay;       /* [rows, rows] Gam */
    mpfr_t *solve, *mix; /* [rows, rows] A, (q . k) Gam */
    mpfr_t *since;       /* [rows] exp(G_i) */
    mpfr_t *u, *vn;      /* [rows] of one column */
    mpfr_t *w;           /* [rows, dk] */
    mpfr_t *state;       /* [dk] of one column, at the chunk's start */
    mpfr_t sum, term;
    double largest;
};

static mpfr_t *new_numbers(int64_t count, long precision)
{
    mpfr_t *numbers = malloc((size_t)(count > 0 ? count : 1) * sizeof *numbers);
    for (int64_t i = 0; numbers != NULL && i < count; i++)
        mpfr_init2(numbers[i], precision);
    return numbers;
}

static void free_numbers(mpfr_t *numbers, int64_t count)
{
    for (int64_t i = 0; numbers != NULL && i < count; i++)
        mpfr_clear(numbers[i]);
    free(numbers);
}

static void see(struct matrices *m, const mpfr_t x)
{
    double magnitude = fabs(mpfr_get_d(x, MPFR_RNDA));
    if (magnitude > m->largest)
        m->largest = magnitude;
}

static double gate(const struct matrices *m, const struct assay_tensor *tensor, int64_t i)
{
    return oracle_get(tensor, (m->first + i) * tensor->extent[1] + m->head);
}

/* sum = a . b scaled by a binary64 factor */
static void scaled_dot(struct matrices *m, const double *a, const double *b, double factor)
{
    oracle_mpfr_dot(m->sum, a, b, m->key_dim);
    mpfr_mul_d(m->sum, m->sum, factor, MPFR_RNDN);
}

/* Everything that does not depend on the column. */
static void prepare(struct matrices *m)
{
    int64_t n = m->rows, dk = m->key_dim;
    for (int64_t i = 0; i < n; i++) {
        double beta = gate(m, &m->a->beta, i);
        mpfr_set_zero(m->term, 1);
        for (int64_t j = i; j >= 0; j--) {
            int64_t at = i * n + j;
            mpfr_exp(m->decay[at], m->term, MPFR_RNDN);
            mpfr_add_d(m->term, m->term, gate(m, &m->a->g, j), MPFR_RNDN);
            scaled_dot(m, m->k + i * dk, m->k + j * dk, beta);
            mpfr_mul(m->solve[at], m->sum, m->decay[at], MPFR_RNDN);
            scaled_dot(m, m->q + i * dk, m->k + j * dk, m->a->scale);
            mpfr_mul(m->mix[at], m->sum, m->decay[at], MPFR_RNDN);
        }
        mpfr_exp(m->since[i], m->term, MPFR_RNDN);
        for (int64_t d = 0; d < dk; d++) { /* W_i = beta_i exp(G_i) k_i - sum A_ij W_j */
            mpfr_mul_d(m->w[i * dk + d], m->since[i], beta, MPFR_RNDN);
            mpfr_mul_d(m->w[i * dk + d], m->w[i * dk + d], m->k[i * dk + d], MPFR_RNDN);
            for (int64_t j = 0; j < i; j++) {
                mpfr_mul(m->term, m->solve[i * n + j], m->w[j * dk + d], MPFR_RNDN);
                mpfr_sub(m->w[i * dk + d], m->w[i * dk + d], m->term, MPFR_RNDN);
            }
        }
    }
}

static void put(const struct matrices *m, const mpfr_t x, long precision, struct oracle_output *out,
                int64_t at)
{
    oracle_mpfr_result(x, 1, &out->value[at], &out->own[at]);
    if (isfinite(out->value[at]))
        out->own[at] += ldexp(m->largest, (int)(-precision / 2));
    else
        out->value[at] = out->own[at] = 0;
}

/* Vn = U - W S0; false when something is not finite. */
static bool solve_column(struct matrices *m, int64_t column)
{
    int64_t n = m->rows, dk = m->key_dim, heads = m->a->v.extent[1];
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = ((m->first + i) * heads + m->head) * m->a->v.extent[2] + column;
        mpfr_set_d(m->u[i], oracle_get(&m->a->v, at), MPFR_RNDN);
        mpfr_mul_d(m->u[i], m->u[i], gate(m, &m->a->beta, i), MPFR_RNDN);
        for (int64_t j = 0; j < i; j++) {
            mpfr_mul(m->term, m->solve[i * n + j], m->u[j], MPFR_RNDN);
            mpfr_sub(m->u[i], m->u[i], m->term, MPFR_RNDN);
        }
        mpfr_set(m->vn[i], m->u[i], MPFR_RNDN);
        for (int64_t d = 0; d < dk; d++) {
            mpfr_mul(m->term, m->w[i * dk + d], m->state[d], MPFR_RNDN);
            mpfr_sub(m->vn[i], m->vn[i], m->term, MPFR_RNDN);
            see(m, m->term);
        }
        see(m, m->u[i]);
        finite = finite && mpfr_number_p(m->vn[i]);
    }
    return finite;
}

static void outputs_of(struct matrices *m, int64_t column, bool finite, long precision,
                       struct oracle_output *o)
{
    int64_t n = m->rows, dk = m->key_dim;
    for (int64_t i = 0; i < n; i++) {
        mpfr_set_zero(m->sum, 1);
        for (int64_t d = 0; d < dk; d++) {
            mpfr_mul_d(m->term, m->state[d], m->q[i * dk + d], MPFR_RNDN);
            mpfr_mul_d(m->term, m->term, m->a->scale, MPFR_RNDN);
            mpfr_mul(m->term, m->term, m->since[i], MPFR_RNDN);
            mpfr_add(m->sum, m->sum, m->term, MPFR_RNDN);
            see(m, m->term);
        }
        for (int64_t j = 0; j <= i; j++) {
            mpfr_mul(m->term, m->mix[i * n + j], m->vn[j], MPFR_RNDN);
            mpfr_add(m->sum, m->sum, m->term, MPFR_RNDN);
            see(m, m->term);
        }
        if (!finite)
            mpfr_set_nan(m->sum);
        int64_t row = (m->first + i) * m->a->v.extent[1] + m->head;
        put(m, m->sum, precision, o, row * m->a->v.extent[2] + column);
    }
}

static bool update_column(struct matrices *m, bool finite)
{
    int64_t n = m->rows;
    for (int64_t d = 0; d < m->key_dim; d++) {
        mpfr_mul(m->state[d], m->state[d], m->since[n - 1], MPFR_RNDN);
        for (int64_t i = 0; i < n; i++) {
            mpfr_mul_d(m->term, m->vn[i], m->k[i * m->key_dim + d], MPFR_RNDN);
            mpfr_mul(m->term, m->term, m->decay[(n - 1) * n + i], MPFR_RNDN);
            mpfr_add(m->state[d], m->state[d], m->term, MPFR_RNDN);
        }
        see(m, m->state[d]);
        finite = finite && mpfr_number_p(m->state[d]);
    }
    return finite;
}

static void load_rows(struct matrices *m)
{
    int64_t key_heads = m->a->q.extent[1], heads = m->a->v.extent[1];
    for (int64_t i = 0; i < m->rows; i++) {
        int64_t row = (m->first + i) * key_heads + m->head / (heads / key_heads);
        oracle_get_row(&m->a->q, row, m->q + i * m->key_dim);
        oracle_get_row(&m->a->k, row, m->k + i * m->key_dim);
    }
}

/* States of all columns of a head are kept in `states` between chunks; a column that has met
 * something not finite is NaN from there on. */
static void run_head(struct matrices *m, mpfr_t *states, double *largest, long precision,
                     struct oracle_output *outputs)
{
    const struct assay_gdn_chunked_args *a = m->a;
    int64_t dk = m->key_dim, dv = a->v.extent[2], tokens = a->q.extent[0];
    for (int64_t i = 0; i < dk * dv; i++) /* states: [dv, dk] */
        mpfr_set_d(states[i], oracle_get(&a->state, (m->head * dk + i % dk) * dv + i / dk),
                   MPFR_RNDN);
    for (m->first = 0; m->first < tokens; m->first += m->rows) {
        int64_t left = tokens - m->first;
        m->rows = left < a->chunk ? left : a->chunk;
        load_rows(m);
        prepare(m);
        for (int64_t n = 0; n < dv; n++) {
            m->state = states + n * dk;
            m->largest = m->first > 0 ? largest[n] : 0;
            bool finite = solve_column(m, n), before = finite;
            for (int64_t d = 0; d < dk; d++)
                before = before && mpfr_number_p(m->state[d]);
            for (int64_t d = 0; d < dk; d++) { /* outputs need the start, freedom the end */
                mpfr_set(m->term, m->state[d], MPFR_RNDN);
                see(m, m->term);
            }
            outputs_of(m, n, before, precision, &outputs[0]);
            finite = update_column(m, before);
            for (int64_t d = 0; d < dk && !finite; d++)
                mpfr_set_nan(m->state[d]);
            largest[n] = m->largest;
        }
    }
    for (int64_t i = 0; i < dk * dv; i++) {
        m->largest = tokens > 0 ? largest[i / dk] : 0;
        int64_t at = (m->head * dk + i % dk) * dv + i / dk;
        if (tokens > 0)
            put(m, states[i], precision, &outputs[1], at);
        else
            outputs[1].value[at] = oracle_get(&a->state, at);
    }
}

assay_status oracle_gdn_chunked_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t tokens = a->q.extent[0], rows = tokens < a->chunk ? tokens : a->chunk;
    int64_t dk = a->q.extent[2], dv = a->v.extent[2];
    struct matrices m = {.a = a, .key_dim = dk};
    mpfr_t **parts[] = {&m.decay, &m.solve, &m.mix, &m.since, &m.u, &m.vn, &m.w};
    const int64_t counts[] = {rows * rows, rows * rows, rows * rows, rows, rows, rows, rows * dk};
    mpfr_t *states = new_numbers(dk * dv, precision);
    double *memory = malloc((size_t)(2 * rows * dk + dv + 1) * sizeof *memory);
    bool good = states != NULL && memory != NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i] = new_numbers(counts[i], precision);
        good = good && *parts[i] != NULL;
    }
    mpfr_inits2(precision, m.sum, m.term, (mpfr_ptr)NULL);
    if (good) {
        m.q = memory;
        m.k = memory + rows * dk;
        for (m.head = 0; m.head < a->v.extent[1]; m.head++)
            run_head(&m, states, memory + 2 * rows * dk, precision, outputs);
    }
    mpfr_clears(m.sum, m.term, (mpfr_ptr)NULL);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        free_numbers(*parts[i], counts[i]);
    free_numbers(states, dk * dv);
    free(memory);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}
