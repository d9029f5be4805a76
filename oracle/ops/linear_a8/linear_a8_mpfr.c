/* SPDX-License-Identifier: MIT
 *
 * linear_a8 in MPFR: a number of binary32 is one of 24 bits, a rounding to binary32 an operation
 * whose destination has 24 bits. No magnitude here comes near the ends of binary32's range but
 * products x * inv that round to the integer 0 whatever their last bits are, and results beyond it,
 * which oracle_round makes infinite.
 */
#include "linear_a8_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

enum { BINARY32_DIGITS = 24 };

static double quantise_group(const double *x, int64_t count, int *codes, mpfr_t amax, mpfr_t t)
{
    bool is_finite = true;
    mpfr_set_str(amax, "1e-20", 10, MPFR_RNDN);
    for (int64_t i = 0; i < count; i++) {
        codes[i] = 0;
        is_finite = is_finite && isfinite(x[i]);
        mpfr_set_d(t, x[i], MPFR_RNDN);
        mpfr_abs(t, t, MPFR_RNDN);
        mpfr_max(amax, amax, t, MPFR_RNDN);
    }
    mpfr_div_ui(t, amax, 127, MPFR_RNDN);
    double scale = oracle_round(mpfr_get_d(t, MPFR_RNDN), ASSAY_F16);
    if (!is_finite || isinf(scale))
        return NAN;
    mpfr_ui_div(amax, 127, amax, MPFR_RNDN);
    for (int64_t i = 0; i < count; i++) {
        mpfr_set_d(t, x[i], MPFR_RNDN);
        mpfr_mul(t, t, amax, MPFR_RNDN);
        mpfr_rint(t, t, MPFR_RNDN);
        long code = mpfr_get_si(t, MPFR_RNDN);
        codes[i] = (int)(code > 127 ? 127 : code < -127 ? -127 : code);
    }
    return scale;
}

void oracle_a8_quantise_mpfr(const double *x, int64_t inner, int *codes, double *scales)
{
    mpfr_t amax, t;
    mpfr_inits2(BINARY32_DIGITS, amax, t, (mpfr_ptr)0);
    for (int64_t k = 0; k < inner; k += ORACLE_A8_GROUP) {
        int64_t count = inner - k < ORACLE_A8_GROUP ? inner - k : ORACLE_A8_GROUP;
        scales[k / ORACLE_A8_GROUP] = quantise_group(x + k, count, codes + k, amax, t);
    }
    mpfr_clears(amax, t, (mpfr_ptr)0);
}

assay_status oracle_linear_a8_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_linear_a8_args *a = args;
    int64_t rows = a->x.extent[0], columns = a->w.rows;
    struct oracle_a8_product p;
    bool good = oracle_a8_product_create(&p, a, oracle_a8_quantise_mpfr);
    mpfr_t acc, term;
    mpfr_init2(acc, BINARY32_DIGITS);
    mpfr_init2(term, precision);
    for (int64_t n = 0; good && n < columns; n++) {
        oracle_a8_product_take(&p, n);
        for (int64_t t = 0; t < rows; t++) {
            mpfr_set_zero(acc, 1);
            for (int64_t g = 0; g < p.groups; g++) {
                mpfr_set_d(term, oracle_a8_term(&p, t, g), MPFR_RNDN);
                mpfr_add(acc, acc, term, MPFR_RNDN);
            }
            if (a->residual.data != NULL) {
                mpfr_set_d(term, oracle_a8_residual(a, t, n), MPFR_RNDN);
                mpfr_add(acc, acc, term, MPFR_RNDN);
            }
            outputs[0].value[t * columns + n] = oracle_round(mpfr_get_d(acc, MPFR_RNDN), ASSAY_F32);
        }
    }
    mpfr_clear(acc);
    mpfr_clear(term);
    oracle_a8_product_destroy(&p);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}
