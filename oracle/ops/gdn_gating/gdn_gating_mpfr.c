/* SPDX-License-Identifier: MIT
 *
 * gdn_gating in MPFR. The argument of softplus is formed exactly (two binary32 values span at most
 * 278 bits), so each result is off by a handful of units in its last place.
 */
#include "gdn_gating_oracle.h"

#include "real.h"
#include "words.h"

assay_status oracle_gdn_gating_mpfr(const void *arguments, long precision,
                                    struct oracle_output *outputs)
{
    const struct assay_gdn_gating_args *args = arguments;
    int64_t count = assay_tensor_count(&args->a), heads = args->a_log.extent[0];
    mpfr_t x, softplus, y;
    mpfr_init2(x, 320);
    mpfr_inits2(precision, softplus, y, (mpfr_ptr)NULL);
    for (int64_t i = 0; i < count; i++) {
        mpfr_set_d(x, oracle_get(&args->a, i), MPFR_RNDN);
        mpfr_add_d(x, x, oracle_get(&args->dt_bias, i % heads), MPFR_RNDN);
        oracle_mpfr_softplus(softplus, x);
        mpfr_set_d(y, oracle_get(&args->a_log, i % heads), MPFR_RNDN);
        mpfr_exp(y, y, MPFR_RNDN);
        mpfr_mul(y, y, softplus, MPFR_RNDN);
        mpfr_neg(y, y, MPFR_RNDN);
        oracle_mpfr_result(y, 4, &outputs[0].value[i], &outputs[0].own[i]);
        mpfr_set_d(x, oracle_get(&args->b, i), MPFR_RNDN);
        oracle_mpfr_sigmoid(y, x);
        oracle_mpfr_result(y, 2, &outputs[1].value[i], &outputs[1].own[i]);
    }
    mpfr_clears(x, softplus, y, (mpfr_ptr)NULL);
    return ASSAY_OK;
}
