/* SPDX-License-Identifier: MIT
 *
 * linear in MPFR: the exact sum of exact products, rounded once at `precision` bits.
 */
#include "linear_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

assay_status oracle_linear_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_linear_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.extent[0], inner = a->w.extent[1];
    double *w = malloc((size_t)inner * sizeof *w), *x = oracle_get_all(&a->x);
    if (w == NULL || (x == NULL && rows > 0)) {
        free(w);
        free(x);
        return ASSAY_E_MEMORY;
    }
    mpfr_t sum;
    mpfr_init2(sum, precision);
    for (int64_t n = 0; n < columns; n++) {
        oracle_get_row(&a->w, n, w);
        for (int64_t t = 0; t < rows; t++) {
            int64_t at = t * columns + n;
            oracle_mpfr_dot(sum, &x[t * inner], w, inner);
            double ulps = mpfr_zero_p(sum) ? 0 : 1; /* a zero is exact */
            oracle_mpfr_result(sum, ulps, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clear(sum);
    free(w);
    free(x);
    return ASSAY_OK;
}
