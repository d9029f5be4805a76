/* SPDX-License-Identifier: MIT
 *
 * argmax by MPFR's comparisons, from the last column to the first: a value that is not below the
 * best one takes its place, so equal values leave the smallest index.
 */
#include "argmax_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

assay_status oracle_argmax_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_argmax_args *a = args;
    int64_t width = a->logits.extent[1];
    mpfr_t best, value;
    mpfr_inits2(precision, best, value, (mpfr_ptr)NULL);
    for (int64_t t = 0; t < outputs[0].count; t++) {
        int64_t id = a->limit - 1;
        bool has_nan = false;
        mpfr_set_inf(best, -1);
        for (int64_t i = a->limit - 1; i >= 0; i--) {
            mpfr_set_d(value, oracle_get(&a->logits, t * width + i), MPFR_RNDN);
            has_nan = has_nan || mpfr_nan_p(value);
            if (mpfr_greaterequal_p(value, best)) {
                mpfr_set(best, value, MPFR_RNDN);
                id = i;
            }
        }
        outputs[0].value[t] = has_nan ? -1 : (double)id;
        outputs[0].own[t] = 0;
    }
    mpfr_clears(best, value, (mpfr_ptr)NULL);
    return ASSAY_OK;
}
