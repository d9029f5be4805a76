/* SPDX-License-Identifier: MIT
 *
 * Ball arithmetic: every ball must hold the exact result (MPFR, 256 bits), whatever exact operands
 * its operands hold, and must not be much wider than that takes.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "real.h"
#include "test_draw.h"

#define DRAWS 100000
#define BITS  256

typedef int reference_unary(mpfr_t y, const mpfr_t x);
typedef int reference_binary(mpfr_t y, const mpfr_t a, const mpfr_t b);

static int reference_sqrt(mpfr_t y, const mpfr_t x)
{
    return mpfr_sqrt(y, x, MPFR_RNDN);
}
static int reference_exp(mpfr_t y, const mpfr_t x)
{
    return mpfr_exp(y, x, MPFR_RNDN);
}
static int reference_log1p(mpfr_t y, const mpfr_t x)
{
    return mpfr_log1p(y, x, MPFR_RNDN);
}
static int reference_sin(mpfr_t y, const mpfr_t x)
{
    return mpfr_sin(y, x, MPFR_RNDN);
}
static int reference_cos(mpfr_t y, const mpfr_t x)
{
    return mpfr_cos(y, x, MPFR_RNDN);
}
static int reference_sigmoid(mpfr_t y, const mpfr_t x)
{
    oracle_mpfr_sigmoid(y, x);
    return 0;
}
static int reference_silu(mpfr_t y, const mpfr_t x)
{
    oracle_mpfr_sigmoid(y, x);
    return mpfr_mul(y, x, y, MPFR_RNDN);
}
static int reference_softplus(mpfr_t y, const mpfr_t x)
{
    oracle_mpfr_softplus(y, x);
    return 0;
}
static int reference_add(mpfr_t y, const mpfr_t a, const mpfr_t b)
{
    return mpfr_add(y, a, b, MPFR_RNDN);
}
static int reference_sub(mpfr_t y, const mpfr_t a, const mpfr_t b)
{
    return mpfr_sub(y, a, b, MPFR_RNDN);
}
static int reference_mul(mpfr_t y, const mpfr_t a, const mpfr_t b)
{
    return mpfr_mul(y, a, b, MPFR_RNDN);
}
static int reference_div(mpfr_t y, const mpfr_t a, const mpfr_t b)
{
    return mpfr_div(y, a, b, MPFR_RNDN);
}

/* |y - v|, rounded down: at least what a bound may not be below. */
static double distance(const mpfr_t y, double v)
{
    mpfr_t d;
    mpfr_init2(d, BITS);
    mpfr_sub_d(d, y, v, MPFR_RNDN);
    double result = fabs(mpfr_get_d(d, MPFR_RNDZ));
    mpfr_clear(d);
    return result;
}

/* The exact operand at one end of the ball: side -1, 0 or 1. 256 bits hold it for the e drawn. */
static void set_end(mpfr_t x, struct ball a, int side)
{
    mpfr_set_d(x, a.e, MPFR_RNDN);
    mpfr_mul_si(x, x, side, MPFR_RNDN);
    mpfr_add_d(x, x, a.v, MPFR_RNDN);
}

/* A ball at v: half are exact, most errors relative and small, some as large as v. */
static struct ball draw_ball(uint64_t *state, double v)
{
    switch (draw_bits(state) % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
        return ball_exact(v);
    case 4:
        return ball_make(v, fabs(v) * ldexp(draw_unit(state), -1));
    default:
        return ball_make(v, fabs(v) * ldexp(draw_unit(state), -(int)(draw_bits(state) % 60)));
    }
}

/* What a ball may be: four times what the operands' ends move the result (one half of a ball may
 * be that much flatter than the other), 8 ulps, and `tinies` smallest subnormals for the
 * underflow that each operation inside allows for. */
static double widest(double moved, double v, double tinies)
{
    return 4 * moved + 8 * draw_ulp(v) + tinies * DBL_TRUE_MIN;
}

/* Counts of one sweep, and the numbers it computes with. */
struct tally {
    int64_t checked, widths;
    mpfr_t x, y, z;
};

static void begin(struct tally *tally)
{
    tally->checked = tally->widths = 0;
    mpfr_inits2(BITS, tally->x, tally->y, tally->z, (mpfr_ptr)0);
}

static void end(struct tally *tally, const char *name)
{
    cr_assert(tally->checked >= DRAWS && tally->widths >= DRAWS / 2, "%s: %ld checked, %ld wide",
              name, (long)tally->checked, (long)tally->widths);
    mpfr_clears(tally->x, tally->y, tally->z, (mpfr_ptr)0);
}

