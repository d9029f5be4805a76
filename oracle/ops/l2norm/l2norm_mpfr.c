/* SPDX-License-Identifier: MIT
 *
 * l2norm in MPFR: the sum is exact before its one rounding; the other steps lose a handful of ulps.
 */
#include "l2norm_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

assay_status oracle_l2norm_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_l2norm_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->x.extent[a->x.rank - 1], rows = assay_tensor_rows(&a->x);
    double *x = malloc((size_t)width * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    mpfr_t root, value;
    mpfr_inits2(precision, root, value, (mpfr_ptr)NULL);
    for (int64_t r = 0; r < rows; r++) {
        oracle_get_row(&a->x, r, x);
        oracle_mpfr_dot(root, x, x, width);
        mpfr_add_d(root, root, a->eps, MPFR_RNDN);
        mpfr_sqrt(root, root, MPFR_RNDN);
        for (int64_t i = 0; i < width; i++) {
            mpfr_set_d(value, x[i], MPFR_RNDN);
            mpfr_div(value, value, root, MPFR_RNDN);
            int64_t at = r * width + i;
            oracle_mpfr_result(value, 8, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clears(root, value, (mpfr_ptr)NULL);
    free(x);
    return ASSAY_OK;
}
