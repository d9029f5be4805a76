/* SPDX-License-Identifier: MIT
 *
 * silu_mul in MPFR: a sigmoid and two products, a handful of ulps.
 */
#include "silu_mul_oracle.h"

#include "real.h"
#include "words.h"

assay_status oracle_silu_mul_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_silu_mul_args *a = args;
    struct oracle_output *y = &outputs[0];
    mpfr_t gate, sigmoid;
    mpfr_inits2(precision, gate, sigmoid, (mpfr_ptr)NULL);
    for (int64_t i = 0; i < y->count; i++) {
        double g = oracle_get(&a->gate, i), up = oracle_get(&a->up, i);
        mpfr_set_d(gate, g, MPFR_RNDN);
        oracle_mpfr_sigmoid(sigmoid, gate);
        mpfr_mul(gate, gate, sigmoid, MPFR_RNDN);
        mpfr_mul_d(gate, gate, up, MPFR_RNDN);
        if (oracle_silu_mul_infinite(g, up))
            mpfr_set_d(gate, g * up, MPFR_RNDN);
        oracle_mpfr_result(gate, 8, &y->value[i], &y->own[i]);
    }
    mpfr_clears(gate, sigmoid, (mpfr_ptr)NULL);
    return ASSAY_OK;
}
