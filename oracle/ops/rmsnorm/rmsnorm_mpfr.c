/* SPDX-License-Identifier: MIT
 *
 * rmsnorm in MPFR. Every operation rounds once at `precision` bits: the sum of squares has only
 * positive terms, so n additions lose at most n ulps, and the other steps a handful.
 */
#include "rmsnorm_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

assay_status oracle_rmsnorm_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_rmsnorm_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->w.extent[0], rows = assay_tensor_rows(&a->x);
    double *x = malloc((size_t)width * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    mpfr_t root, value, gain;
    mpfr_inits2(precision, root, value, gain, (mpfr_ptr)NULL);
    for (int64_t r = 0; r < rows; r++) {
        oracle_get_row(&a->x, r, x);
        oracle_mpfr_dot(root, x, x, width);
        mpfr_div_si(root, root, (long)width, MPFR_RNDN);
        mpfr_add_d(root, root, a->eps, MPFR_RNDN);
        mpfr_sqrt(root, root, MPFR_RNDN);
        for (int64_t i = 0; i < width; i++) {
            mpfr_set_d(gain, oracle_get(&a->w, i), MPFR_RNDN);
            if (a->unit_offset)
                mpfr_add_si(gain, gain, 1, MPFR_RNDN);
            mpfr_mul_d(value, gain, x[i], MPFR_RNDN);
            mpfr_div(value, value, root, MPFR_RNDN);
            int64_t at = r * width + i;
            oracle_mpfr_result(value, (double)width + 8, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clears(root, value, gain, (mpfr_ptr)NULL);
    free(x);
    return ASSAY_OK;
}
