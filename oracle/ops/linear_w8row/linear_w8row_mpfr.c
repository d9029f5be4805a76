/* SPDX-License-Identifier: MIT
 *
 * linear_w8row in MPFR: the exact sum of exact products, rounded once at `precision` bits.
 */
#include "linear_w8row_oracle.h"

#include <math.h>

#include "real.h"

assay_status oracle_linear_w8row_mpfr(const void *args, long precision,
                                      struct oracle_output *outputs)
{
    struct oracle_output *y = &outputs[0];
    struct oracle_w8row_operands o;
    bool good = oracle_w8row_operands_create(&o, args);
    mpfr_t sum;
    mpfr_init2(sum, precision);
    for (int64_t at = 0; good && at < y->count; at++) {
        int64_t t = at / o.columns, n = at % o.columns;
        oracle_mpfr_dot(sum, o.x + t * o.inner, o.w + n * o.inner, o.inner);
        double ulps = mpfr_zero_p(sum) ? 0 : 1; /* a zero is exact */
        oracle_mpfr_result(sum, ulps, &y->value[at], &y->own[at]);
        if (o.x_is_nan[t] || o.w_is_nan[n]) {
            y->value[at] = NAN;
            y->own[at] = 0;
        }
    }
    mpfr_clear(sum);
    oracle_w8row_operands_destroy(&o);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}
