/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu in MPFR: both sums exact before their one rounding, then silu(g) u.
 */
#include "linear_swiglu_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "matrix_product_oracle.h"
#include "real.h"
#include "words.h"

static double magnitude_of(const double *x, const double *w, int64_t inner)
{
    double magnitude;
    oracle_dot(x, w, inner, &magnitude);
    return magnitude;
}

struct numbers {
    mpfr_t gate, up, sigmoid;
};

/* Into element `at`. silu's slope in relative terms is at most 1 + |g|, and the sums are off by one
 * ulp. */
static void element(struct numbers *m, const double *x, const double *gate, const double *up,
                    int64_t inner, struct oracle_output *y, int64_t at)
{
    oracle_mpfr_dot(m->gate, x, gate, inner);
    oracle_mpfr_dot(m->up, x, up, inner);
    if (!mpfr_number_p(m->gate) || !mpfr_number_p(m->up)) {
        y->value[at] = oracle_swiglu_nonfinite(
            mpfr_get_d(m->gate, MPFR_RNDN), magnitude_of(x, gate, inner),
            mpfr_get_d(m->up, MPFR_RNDN), magnitude_of(x, up, inner), inner);
        y->own[at] = 0;
        return;
    }
    double ulps = 16 + 4 * fabs(mpfr_get_d(m->gate, MPFR_RNDN));
    oracle_mpfr_sigmoid(m->sigmoid, m->gate);
    mpfr_mul(m->gate, m->gate, m->sigmoid, MPFR_RNDN);
    mpfr_mul(m->gate, m->gate, m->up, MPFR_RNDN);
    oracle_mpfr_result(m->gate, mpfr_zero_p(m->gate) ? 0 : ulps, &y->value[at], &y->own[at]);
}

assay_status oracle_linear_swiglu_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs)
{
    const struct assay_linear_swiglu_args *a = args;
    int64_t rows = a->x.extent[0], columns = a->gate.rows, inner = a->gate.columns;
    double *weights = malloc(2 * (size_t)inner * sizeof *weights), *x = oracle_get_all(&a->x);
    if (weights == NULL || (x == NULL && rows > 0)) {
        free(weights);
        free(x);
        return ASSAY_E_MEMORY;
    }
    struct numbers m;
    mpfr_inits2(precision, m.gate, m.up, m.sigmoid, (mpfr_ptr)NULL);
    for (int64_t n = 0; n < columns; n++) {
        oracle_product_row(&a->gate, n, weights, NULL);
        oracle_product_row(&a->up, n, weights + inner, NULL);
        for (int64_t t = 0; t < rows; t++)
            element(&m, &x[t * inner], weights, weights + inner, inner, &outputs[0],
                    t * columns + n);
    }
    mpfr_clears(m.gate, m.up, m.sigmoid, (mpfr_ptr)NULL);
    free(weights);
    free(x);
    return ASSAY_OK;
}