static void check_binary(const char *name, struct ball a, struct ball b, struct ball got,
                         reference_binary *reference, struct tally *tally)
{
    if (!isfinite(got.v)) {
        cr_assert_eq(got.e, 0);
        return;
    }
    double moved = 0;
    for (int i = -1; i <= 1; i += a.e > 0 ? 1 : 2) {
        for (int j = -1; j <= 1; j += b.e > 0 ? 1 : 2) {
            set_end(tally->x, a, i);
            set_end(tally->y, b, j);
            reference(tally->z, tally->x, tally->y);
            double error = distance(tally->z, got.v);
            if (!mpfr_nan_p(tally->z)) {
                cr_assert(error <= got.e, "%s([%a, %a], [%a, %a]) = [%a, %a] is off by %a", name,
                          a.v, a.e, b.v, b.e, got.v, got.e, error);
                moved = fmax(moved, error);
            }
        }
    }
    tally->checked++;
    if (a.e == 0 && b.e == 0) {
        moved = 0; /* 8 ulps and nothing else */
    }
    double share = fmax(a.e / fabs(a.v), b.e / fabs(b.v));
    if (share <= 0.25) {
        cr_assert(got.e <= widest(moved, got.v, 4), "%s([%a, %a], [%a, %a]) = [%a, %a] moves %a",
                  name, a.v, a.e, b.v, b.e, got.v, got.e, moved);
        tally->widths++;
    }
}

/* Extreme exponents, near-cancellation, and operands of one size. */
static void draw_pair(uint64_t *state, double *a, double *b)
{
    switch (draw_bits(state) % 4) {
    case 0:
        *a = draw_scaled(state, -1074, 1023);
        *b = draw_scaled(state, -1074, 1023);
        break;
    case 1:
        *a = draw_scaled(state, -1074, 1023);
        *b = -*a * (1 + draw_scaled(state, -53, -1));
        break;
    case 2:
        *a = draw_scaled(state, -1074, -1000);
        *b = draw_scaled(state, -1074, -1000);
        break;
    default:
        *a = draw_scaled(state, -20, 20);
        *b = draw_scaled(state, -20, 20);
        break;
    }
}

Test(ball, arithmetic_holds_the_exact_result)
{
    static const struct {
        const char *name;
        struct ball (*ball)(struct ball a, struct ball b);
        reference_binary *reference;
    } ops[] = {{"add", ball_add, reference_add},
               {"sub", ball_sub, reference_sub},
               {"mul", ball_mul, reference_mul},
               {"div", ball_div, reference_div}};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        uint64_t state = 100 + k;
        struct tally tally;
        begin(&tally);
        for (int i = 0; i < DRAWS * 5 / 4; i++) {
            double v, w;
            draw_pair(&state, &v, &w);
            struct ball a = draw_ball(&state, v);
            struct ball b = draw_ball(&state, w);
            if (!isfinite(a.v) || !isfinite(b.v) || a.v == 0 || b.v == 0) {
                continue;
            }
            check_binary(ops[k].name, a, b, ops[k].ball(a, b), ops[k].reference, &tally);
        }
        end(&tally, ops[k].name);
    }
}

struct function {
    const char *name;
    struct ball (*ball)(struct ball a);
    reference_unary *reference;
    double (*draw)(uint64_t *state);
    double pole;   /* where the slope is infinite, 0 if nowhere */
    double tinies; /* see widest() */
};

static void check_unary(const struct function *op, struct ball a, struct tally *tally)
{
    struct ball got = op->ball(a);
    if (!isfinite(got.v)) {
        cr_assert_eq(got.e, 0);
        return;
    }
    double moved = 0;
    for (int i = -1; i <= 1; i += a.e > 0 ? 1 : 3) {
        set_end(tally->x, a, i);
        op->reference(tally->y, tally->x);
        if (mpfr_nan_p(tally->y)) {
            continue; /* outside the domain */
        }
        double error = distance(tally->y, got.v);
        cr_assert(error <= got.e, "%s([%a, %a]) = [%a, %a] is off by %a", op->name, a.v, a.e, got.v,
                  got.e, error);
        moved = fmax(moved, error);
    }
    tally->checked++;
    if (a.e == 0) {
        moved = 0;
    }
    if (a.e <= 0.5 && a.e <= fabs(a.v) / 4 && a.e <= fabs(a.v - op->pole) / 4) {
        cr_assert(got.e <= widest(moved, got.v, op->tinies), "%s([%a, %a]) = [%a, %a] moves %a",
                  op->name, a.v, a.e, got.v, got.e, moved);
        tally->widths++;
    }
}

static double draw_positive(uint64_t *state)
{
    return fabs(draw_scaled(state, -1074, 1023));
}

