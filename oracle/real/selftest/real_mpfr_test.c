/* SPDX-License-Identifier: MIT
 *
 * The MPFR helpers: exact sums, second formulas, and the error they state.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "real.h"
#include "test_draw.h"

Test(mpfr, sums_are_exact_before_their_rounding)
{
    mpfr_t sum;
    mpfr_init2(sum, 53);
    double x[] = {0x1p1000, 3, -0x1p1000, 0x1p-1074};
    double y[] = {0x1p1000, 0x1p-1074, 0x1p1000, 0x1p-1074};
    oracle_mpfr_dot(sum, x, y, 3);
    cr_assert_eq(mpfr_cmp_ui_2exp(sum, 3, -1074), 0);
    oracle_mpfr_dot(sum, x, y, 4);
    cr_assert(mpfr_cmp_ui_2exp(sum, 3, -1074) == 0, "2^-2148 is below half of the last place");
    oracle_mpfr_dot(sum, x + 3, y + 3, 1);
    cr_assert_eq(mpfr_cmp_ui_2exp(sum, 1, -2148), 0);
    oracle_mpfr_dot(sum, x, y, 0);
    cr_assert(mpfr_zero_p(sum));
    x[1] = INFINITY;
    oracle_mpfr_dot(sum, x, y, 3);
    cr_assert(mpfr_inf_p(sum) && mpfr_sgn(sum) > 0);
    y[1] = 0;
    oracle_mpfr_dot(sum, x, y, 3);
    cr_assert(mpfr_nan_p(sum));
    mpfr_clear(sum);
}

/* got is within `ulps` of exact, which has many more bits. */
static void check_ulps(const mpfr_t got, const mpfr_t exact, double ulps, double x)
{
    mpfr_t error;
    mpfr_init2(error, 53);
    mpfr_sub(error, got, exact, MPFR_RNDA);
    mpfr_mul_2si(error, error, (long)(mpfr_get_prec(got) - mpfr_get_exp(exact)), MPFR_RNDA);
    cr_assert(fabs(mpfr_get_d(error, MPFR_RNDA)) <= ulps, "x = %a: %g ulps", x,
              mpfr_get_d(error, MPFR_RNDA));
    mpfr_clear(error);
}

/* sigmoid as (1 + tanh(x/2)) / 2 and softplus as log(1 + exp x), with bits to spare for what they
 * cancel. */
Test(mpfr, second_formulas)
{
    uint64_t state = 21;
    mpfr_t x, y, z;
    mpfr_init2(x, 53);
    mpfr_init2(y, 80);
    mpfr_init2(z, 4000);
    for (int i = 0; i < 400; i++) {
        double v = i % 2 == 0 ? draw_between(&state, -800, 800) : draw_scaled(&state, -1000, 9);
        mpfr_set_d(x, v, MPFR_RNDN);
        oracle_mpfr_sigmoid(y, x);
        mpfr_div_2ui(z, x, 1, MPFR_RNDN);
        mpfr_tanh(z, z, MPFR_RNDN);
        mpfr_add_ui(z, z, 1, MPFR_RNDN);
        mpfr_div_2ui(z, z, 1, MPFR_RNDN);
        check_ulps(y, z, 0.501, v);
        oracle_mpfr_softplus(y, x);
        mpfr_exp(z, x, MPFR_RNDN);
        mpfr_add_ui(z, z, 1, MPFR_RNDN);
        mpfr_log(z, z, MPFR_RNDN);
        check_ulps(y, z, 0.501, v);
    }
    double huge[] = {1e300, -1e300, INFINITY, -INFINITY};
    double sigmoids[] = {1, 0, 1, 0};
    double softpluses[] = {1e300, 0, INFINITY, 0};
    for (int i = 0; i < 4; i++) {
        mpfr_set_d(x, huge[i], MPFR_RNDN);
        oracle_mpfr_sigmoid(y, x);
        cr_assert_eq(mpfr_get_d(y, MPFR_RNDN), sigmoids[i]);
        oracle_mpfr_softplus(y, x);
        cr_assert_eq(mpfr_get_d(y, MPFR_RNDN), softpluses[i]);
    }
    mpfr_set_nan(x);
    oracle_mpfr_sigmoid(y, x);
    cr_assert(mpfr_nan_p(y));
    oracle_mpfr_softplus(y, x);
    cr_assert(mpfr_nan_p(y));
    mpfr_clears(x, y, z, (mpfr_ptr)0);
}

