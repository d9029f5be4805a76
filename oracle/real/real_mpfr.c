/* SPDX-License-Identifier: MIT
 *
 * MPFR building blocks of the ops' high-precision oracles. Each result is within one ulp of its
 * destination's precision: the steps before the last rounding have GUARD bits more, and none of
 * them cancels.
 */
#include "real.h"

#include <float.h>
#include <math.h>

#define GUARD 64

static mpfr_prec_t working_precision(mpfr_srcptr y, mpfr_srcptr x)
{
    mpfr_prec_t precision = mpfr_get_prec(y) + GUARD;
    return mpfr_get_prec(x) > precision ? mpfr_get_prec(x) : precision;
}

/* Bits that hold every partial sum of the products: from the last place of the smallest to the
 * carries of the largest. */
static mpfr_prec_t exact_precision(const double *a, const double *b, int64_t n)
{
    int low = 2 * DBL_MAX_EXP;
    int high = -low;
    for (int64_t i = 0; i < n; i++) {
        double x = a[i];
        double y = b != NULL ? b[i] : 1;
        if (x == 0 || y == 0 || !isfinite(x) || !isfinite(y)) {
            continue;
        }
        int exponent = ilogb(x) + ilogb(y);
        low = exponent < low ? exponent : low;
        high = exponent > high ? exponent : high;
    }
    /* A product of 53-bit numbers is a multiple of 2^(exponent - 104) below 2^(exponent + 2); n of
     * them carry at most 63 bits more. */
    return high < low ? 128 : high - low + 106 + 64;
}

/* The sum is formed exactly and rounded once, so that cancellation costs nothing. */
void oracle_mpfr_dot(mpfr_t sum, const double *a, const double *b, int64_t n)
{
    mpfr_t total, product, factor;
    mpfr_init2(total, exact_precision(a, b, n));
    mpfr_init2(product, 2 * DBL_MANT_DIG);
    mpfr_init2(factor, DBL_MANT_DIG);
    mpfr_set_zero(total, 1);
    for (int64_t i = 0; i < n; i++) {
        mpfr_set_d(product, a[i], MPFR_RNDN);
        if (b != NULL) {
            mpfr_set_d(factor, b[i], MPFR_RNDN);
            mpfr_mul(product, product, factor, MPFR_RNDN);
        }
        mpfr_add(total, total, product, MPFR_RNDN);
    }
    mpfr_set(sum, total, MPFR_RNDN);
    mpfr_clears(total, product, factor, (mpfr_ptr)0);
}

/* 1 / (1 + exp(-x)): where exp(-x) is lost beside 1 it is below the last place, and where it is
 * large nothing is lost. */
void oracle_mpfr_sigmoid(mpfr_t y, const mpfr_t x)
{
    mpfr_t t;
    mpfr_init2(t, working_precision(y, x));
    mpfr_neg(t, x, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* max(x, 0) + log1p(exp(-|x|)): both summands are positive. */
void oracle_mpfr_softplus(mpfr_t y, const mpfr_t x)
{
    mpfr_t t;
    mpfr_init2(t, working_precision(y, x));
    mpfr_abs(t, x, MPFR_RNDN);
    mpfr_neg(t, t, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_log1p(t, t, MPFR_RNDN);
    if (mpfr_nan_p(x) || mpfr_sgn(x) <= 0) {
        mpfr_set(y, t, MPFR_RNDN);
    } else {
        mpfr_add(y, x, t, MPFR_RNDN);
    }
    mpfr_clear(t);
}

/* The angle's absolute error must stay below the last place of cos and sin although the angle may
 * have 63 bits before the point from the position, and 1,100 more from a theta below 1. A binary64
 * theta and an integer position come no nearer than about 2^-90 to a zero of cos or sin, which
 * GUARD and the 64 bits for the exponential's argument cover. */
void oracle_mpfr_rotation(mpfr_t cosine, mpfr_t sine, int64_t position, double theta, int64_t pair,
                          int64_t rotary_dim)
{
    mpfr_prec_t precision = mpfr_get_prec(cosine);
    if (mpfr_get_prec(sine) > precision) {
        precision = mpfr_get_prec(sine);
    }
    mpfr_t angle;
    mpfr_init2(angle, precision + GUARD + 64 + 64 + (theta >= 1 ? 0 : 1200));
    mpfr_set_d(angle, theta, MPFR_RNDN);
    mpfr_log(angle, angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, -2 * (long)pair, MPFR_RNDN);
    mpfr_div_si(angle, angle, (long)rotary_dim, MPFR_RNDN);
    mpfr_exp(angle, angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, (long)position, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
    mpfr_clear(angle);
}

void oracle_mpfr_result(const mpfr_t x, double ulps, double *value, double *own)
{
    *value = mpfr_get_d(x, MPFR_RNDN);
    *own = 0;
    if (!isfinite(*value)) {
        return;
    }
    if (mpfr_zero_p(x)) {
        /* No ulp to count in. An inexact zero is an underflow of MPFR, far below binary64. */
        *own = ulps > 0 ? DBL_TRUE_MIN : 0;
        return;
    }
    mpfr_t error, distance;
    mpfr_init2(error, DBL_MANT_DIG);
    mpfr_init2(distance, DBL_MANT_DIG);
    mpfr_sub_d(distance, x, *value, MPFR_RNDA);
    mpfr_abs(distance, distance, MPFR_RNDN);
    mpfr_set_d(error, ulps, MPFR_RNDN);
    mpfr_mul_2si(error, error, (long)(mpfr_get_exp(x) - mpfr_get_prec(x)), MPFR_RNDN);
    mpfr_add(error, error, distance, MPFR_RNDU);
    *own = mpfr_get_d(error, MPFR_RNDU);
    mpfr_clears(error, distance, (mpfr_ptr)0);
}

/* The grid of the format at x's place is 2^step; the number of its steps is rounded to an integer,
 * which is below 2^digits + 1 and so exact in binary64. */
double oracle_mpfr_round(const mpfr_t x, int digits)
{
    const long min_normal = -125; /* exponent of the smallest normal as 0.1b * 2^e */
    if (mpfr_zero_p(x))
        return 0;
    long exponent = (long)mpfr_get_exp(x);
    long step = (exponent > min_normal ? exponent : min_normal) - digits;
    mpfr_t steps;
    mpfr_init2(steps, mpfr_get_prec(x));
    mpfr_mul_2si(steps, x, -step, MPFR_RNDN);
    mpfr_rint(steps, steps, MPFR_RNDN);
    double value = ldexp(mpfr_get_d(steps, MPFR_RNDN), (int)step);
    mpfr_clear(steps);
    return fabs(value) >= 0x1p128 ? copysign(INFINITY, value) : value;
}
