/* SPDX-License-Identifier: MIT
 *
 * kv_append with MPFR's rounding: a second opinion on the conversion into the cache's format,
 * subnormals and overflow included. Precision does not enter: the rounding is the format's.
 */
#include "kv_append_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

/* x rounded to the format by MPFR: digits = significant bits, or fewer below the normal range. */
static double rounded(double x, enum assay_dtype dtype)
{
    if (!isfinite(x) || x == 0)
        return x;
    int digits = dtype == ASSAY_F32 ? 24 : 8;
    const int min_exponent = -125; /* of the smallest normal as 0.1b * 2^e; both formats share it */
    mpfr_t value;
    mpfr_init2(value, 53);
    mpfr_set_d(value, x, MPFR_RNDN);
    long missing = min_exponent - (long)mpfr_get_exp(value);
    double result;
    if (missing >= digits) {
        /* Below the smallest subnormal 2^(min_exponent - digits): to it or to 0, half to even. */
        double smallest = ldexp(1, min_exponent - digits);
        result = fabs(x) > smallest / 2 ? copysign(smallest, x) : copysign(0, x);
    } else {
        mpfr_prec_round(value, digits - (missing > 0 ? missing : 0), MPFR_RNDN);
        result = mpfr_get_exp(value) > 128 ? copysign(INFINITY, x) : mpfr_get_d(value, MPFR_RNDN);
    }
    mpfr_clear(value);
    return result;
}

static void fill(const struct assay_tensor *rows, const struct assay_tensor *cache, int64_t start,
                 struct oracle_output *out)
{
    int64_t heads = cache->extent[1], width = cache->extent[2];
    for (int64_t i = 0; i < out->count; i++) {
        int64_t slot = i / (heads * width);
        out->value[i] = oracle_get(cache, i);
        out->own[i] = 0;
        if (slot >= start && slot - start < rows->extent[0]) {
            int64_t in_slot = i % (heads * width);
            double x = oracle_get(rows, (slot - start) * heads * width + in_slot);
            out->value[i] = rounded(x, cache->dtype);
        }
    }
}

assay_status oracle_kv_append_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_kv_append_args *a = args;
    (void)precision;
    fill(&a->k, &a->k_cache, effective_start(a), &outputs[0]);
    fill(&a->v, &a->v_cache, effective_start(a), &outputs[1]);
    return ASSAY_OK;
}
