/* SPDX-License-Identifier: MIT
 *
 * moe_experts in MPFR: g and u exact before their one rounding, h, d and y with all bits. Rows that
 * are not finite follow IEEE 754 in any arithmetic: they stay as binary64 has them.
 */
#include "moe_experts_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "matrix_product_oracle.h"
#include "real.h"
#include "words.h"

struct numbers {
    mpfr_t gate, up, down;
    mpfr_t *hidden;    /* [F] */
    mpfr_t *sums;      /* [H] */
    double *magnitude; /* [H]: sum |w| |down| |h| */
    double *x, *row;   /* [H], [H] or [F] */
};

static bool create(struct numbers *m, int64_t hidden, int64_t width, long precision)
{
    int64_t longest = hidden > width ? hidden : width;
    mpfr_inits2(precision, m->gate, m->up, m->down, (mpfr_ptr)NULL);
    m->hidden = calloc((size_t)width, sizeof *m->hidden);
    m->sums = calloc((size_t)hidden, sizeof *m->sums);
    m->magnitude = calloc((size_t)hidden, sizeof *m->magnitude);
    m->x = calloc((size_t)hidden, sizeof *m->x);
    m->row = calloc((size_t)longest, sizeof *m->row);
    for (int64_t f = 0; f < width && m->hidden != NULL; f++)
        mpfr_init2(m->hidden[f], precision);
    for (int64_t n = 0; n < hidden && m->sums != NULL; n++)
        mpfr_init2(m->sums[n], precision);
    return m->hidden != NULL && m->sums != NULL && m->magnitude != NULL && m->x != NULL &&
           m->row != NULL;
}

static void destroy(struct numbers *m, int64_t hidden, int64_t width)
{
    mpfr_clears(m->gate, m->up, m->down, (mpfr_ptr)NULL);
    for (int64_t f = 0; f < width && m->hidden != NULL; f++)
        mpfr_clear(m->hidden[f]);
    for (int64_t n = 0; n < hidden && m->sums != NULL; n++)
        mpfr_clear(m->sums[n]);
    free(m->hidden);
    free(m->sums);
    free(m->magnitude);
    free(m->x);
    free(m->row);
}

static void add_slot(struct numbers *m, const struct moe_slot *slot)
{
    int64_t hidden = slot->down.rows, width = slot->down.columns;
    for (int64_t f = 0; f < width; f++) {
        oracle_product_row(&slot->swiglu.gate, f, m->row, NULL);
        oracle_mpfr_dot(m->gate, m->x, m->row, hidden);
        oracle_product_row(&slot->swiglu.up, f, m->row, NULL);
        oracle_mpfr_dot(m->up, m->x, m->row, hidden);
        oracle_mpfr_sigmoid(m->hidden[f], m->gate);
        mpfr_mul(m->hidden[f], m->hidden[f], m->gate, MPFR_RNDN);
        mpfr_mul(m->hidden[f], m->hidden[f], m->up, MPFR_RNDN);
    }
    for (int64_t n = 0; n < hidden; n++) {
        oracle_product_row(&slot->down, n, m->row, NULL);
        mpfr_set_zero(m->down, 1);
        for (int64_t f = 0; f < width; f++) {
            mpfr_mul_d(m->up, m->hidden[f], m->row[f], MPFR_RNDN);
            mpfr_add(m->down, m->down, m->up, MPFR_RNDN);
            m->magnitude[n] += fabs(slot->weight * mpfr_get_d(m->up, MPFR_RNDA));
        }
        mpfr_mul_d(m->down, m->down, slot->weight, MPFR_RNDN);
        mpfr_add(m->sums[n], m->sums[n], m->down, MPFR_RNDN);
    }
}

static bool is_finite_row(const struct oracle_output *y, int64_t t, int64_t columns)
{
    for (int64_t at = t * columns; at < (t + 1) * columns; at++)
        if (!isfinite(y->value[at]) || y->aux[MOE_AUX_OPEN][at] != 0)
            return false;
    return true;
}

/* Relative to the magnitude an ulp at this precision is lost a few times F + k, and where a gate is
 * large 4 |g| times in its silu, which is at most 4 * 745 times as long as silu is not below
 * 2^-1074 of u: 2^40 ulps are more than all of it. */
static void token(struct numbers *m, const struct moe_call *c, int64_t t, long precision,
                  struct oracle_output *y)
{
    int64_t columns = c->y.extent[1];
    oracle_get_row(&c->x, t, m->x);
    for (int64_t n = 0; n < columns; n++) {
        mpfr_set_zero(m->sums[n], 1);
        m->magnitude[n] = 0;
    }
    for (int64_t i = 0; i < c->ids.extent[1]; i++) {
        const struct moe_slot slot = oracle_moe_slot(c, t, i);
        add_slot(m, &slot);
    }
    for (int64_t n = 0; n < columns; n++) {
        int64_t at = t * columns + n;
        oracle_mpfr_result(m->sums[n], 0, &y->value[at], &y->own[at]);
        y->own[at] += ldexp(m->magnitude[n], 40 - (int)precision);
    }
}

assay_status oracle_moe_mpfr(const struct moe_call *c, long precision,
                             struct oracle_output *outputs)
{
    int64_t hidden = c->x.extent[1], width = c->down.columns;
    assay_status status = oracle_moe_ref(c, outputs);
    if (status != ASSAY_OK)
        return status;
    struct numbers m;
    if (!create(&m, hidden, width, precision))
        status = ASSAY_E_MEMORY;
    for (int64_t t = 0; t < c->x.extent[0] && status == ASSAY_OK; t++)
        if (is_finite_row(&outputs[0], t, hidden))
            token(&m, c, t, precision, &outputs[0]);
    destroy(&m, hidden, width);
    return status;
}

assay_status oracle_moe_experts_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_call(args);
    return oracle_moe_mpfr(&c, precision, outputs);
}
