/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul in MPFR: a sigmoid and a product, a handful of ulps.
 */
#include "sigmoid_mul_oracle.h"

#include "real.h"
#include "words.h"

assay_status oracle_sigmoid_mul_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    const struct assay_sigmoid_mul_args *a = args;
    struct oracle_output *y = &outputs[0];
    mpfr_t gate, value;
    mpfr_inits2(precision, gate, value, (mpfr_ptr)NULL);
    for (int64_t i = 0; i < y->count; i++) {
        double g = oracle_sigmoid_mul_gate(a, i), x = oracle_get(&a->x, i);
        mpfr_set_d(gate, g, MPFR_RNDN);
        oracle_mpfr_sigmoid(value, gate);
        mpfr_mul_d(value, value, x, MPFR_RNDN);
        if (oracle_sigmoid_mul_infinite(g, x))
            mpfr_set_d(value, x, MPFR_RNDN);
        oracle_mpfr_result(value, 8, &y->value[i], &y->own[i]);
    }
    mpfr_clears(gate, value, (mpfr_ptr)NULL);
    return ASSAY_OK;
}
