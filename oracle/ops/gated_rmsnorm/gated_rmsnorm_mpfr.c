/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm in MPFR: the sum is exact before its one rounding; the other steps lose a handful
 * of ulps.
 */
#include "gated_rmsnorm_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

assay_status oracle_gated_rmsnorm_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs)
{
    const struct assay_gated_rmsnorm_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->w.extent[0], rows = assay_tensor_rows(&a->x);
    double *x = malloc((size_t)width * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    mpfr_t root, value, gate, sigmoid;
    mpfr_inits2(precision, root, value, gate, sigmoid, (mpfr_ptr)NULL);
    for (int64_t r = 0; r < rows; r++) {
        oracle_get_row(&a->x, r, x);
        oracle_mpfr_dot(root, x, x, width);
        mpfr_div_si(root, root, (long)width, MPFR_RNDN);
        mpfr_add_d(root, root, a->eps, MPFR_RNDN);
        mpfr_sqrt(root, root, MPFR_RNDN);
        for (int64_t i = 0; i < width; i++) {
            int64_t at = r * width + i;
            mpfr_set_d(value, x[i], MPFR_RNDN);
            mpfr_mul_d(value, value, oracle_get(&a->w, i), MPFR_RNDN);
            mpfr_div(value, value, root, MPFR_RNDN);
            mpfr_set_d(gate, oracle_get(&a->z, at), MPFR_RNDN);
            oracle_mpfr_sigmoid(sigmoid, gate);
            if (!mpfr_inf_p(value) || mpfr_inf_p(gate)) /* else the sign of the gate counts alone */
                mpfr_mul(gate, gate, sigmoid, MPFR_RNDN);
            mpfr_mul(value, value, gate, MPFR_RNDN);
            oracle_mpfr_result(value, 16, &y->value[at], &y->own[at]);
        }
    }
    mpfr_clears(root, value, gate, sigmoid, (mpfr_ptr)NULL);
    free(x);
    return ASSAY_OK;
}
