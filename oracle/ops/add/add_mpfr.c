/* SPDX-License-Identifier: MIT
 *
 * add in MPFR: one rounding at `precision` bits.
 */
#include "add_oracle.h"

#include "real.h"
#include "words.h"

assay_status oracle_add_mpfr(const void *arguments, long precision, struct oracle_output *outputs)
{
    const struct assay_add_args *args = arguments;
    struct oracle_output *y = &outputs[0];
    mpfr_t sum;
    mpfr_init2(sum, precision);
    for (int64_t i = 0; i < y->count; i++) {
        mpfr_set_d(sum, oracle_get(&args->a, i), MPFR_RNDN); /* exact: precision >= 53 */
        int inexact = mpfr_add_d(sum, sum, oracle_get(&args->b, i), MPFR_RNDN);
        oracle_mpfr_result(sum, inexact != 0 ? 1 : 0, &y->value[i], &y->own[i]);
    }
    mpfr_clear(sum);
    return ASSAY_OK;
}
