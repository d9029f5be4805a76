/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm in MPFR. The sum is formed without an error and rounded once by the format's own
 * precision; the norm rounds every operation once at `precision` bits: the sum of squares has only
 * positive terms, so n additions lose at most n ulps, and the other steps a handful.
 */
#include "add_rmsnorm_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* Room for the sum of two numbers of 24 bits with exponents from -149 to 127. */
enum { EXACT_SUM_BITS = 320 };

static double rounded_sum(mpfr_t sum, double a, double b, enum assay_dtype dtype)
{
    if (!isfinite(a) || !isfinite(b) || a == -b)
        return a + b; /* the sign of a zero sum is IEEE 754's */
    mpfr_set_d(sum, a, MPFR_RNDN);
    mpfr_add_d(sum, sum, b, MPFR_RNDN);
    return oracle_mpfr_round(sum, dtype == ASSAY_F32 ? 24 : 8);
}

struct numbers {
    mpfr_t sum, root, value, gain;
};

static void norm_row(const struct assay_add_rmsnorm_args *a, int64_t r, const double *s,
                     struct numbers *n, struct oracle_output *y)
{
    int64_t width = a->w.extent[0];
    oracle_mpfr_dot(n->root, s, s, width);
    mpfr_div_si(n->root, n->root, (long)width, MPFR_RNDN);
    mpfr_add_d(n->root, n->root, a->eps, MPFR_RNDN);
    mpfr_sqrt(n->root, n->root, MPFR_RNDN);
    for (int64_t i = 0; i < width; i++) {
        mpfr_set_d(n->gain, oracle_get(&a->w, i), MPFR_RNDN);
        if (a->unit_offset)
            mpfr_add_si(n->gain, n->gain, 1, MPFR_RNDN);
        mpfr_mul_d(n->value, n->gain, s[i], MPFR_RNDN);
        mpfr_div(n->value, n->value, n->root, MPFR_RNDN);
        int64_t at = r * width + i;
        oracle_mpfr_result(n->value, (double)width + 8, &y->value[at], &y->own[at]);
    }
}

assay_status oracle_add_rmsnorm_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    const struct assay_add_rmsnorm_args *a = args;
    int64_t width = a->w.extent[0], rows = a->s.extent[0];
    double *s = malloc((size_t)width * sizeof *s);
    if (s == NULL)
        return ASSAY_E_MEMORY;
    struct numbers n;
    mpfr_init2(n.sum, EXACT_SUM_BITS);
    mpfr_inits2(precision, n.root, n.value, n.gain, (mpfr_ptr)NULL);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < width; i++) {
            int64_t at = r * width + i;
            s[i] =
                rounded_sum(n.sum, oracle_get(&a->residual, at), oracle_get(&a->x, at), a->s.dtype);
            outputs[0].value[at] = s[i];
            outputs[0].own[at] = 0;
        }
        norm_row(a, r, s, &n, &outputs[1]);
    }
    mpfr_clears(n.sum, n.root, n.value, n.gain, (mpfr_ptr)NULL);
    free(s);
    return ASSAY_OK;
}
