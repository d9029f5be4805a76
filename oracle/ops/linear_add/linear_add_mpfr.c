/* SPDX-License-Identifier: MIT
 *
 * linear_add in MPFR. bf16: the exact sum of exact products and of r, one more product, by 1;
 * rounded once at `precision` bits.
 */
#include "linear_add_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

assay_status oracle_linear_add_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_linear_add_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.rows, inner = a->w.columns;
    if (a->w.format != ASSAY_WEIGHT_BF16) {
        struct assay_linear_grouped_args grouped = oracle_linear_add_grouped(a);
        return oracle_find("linear_grouped")->mpfr(&grouped, precision, outputs);
    }
    double *w = malloc(2 * ((size_t)inner + 1) * sizeof *w);
    if (w == NULL)
        return ASSAY_E_MEMORY;
    double *x = w + inner + 1;
    mpfr_t sum;
    mpfr_init2(sum, precision);
    for (int64_t n = 0; n < columns; n++) {
        oracle_get_row(&a->w.base, n, w);
        w[inner] = 1;
        for (int64_t t = 0; t < rows; t++) {
            int64_t at = t * columns + n;
            oracle_get_row(&a->x, t, x);
            x[inner] = oracle_get(&a->r, at);
            oracle_mpfr_dot(sum, x, w, inner + 1);
            double ulps = mpfr_zero_p(sum) ? 0 : 1; /* a zero is exact */
            oracle_mpfr_result(sum, ulps, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clear(sum);
    free(w);
    return ASSAY_OK;
}
