/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d in MPFR: the sum is exact before its one rounding. SiLU then has that rounding,
 * times at most 1 + |sum| by its own slope, and two more.
 */
#include "causal_conv1d_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

assay_status oracle_causal_conv1d_mpfr(const void *arguments, long precision,
                                       struct oracle_output *outputs)
{
    const struct assay_causal_conv1d_args *args = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t channels = args->w.extent[0], taps = args->w.extent[1];
    mpfr_t sum, value;
    mpfr_inits2(precision, sum, value, (mpfr_ptr)NULL);
    for (int64_t i = 0; i < y->count; i++) {
        double w[ORACLE_CONV1D_MAX_TAPS], x[ORACLE_CONV1D_MAX_TAPS], ulps = 1;
        oracle_conv1d_window(args, i / channels, i % channels, w, x);
        oracle_mpfr_dot(sum, w, x, taps);
        mpfr_set(value, sum, MPFR_RNDN);
        if (args->silu) {
            oracle_mpfr_sigmoid(value, sum);
            mpfr_mul(value, value, sum, MPFR_RNDN);
            ulps = 4 + 2 * fmin(fabs(mpfr_get_d(sum, MPFR_RNDN)), 0x1p40);
        }
        oracle_mpfr_result(value, ulps, &y->value[i], &y->own[i]);
    }
    mpfr_clears(sum, value, (mpfr_ptr)NULL);
    oracle_conv1d_state(args, &outputs[1]);
    return ASSAY_OK;
}