/* Beyond overflow and underflow of exp, around 0, and everything. */
static double draw_exponent(uint64_t *state)
{
    switch (draw_bits(state) % 4) {
    case 0:
        return draw_between(state, -760, 720);
    case 1:
        return draw_between(state, -746, -700);
    case 2:
        return draw_scaled(state, -1074, 1023);
    default:
        return draw_scaled(state, -30, 5);
    }
}

static double draw_above_minus_one(uint64_t *state)
{
    switch (draw_bits(state) % 4) {
    case 0:
        return -1 + ldexp(1 + draw_unit(state), -1 - (int)(draw_bits(state) % 52));
    case 1:
        return draw_positive(state);
    case 2:
        return draw_scaled(state, -1074, -2);
    default:
        return draw_between(state, -0.9, 10);
    }
}

static double draw_eighth_turn(uint64_t *state)
{
    return draw_bits(state) & 1 ? draw_between(state, -0.7854, 0.7854)
                                : draw_scaled(state, -60, -2);
}

Test(ball, functions_hold_the_exact_result)
{
    /* silu: the sigmoid's tinies, times up to 760. */
    static const struct function ops[] = {
        {"sqrt", ball_sqrt, reference_sqrt, draw_positive, 0, 4},
        {"exp", ball_exp, reference_exp, draw_exponent, 0, 4},
        {"log1p", ball_log1p, reference_log1p, draw_above_minus_one, -1, 4},
        {"sigmoid", ball_sigmoid, reference_sigmoid, draw_exponent, 0, 30},
        {"silu", ball_silu, reference_silu, draw_exponent, 0, 40000},
        {"softplus", ball_softplus, reference_softplus, draw_exponent, 0, 30}};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        uint64_t state = 200 + k;
        struct tally tally;
        begin(&tally);
        for (int i = 0; i < DRAWS * 5 / 4; i++) {
            check_unary(&ops[k], draw_ball(&state, ops[k].draw(&state)), &tally);
        }
        end(&tally, ops[k].name);
    }
}

/* The assumption of ball.c about libm: one ulp. */
Test(ball, libm_is_within_one_ulp)
{
    static const struct {
        const char *name;
        double (*libm)(double x);
        reference_unary *reference;
        double (*draw)(uint64_t *state);
    } functions[] = {{"exp", exp, reference_exp, draw_exponent},
                     {"log1p", log1p, reference_log1p, draw_above_minus_one},
                     {"sin", sin, reference_sin, draw_eighth_turn},
                     {"cos", cos, reference_cos, draw_eighth_turn}};
    mpfr_t x;
    mpfr_init2(x, 128);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        uint64_t state = 300 + k;
        double worst = 0;
        for (int i = 0; i < DRAWS * 5 / 4; i++) {
            double v = functions[k].draw(&state);
            double got = functions[k].libm(v);
            mpfr_set_d(x, v, MPFR_RNDN);
            functions[k].reference(x, x);
            double nearest = mpfr_get_d(x, MPFR_RNDN);
            if (!isfinite(got) || !isfinite(nearest)) {
                continue;
            }
            double ulp = fabs(nearest) - nextafter(fabs(nearest), 0);
            double error = distance(x, got) / (ulp > 0 ? ulp : DBL_TRUE_MIN);
            worst = fmax(worst, error);
            cr_assert(error <= 1, "%s(%a) is off by %g ulps", functions[k].name, v, error);
        }
        printf("libm %s: at most %.3f ulps\n", functions[k].name, worst);
    }
    mpfr_clear(x);
}

static void check_value(const char *what, struct ball got, double v)
{
    cr_assert(isnan(v) ? isnan(got.v) : got.v == v, "%s gives %g", what, got.v);
    cr_assert(got.e >= 0 && (isfinite(v) || got.e == 0), "%s has e %g", what, got.e);
}

