/* SPDX-License-Identifier: MIT
 *
 * attention in MPFR, one query head after the other.
 *
 * Error. Scores are rounded twice at the working precision, which has the bits of the largest
 * score to spare: the arguments of exp, and with them the weights' logarithms, are off by less
 * than 2^-(precision + 32). The value sum may cancel, so its error is stated against the sum of
 * magnitudes A: |value - exact| <= (n + 16) 2^-(precision + 16) A / sum of weights,
 * whose own roundings that factor covers.
 */
#include "attention_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

struct work {
    const struct assay_attention_args *a;
    long precision;
    mpfr_t *weight; /* start + T of them */
    mpfr_t sum, total, product, gate;
    double *q, *k;
    double *upper; /* the weights, rounded upwards */
};

/* Bits before the point of any score: from the largest magnitudes. */
static long score_bits(const struct assay_attention_args *a)
{
    double largest[2] = {0, 0};
    int64_t used =
        (effective_start(a) + a->q.extent[0]) * a->k_cache.extent[1] * a->k_cache.extent[2];
    for (int64_t i = 0; i < assay_tensor_count(&a->q); i++) {
        double x = fabs(oracle_get(&a->q, i));
        if (isfinite(x) && x > largest[0])
            largest[0] = x;
    }
    for (int64_t i = 0; i < used; i++) {
        double x = fabs(oracle_get(&a->k_cache, i));
        if (isfinite(x) && x > largest[1])
            largest[1] = x;
    }
    int exponent[4];
    frexp(largest[0], &exponent[0]);
    frexp(largest[1], &exponent[1]);
    frexp((double)a->q.extent[2], &exponent[2]);
    frexp(a->scale, &exponent[3]);
    long bits = (long)exponent[0] + exponent[1] + exponent[2] + exponent[3];
    return bits > 0 ? bits : 0;
}

static void weigh(struct work *w, int64_t key_head, int64_t count)
{
    const struct assay_attention_args *a = w->a;
    int64_t largest = 0;
    for (int64_t j = 0; j < count; j++) {
        oracle_get_row(&a->k_cache, j * a->k_cache.extent[1] + key_head, w->k);
        oracle_mpfr_dot(w->weight[j], w->q, w->k, a->q.extent[2]);
        mpfr_mul_d(w->weight[j], w->weight[j], a->scale, MPFR_RNDN);
        /* greater_p is false for NaN on either side: a NaN in front must not stay the largest */
        if (mpfr_nan_p(w->weight[largest]) || mpfr_greater_p(w->weight[j], w->weight[largest]))
            largest = j;
    }
    mpfr_set_zero(w->sum, 1);
    mpfr_set(w->product, w->weight[largest], MPFR_RNDN);
    for (int64_t j = 0; j < count; j++) {
        mpfr_sub(w->weight[j], w->weight[j], w->product, MPFR_RNDN);
        mpfr_exp(w->weight[j], w->weight[j], MPFR_RNDN);
        mpfr_add(w->sum, w->sum, w->weight[j], MPFR_RNDN);
        w->upper[j] = mpfr_get_d(w->weight[j], MPFR_RNDU);
    }
}

static void attend(struct work *w, int64_t row, struct oracle_output *y)
{
    const struct assay_attention_args *a = w->a;
    int64_t heads = a->q.extent[1], key_heads = a->k_cache.extent[1];
    int64_t token = row / heads, key_head = row % heads * key_heads / heads;
    int64_t count = effective_start(a) + token + 1, width = a->v_cache.extent[2];
    oracle_get_row(&a->q, row, w->q);
    weigh(w, key_head, count);
    for (int64_t d = 0; d < width; d++) {
        double magnitude = 0, sum = mpfr_get_d(w->sum, MPFR_RNDD);
        mpfr_set_zero(w->total, 1);
        for (int64_t j = 0; j < count; j++) {
            double v = oracle_get(&a->v_cache, (j * key_heads + key_head) * width + d);
            mpfr_mul_d(w->product, w->weight[j], v, MPFR_RNDN);
            mpfr_add(w->total, w->total, w->product, MPFR_RNDN);
            magnitude += w->upper[j] * fabs(v);
        }
        mpfr_div(w->total, w->total, w->sum, MPFR_RNDN);
        if (a->gate.data != NULL) {
            mpfr_set_d(w->product, oracle_get(&a->gate, row * width + d), MPFR_RNDN);
            oracle_mpfr_sigmoid(w->gate, w->product);
            mpfr_mul(w->total, w->total, w->gate, MPFR_RNDN);
            magnitude *= mpfr_get_d(w->gate, MPFR_RNDA);
        }
        int64_t at = row * width + d;
        oracle_mpfr_result(w->total, 4, &y->value[at], &y->own[at]);
        if (isfinite(y->value[at]))
            y->own[at] += ldexp((double)(count + 16) * magnitude / sum, (int)(-16 - w->precision));
    }
}

assay_status oracle_attention_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_attention_args *a = args;
    int64_t rows = assay_tensor_rows(&a->q), slots = effective_start(a) + a->q.extent[0];
    if (rows == 0)
        return ASSAY_OK;
    struct work w = {.a = a, .precision = precision};
    w.weight = malloc((size_t)slots * sizeof *w.weight);
    w.q = malloc((size_t)a->q.extent[2] * sizeof *w.q);
    w.k = malloc((size_t)a->q.extent[2] * sizeof *w.k);
    w.upper = malloc((size_t)slots * sizeof *w.upper);
    bool good = w.weight != NULL && w.q != NULL && w.k != NULL && w.upper != NULL;
    if (good) {
        mpfr_prec_t bits = precision + 64 + score_bits(a);
        mpfr_inits2(bits, w.sum, w.total, w.product, w.gate, (mpfr_ptr)NULL);
        for (int64_t j = 0; j < slots; j++)
            mpfr_init2(w.weight[j], bits);
        for (int64_t row = 0; row < rows; row++)
            attend(&w, row, &outputs[0]);
        for (int64_t j = 0; j < slots; j++)
            mpfr_clear(w.weight[j]);
        mpfr_clears(w.sum, w.total, w.product, w.gate, (mpfr_ptr)NULL);
    }
    free(w.weight);
    free(w.q);
    free(w.k);
    free(w.upper);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}
