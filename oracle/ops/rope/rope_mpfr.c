/* SPDX-License-Identifier: MIT
 *
 * rope in MPFR. cos and sin are within one ulp, each product rounds once more; the sum of the two
 * products may cancel, so its error is stated against their magnitudes.
 */
#include "rope_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

/* (F8) again: written out by cases, on purpose not the form of the other oracle. */
static int64_t position_of(const struct assay_rope_args *a, int64_t t, int64_t pair)
{
    int64_t axis = 0;
    if (a->positions.rank == 2) {
        if (pair % 3 == 1 && pair < 3 * a->sections[1])
            axis = 1;
        else if (pair % 3 == 2 && pair < 3 * a->sections[2])
            axis = 2;
    }
    return oracle_get_int(&a->positions, axis * a->x.extent[0] + t);
}

struct rotation {
    mpfr_t cosine, sine, first, second;
    long precision;
};

/* u cos + sign v sin, where 4 ulps of either product bound all roundings. */
static void combine(struct rotation *r, double u, double v, int sign, double *value, double *own)
{
    mpfr_mul_d(r->first, r->cosine, u, MPFR_RNDN);
    mpfr_mul_d(r->second, r->sine, v, MPFR_RNDN);
    double magnitude =
        fabs(mpfr_get_d(r->first, MPFR_RNDA)) + fabs(mpfr_get_d(r->second, MPFR_RNDA));
    if (sign < 0)
        mpfr_sub(r->first, r->first, r->second, MPFR_RNDN);
    else
        mpfr_add(r->first, r->first, r->second, MPFR_RNDN);
    oracle_mpfr_result(r->first, 1, value, own);
    if (isfinite(*value))
        *own += ldexp(magnitude, (int)(3 - r->precision));
}

assay_status oracle_rope_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_rope_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t tokens = a->x.extent[0], heads = a->x.extent[1], width = a->x.extent[2];
    int64_t half = a->rotary_dim / 2;
    struct rotation r = {.precision = precision};
    mpfr_inits2(precision, r.cosine, r.sine, r.first, r.second, (mpfr_ptr)NULL);
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t i = 0; i < half; i++) {
            oracle_mpfr_rotation(r.cosine, r.sine, position_of(a, t, i), a->theta, i,
                                 a->rotary_dim);
            for (int64_t row = t * heads; row < (t + 1) * heads; row++) {
                int64_t low = row * width + i, high = low + half;
                double u = oracle_get(&a->x, low), v = oracle_get(&a->x, high);
                combine(&r, u, v, -1, &y->value[low], &y->own[low]);
                combine(&r, v, u, 1, &y->value[high], &y->own[high]);
            }
        }
        for (int64_t row = t * heads; row < (t + 1) * heads; row++)
            for (int64_t at = row * width + a->rotary_dim; at < (row + 1) * width; at++) {
                y->value[at] = oracle_get(&a->x, at);
                y->own[at] = 0;
            }
    }
    mpfr_clears(r.cosine, r.sine, r.first, r.second, (mpfr_ptr)NULL);
    return ASSAY_OK;
}