Test(ball, specials_follow_ieee)
{
    struct ball inf = ball_exact(INFINITY), minus = ball_exact(-INFINITY), nan = ball_exact(NAN);
    struct ball one = ball_make(1, 0x1p-10), zero = ball_exact(0), huge = ball_make(1e308, 1);
    check_value("inf - inf", ball_sub(inf, inf), NAN);
    check_value("inf + 1", ball_add(inf, one), INFINITY);
    check_value("overflow", ball_add(huge, huge), INFINITY);
    check_value("0 inf", ball_mul(zero, inf), NAN);
    check_value("overflow", ball_mul(huge, huge), INFINITY);
    check_value("NaN 0", ball_mul(nan, zero), NAN);
    check_value("1 / inf", ball_div(one, inf), 0);
    check_value("inf / inf", ball_div(inf, inf), NAN);
    check_value("1 / 0", ball_div(one, zero), INFINITY);
    check_value("0 / 0", ball_div(zero, zero), NAN);
    check_value("sqrt inf", ball_sqrt(inf), INFINITY);
    check_value("sqrt -1", ball_sqrt(ball_exact(-1)), NAN);
    check_value("exp inf", ball_exp(inf), INFINITY);
    check_value("exp -inf", ball_exp(minus), 0);
    check_value("log1p -1", ball_log1p(ball_exact(-1)), -INFINITY);
    check_value("log1p inf", ball_log1p(inf), INFINITY);
    check_value("sigmoid inf", ball_sigmoid(inf), 1);
    check_value("sigmoid -inf", ball_sigmoid(minus), 0);
    check_value("silu inf", ball_silu(inf), INFINITY);
    check_value("silu -inf", ball_silu(minus), NAN);
    check_value("softplus inf", ball_softplus(inf), INFINITY);
    check_value("softplus -inf", ball_softplus(minus), 0);
    struct ball (*unary[])(struct ball) = {ball_sqrt,    ball_exp,  ball_log1p,
                                           ball_sigmoid, ball_silu, ball_softplus};
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        check_value("f(NaN)", unary[i](nan), NAN);
    }
    cr_assert_eq(ball_div(one, ball_make(1, 2)).e, INFINITY, "the divisor may be 0");
    cr_assert_eq(ball_mul(ball_make(0, 1), ball_make(1, INFINITY)).e, INFINITY);
    cr_assert_eq(ball_add(zero, zero).e, 0);
    cr_assert_eq(ball_mul(zero, one).e, 0);
    cr_assert_eq(ball_div(zero, one).e, 0);
    /* A computed variance may be just below 0 while the exact one is not. */
    struct ball root = ball_sqrt(ball_make(-0x1p-60, 0x1p-58));
    cr_assert(root.v == 0 && root.e >= 0x1p-29 && root.e < 0x1.1p-29);
}

static void check_rotation(int64_t position, double theta, int64_t pair, int64_t dim, mpfr_t c,
                           mpfr_t s)
{
    struct ball cosine, sine;
    ball_rotation(position, theta, pair, dim, &cosine, &sine);
    oracle_mpfr_rotation(c, s, position, theta, pair, dim);
    double off_c = distance(c, cosine.v);
    double off_s = distance(s, sine.v);
    cr_assert(off_c <= cosine.e && off_s <= sine.e,
              "position %ld, theta %g, pair %ld of %ld: off by %g of %g, %g of %g", (long)position,
              theta, (long)pair, (long)dim, off_c, cosine.e, off_s, sine.e);
    cr_assert(cosine.e < 1e-15 && sine.e < 1e-15, "position %ld: %g, %g", (long)position, cosine.e,
              sine.e);
}

Test(ball, rotation)
{
    static const struct {
        double theta;
        int64_t dim;
    } settings[] = {{10000, 64}, {1e7, 64}, {1e7, 256}, {5e5, 128}, {2, 10}, {0.25, 32}, {1, 8}};
    uint64_t state = 400;
    mpfr_t c, s;
    mpfr_inits2(BITS, c, s, (mpfr_ptr)0);
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        for (int64_t pair = 0; pair < settings[k].dim / 2; pair++) {
            for (int power = 0; power <= 24; power++) {
                int64_t two = INT64_C(1) << power;
                check_rotation(two - 1, settings[k].theta, pair, settings[k].dim, c, s);
                check_rotation(two, settings[k].theta, pair, settings[k].dim, c, s);
                int64_t within = (int64_t)(draw_bits(&state) % (uint64_t)two);
                check_rotation(within, settings[k].theta, pair, settings[k].dim, c, s);
            }
            check_rotation(-12345, settings[k].theta, pair, settings[k].dim, c, s);
            check_rotation(INT64_MAX, settings[k].theta, pair, settings[k].dim, c, s);
        }
    }
    /* Pairs 256 apart share a place in the cache. */
    for (int64_t pair = 0; pair < 2048; pair += 128) {
        check_rotation(1000003, 10000, pair % 512, 1024, c, s);
    }
    mpfr_clears(c, s, (mpfr_ptr)0);
    struct ball cosine, sine;
    ball_rotation(0, 1e7, 3, 64, &cosine, &sine);
    cr_assert(cosine.v == 1 && cosine.e == 0 && sine.v == 0 && sine.e == 0);
    double wrong[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        ball_rotation(5, wrong[i], 3, 64, &cosine, &sine);
        cr_assert(isnan(cosine.v) && isnan(sine.v));
    }
}
