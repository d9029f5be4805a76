/* SPDX-License-Identifier: MIT
 *
 * linear_grouped in MPFR: the exact sum of exact products and the residual, rounded once at
 * `precision` bits.
 */
#include "linear_grouped_oracle.h"

#include <stdlib.h>

#include "oracle_formats.h"
#include "real.h"
#include "words.h"

/* The residual is one more product: by 1. */
assay_status oracle_linear_grouped_mpfr(const void *args, long precision,
                                        struct oracle_output *outputs)
{
    const struct assay_linear_grouped_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.rows, inner = a->w.columns;
    double *w = malloc(2 * ((size_t)inner + 1) * sizeof *w);
    if (w == NULL)
        return ASSAY_E_MEMORY;
    double *x = w + inner + 1;
    int64_t terms = inner + (a->residual.data != NULL ? 1 : 0);
    mpfr_t sum;
    mpfr_init2(sum, precision);
    for (int64_t n = 0; n < columns; n++) {
        oracle_weight_row(&a->w, n, w);
        w[inner] = 1;
        for (int64_t t = 0; t < rows; t++) {
            int64_t at = t * columns + n;
            oracle_get_row(&a->x, t, x);
            if (terms > inner)
                x[inner] = oracle_get(&a->residual, at);
            oracle_mpfr_dot(sum, x, w, terms);
            double ulps = mpfr_zero_p(sum) ? 0 : 1; /* a zero is exact */
            oracle_mpfr_result(sum, ulps, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clear(sum);
    free(w);
    return ASSAY_OK;
}
