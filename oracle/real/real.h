/* SPDX-License-Identifier: MIT
 *
 * Arithmetic of the FP64 oracle: values that carry a proven bound on their own error, and dot
 * products with the sum of magnitudes that bounds need.
 */
#ifndef ORACLE_REAL_H
#define ORACLE_REAL_H

#include <stddef.h>
#include <stdint.h>

#include <gmp.h>
#include <mpfr.h>

/* exact result in [v - e, v + e]. All operations round e upwards far enough to stay a bound; an
 * infinite or NaN v has e = 0 and follows IEEE 754. */
struct ball {
    double v;
    double e;
};

struct ball ball_exact(double v);
struct ball ball_make(double v, double e);
struct ball ball_add(struct ball a, struct ball b);
struct ball ball_sub(struct ball a, struct ball b);
struct ball ball_mul(struct ball a, struct ball b);
struct ball ball_div(struct ball a, struct ball b); /* b's interval may not contain 0 */
struct ball ball_sqrt(struct ball a);               /* a >= 0 */
struct ball ball_exp(struct ball a);
struct ball ball_log1p(struct ball a); /* a > -1 */
struct ball ball_sigmoid(struct ball a);
struct ball ball_silu(struct ball a);
struct ball ball_softplus(struct ball a);
/* cos and sin of position * theta^(-2i/R), formed so that no digit of the angle is lost: e is below
 * 1e-15 for every position. theta > 0 and finite, else both are NaN. */
void ball_rotation(int64_t position, double theta, int64_t pair, int64_t rotary_dim,
                   struct ball *cosine, struct ball *sine);

/* sum a_i b_i with its own error bound, and (magnitude != NULL) sum |a_i b_i|, rounded upwards so
 * that it may be used in bounds. Vectorised: at least 0.3 billion multiply-adds a second and core.
 * n <= 0 gives 0. */
struct ball oracle_dot(const double *a, const double *b, int64_t n, double *magnitude);
/* sum a_i and sum |a_i| */
struct ball oracle_sum(const double *a, int64_t n, double *magnitude);

/* MPFR helpers; all values have the precision of their destination and are within one ulp of it.
 * The sum is exact before its one rounding; b == NULL sums a alone. */
void oracle_mpfr_dot(mpfr_t sum, const double *a, const double *b, int64_t n);
void oracle_mpfr_sigmoid(mpfr_t y, const mpfr_t x);
void oracle_mpfr_softplus(mpfr_t y, const mpfr_t x);
void oracle_mpfr_rotation(mpfr_t cosine, mpfr_t sine, int64_t position, double theta, int64_t pair,
                          int64_t rotary_dim);
/* Nearest binary64 of x into *value, and a bound on the distance to the exact result into *own,
 * given that x has at most `ulps` units in the last place of error at its precision. */
void oracle_mpfr_result(const mpfr_t x, double ulps, double *value, double *own);
/* x, finite, rounded once into a format of `digits` significant bits with binary32's exponents
 * (f32: 24, bf16: 8): nearest, ties to even; overflow gives an infinity. A zero comes without its
 * sign. */
double oracle_mpfr_round(const mpfr_t x, int digits);

#endif