/* Angle position * exp2(-(2i/R) log2 theta), at 2,000 bits. */
Test(mpfr, rotation_agrees_with_a_second_formula)
{
    uint64_t state = 23;
    double thetas[] = {10000, 1e7, 5e5, 0.01, 1};
    mpfr_t c, s, t, u;
    mpfr_inits2(100, c, s, (mpfr_ptr)0);
    mpfr_inits2(2000, t, u, (mpfr_ptr)0);
    for (int i = 0; i < 300; i++) {
        double theta = thetas[i % 5];
        int64_t dim = 64;
        int64_t pair = (int64_t)(draw_bits(&state) % 32);
        int64_t position = (int64_t)(draw_bits(&state) >> (1 + draw_bits(&state) % 63));
        oracle_mpfr_rotation(c, s, position, theta, pair, dim);
        mpfr_set_d(t, theta, MPFR_RNDN);
        mpfr_log2(t, t, MPFR_RNDN);
        mpfr_mul_d(t, t, -(double)pair / 32, MPFR_RNDN); /* exact: 2i/64 */
        mpfr_exp2(t, t, MPFR_RNDN);
        mpfr_mul_si(t, t, position, MPFR_RNDN);
        mpfr_cos(u, t, MPFR_RNDN);
        check_ulps(c, u, 0.501, (double)position);
        mpfr_sin(u, t, MPFR_RNDN);
        if (!mpfr_zero_p(u)) {
            check_ulps(s, u, 0.501, (double)position);
        }
    }
    mpfr_clears(c, s, t, u, (mpfr_ptr)0);
}

Test(mpfr, result_states_its_error)
{
    double value = -1, own = -1;
    mpfr_t x;
    mpfr_init2(x, 100);
    mpfr_set_ui(x, 3, MPFR_RNDN);
    oracle_mpfr_result(x, 0, &value, &own);
    cr_assert(value == 3 && own == 0);
    oracle_mpfr_result(x, 2, &value, &own);
    cr_assert(value == 3 && own == 0x1p-97, "2 ulps of 100 bits at 3: %a", own);
    mpfr_set_ui(x, 1, MPFR_RNDN);
    mpfr_div_ui(x, x, 3, MPFR_RNDN);
    oracle_mpfr_result(x, 1, &value, &own);
    cr_assert_eq(value, 1.0 / 3);
    cr_assert(own > 0x1.55p-56 && own < 0x1.56p-56, "1/3 is 2^-54/3 from its binary64: %a", own);
    mpfr_set_ui_2exp(x, 5, -1076, MPFR_RNDN);
    oracle_mpfr_result(x, 1, &value, &own);
    cr_assert(value == DBL_TRUE_MIN && own == DBL_TRUE_MIN, "1.25 of the smallest subnormal");
    mpfr_set_ui_2exp(x, 1, 1024, MPFR_RNDN);
    oracle_mpfr_result(x, 1, &value, &own);
    cr_assert(value == INFINITY && own == 0);
    mpfr_set_nan(x);
    oracle_mpfr_result(x, 1, &value, &own);
    cr_assert(isnan(value) && own == 0);
    mpfr_set_zero(x, 1);
    oracle_mpfr_result(x, 0, &value, &own);
    cr_assert(value == 0 && own == 0);
    oracle_mpfr_result(x, 1, &value, &own);
    cr_assert(value == 0 && own == DBL_TRUE_MIN);
    mpfr_clear(x);
}
