/* SPDX-License-Identifier: MIT
 *
 * Ball arithmetic in binary64, round to nearest.
 *
 * Notation: u = 2^-53, tiny = 2^-1074; a = [a.v - a.e, a.v + a.e] and the exact operand A is in it.
 *
 * Rounding of v.  fl(x) for x = a+b, a-b: |fl(x) - x| <= u |fl(x)|, also where fl(x) is subnormal
 * (such sums are exact). For a*b, a/b: |fl(x) - x| <= u |fl(x)| + tiny/2. sqrt: u |fl(x)|.
 *
 * Rounding of e.  e is formed from non-negative terms, so each operation loses at most a factor
 * (1 - u) and, if it is a product or quotient, tiny/2. `finish` multiplies by 1 + 16u and adds
 * 8 tiny, itself at a loss of (1 - u)^2 and tiny/2. Since (1 + 16u)(1 - u)^15 >= 1, every e here
 * may be formed by a chain of 13 relative roundings and lose 7 tiny to underflow; libm's 3u counts
 * as three. Each function says what it uses.
 *
 * libm.  exp, log1p, sin (|x| < 1) and cos (|x| < 1) are taken to be within one ulp, as the glibc
 * manual states for x86-64 and AArch64: at most 2u |result|, or tiny where the result is
 * subnormal. Half as much again is allowed for: 3u |result| + 2 tiny. oracle.ball measures it.
 */
#include "real.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "noise.h"

#define U    0x1p-53
#define TINY DBL_TRUE_MIN
#define LIBM (3 * U)

/* The ball at v with error e, e raised for its own roundings. */
static struct ball finish(double v, double e)
{
    if (!isfinite(v)) {
        return (struct ball){v, 0};
    }
    e = e * (1 + 16 * U) + 8 * TINY;
    return (struct ball){v, isnan(e) ? INFINITY : e}; /* NaN: 0 times an unbounded e */
}

/* At least exp(e) - 1: up to 1 the series is below e + e^2. Three roundings (libm: four). */
static double growth(double e)
{
    return e <= 1 ? e + e * e : exp(e) * (1 + 4 * U);
}

struct ball ball_exact(double v)
{
    return (struct ball){v, 0};
}

struct ball ball_make(double v, double e)
{
    if (!isfinite(v)) {
        return (struct ball){v, 0};
    }
    return (struct ball){v, isnan(e) ? INFINITY : fabs(e)};
}

/* |A + B - v| <= a.e + b.e + u|v|. Two roundings. A zero e is right only if the sum was exact: u|v|
 * vanishes only where v is 0 or subnormal, and there sums are exact. */
struct ball ball_add(struct ball a, struct ball b)
{
    double v = oracle_noisy(a.v + b.v);
    double e = a.e + b.e + U * fabs(v);
    return e == 0 ? ball_make(v, 0) : finish(v, e);
}

struct ball ball_sub(struct ball a, struct ball b)
{
    b.v = -b.v;
    return ball_add(a, b);
}

/* |A B - a.v b.v| <= |a.v| b.e + |b.v| a.e + a.e b.e. Four roundings, 2.5 tiny. */
struct ball ball_mul(struct ball a, struct ball b)
{
    double v = oracle_noisy(a.v * b.v);
    if ((a.v == 0 && a.e == 0) || (b.v == 0 && b.e == 0)) {
        return ball_make(v, 0);
    }
    return finish(v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e + U * fabs(v));
}

/* With Q = a.v / b.v: |A/B - Q| = |dA - Q dB| / |B| <= a.e / low + |Q| (b.e / low), where
 * low = |b.v| - b.e and |Q| <= |v| / (1 - u) + tiny. Eight roundings, two tiny; b.e / low may lose
 * tiny too, but times |v| that is nothing beside u|v|. */
struct ball ball_div(struct ball a, struct ball b)
{
    double v = oracle_noisy(a.v / b.v);
    if (!isfinite(v) || !isfinite(b.v)) {
        return ball_make(v, 0);
    }
    double low = fabs(b.v) - b.e;
    if (!(low > 0)) {
        return ball_make(v, INFINITY);
    }
    if (a.v == 0 && a.e == 0) {
        return ball_make(v, 0);
    }
    double spread = a.e / low;
    if (b.e > 0) {
        spread += (fabs(v) + TINY) * (b.e / low);
    }
    return finish(v, spread + U * fabs(v));
}

/* |sqrt A - sqrt a.v| = |dA| / (sqrt A + sqrt a.v) <= a.e / (sqrt(a.v - a.e) + v). A lower end
 * below 0 is cut: the exact operand is not negative. Five roundings. */
struct ball ball_sqrt(struct ball a)
{
    if (a.v < 0 && a.v + a.e >= 0) {
        return finish(0, sqrt(a.e));
    }
    double v = oracle_noisy(sqrt(a.v));
    if (!isfinite(v) || (a.v == 0 && a.e == 0)) {
        return ball_make(v, 0);
    }
    double low = a.v > a.e ? sqrt(a.v - a.e) : 0;
    double e = v > 0 ? a.e / (low + v) : sqrt(a.e);
    return finish(v, e + U * v);
}

/* |exp A - exp a.v| <= exp a.v (exp a.e - 1), and exp a.v <= v (1 + 3u) + 2 tiny. With growth:
 * at most eleven roundings; 2 tiny of libm and 1.5 of underflow. */
struct ball ball_exp(struct ball a)
{
    double v = oracle_noisy(exp(a.v));
    if (!isfinite(v) || isinf(a.v)) {
        return ball_make(v, 0);
    }
    double spread = a.e > 0 ? (v + 4 * TINY) * growth(a.e) : 0;
    return finish(v, spread + LIBM * v);
}

/* |log1p A - log1p a.v| <= a.e / (1 + a.v - a.e) by the mean value theorem; 1 + a.v is itself
 * rounded, so the divisor is taken lower by 2u (1 + a.v). Five roundings. */
struct ball ball_log1p(struct ball a)
{
    double v = oracle_noisy(log1p(a.v));
    if (!isfinite(v) || (a.v == 0 && a.e == 0)) {
        return ball_make(v, 0);
    }
    double spread = 0;
    if (a.e > 0) {
        double one = 1 + a.v;
        double low = one - a.e - 2 * U * one;
        spread = low > 0 ? a.e / low : INFINITY;
    }
    return finish(v, spread + LIBM * fabs(v));
}

/* With t = exp(-|x|) in (0, 1]: 1/(1 + t) or t/(1 + t), which never overflow and keep relative
 * accuracy in the lower tail. s' = s (1 - s) is at most 1/4, and both log s and log(1 - s) have
 * slopes within 1, so x.e moves s by at most min(x.e / 4, min(s, 1 - s) (exp x.e - 1)), and
 * min(s, 1 - s) <= t. */
struct ball ball_sigmoid(struct ball x)
{
    if (isnan(x.v)) {
        return x;
    }
    struct ball one = ball_exact(1);
    struct ball t = ball_exp(ball_exact(-fabs(x.v)));
    struct ball s = ball_div(x.v >= 0 ? one : t, ball_add(one, t));
    if (x.e > 0) {
        double spread = fmin(x.e / 4, (t.v + t.e) * growth(x.e)); /* fmin drops a NaN of 0 inf */
        s = finish(s.v, s.e + spread);
    }
    s.e = fmin(s.e, 1); /* both are in [0, 1] */
    return s;
}

/* x sigmoid(x); at -infinity NaN, as the formula gives in IEEE 754. From -760 down, |x| exp x is
 * less than 2^-1086, and |x| would only magnify the underflow of the sigmoid.
 *
 * Two bounds hold for what x.e does: that of the product, and by Taylor |f'(x.v)| x.e + x.e^2 / 4,
 * since |f''| <= 1/2. The second follows f into its minimum, where the product's cannot cancel.
 * f' = s + x s (1 - s); x (1 - s) and the sum are off by less than 16u (1 + |x|). */
struct ball ball_silu(struct ball x)
{
    if (isfinite(x.v) && x.v + x.e <= -760) {
        return (struct ball){-0.0, TINY};
    }
    struct ball y = ball_mul(x, ball_sigmoid(x));
    if (isfinite(y.v) && x.e > 0) {
        struct ball point = ball_exact(x.v);
        struct ball s = ball_sigmoid(point);
        double slope = fabs(1 + x.v * (1 - s.v)) + 16 * U * (1 + fabs(x.v));
        double spread = (s.v + s.e) * slope * x.e + x.e * x.e / 4;
        struct ball taylor = finish(y.v, ball_mul(point, s).e + spread);
        y.e = fmin(y.e, taylor.e);
    }
    return y;
}

/* max(x, 0) + log1p(exp(-|x|)). The slope is sigmoid(x) <= 1, and that of log softplus is
 * sigmoid / softplus <= 1: x.e moves the result by at most min(x.e, softplus (exp x.e - 1)). */
struct ball ball_softplus(struct ball x)
{
    if (isnan(x.v)) {
        return x;
    }
    struct ball y = ball_log1p(ball_exp(ball_exact(-fabs(x.v))));
    if (x.v > 0) {
        y = ball_add(ball_exact(x.v), y);
    }
    if (x.e > 0) {
        y = finish(y.v, y.e + fmin(x.e, (y.v + y.e) * growth(x.e)));
    }
    return y;
}

/* Rotation.
 *
 * Angles are counted in turns, as 128-bit fractions: cos and sin need the angle modulo one turn,
 * and integers wrap for nothing. One step of position is g = theta^(-2i/R) / 2 pi turns modulo 1,
 * floored to 2^-128, so `position` steps are off by less than |position| 2^-127 turns. */
__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

struct step {
    double theta;
    int64_t pair;
    int64_t rotary_dim;
    uint128 turns;
};

/* MPFR takes microseconds, a look-up nanoseconds; one cache a thread needs no lock. */
#define CACHED_STEPS 256
static _Thread_local struct step steps[CACHED_STEPS];

/* g modulo 1 with an error below 2^-128 + 2^-200: at 256 bits (more when theta < 1, for g then has
 * an integer part of up to 1,100 bits) all roundings together are that small. */
static uint128 compute_turns(double theta, int64_t pair, int64_t rotary_dim)
{
    mpfr_t g, pi;
    mpfr_inits2(theta >= 1 ? 256 : 1536, g, pi, (mpfr_ptr)0);
    mpfr_set_d(g, theta, MPFR_RNDN);
    mpfr_log(g, g, MPFR_RNDN);
    mpfr_mul_si(g, g, -2 * (long)pair, MPFR_RNDN);
    mpfr_div_si(g, g, (long)rotary_dim, MPFR_RNDN);
    mpfr_exp(g, g, MPFR_RNDN);
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_div(g, g, pi, MPFR_RNDN);
    mpfr_div_2ui(g, g, 1, MPFR_RNDN);
    mpfr_frac(g, g, MPFR_RNDZ);
    uint128 turns = 0;
    for (int half = 0; half < 2; half++) {
        mpfr_mul_2ui(g, g, 64, MPFR_RNDN);
        turns = turns << 64 | mpfr_get_ui(g, MPFR_RNDZ);
        mpfr_frac(g, g, MPFR_RNDZ);
    }
    mpfr_clears(g, pi, (mpfr_ptr)0);
    return turns;
}

static uint128 step_turns(double theta, int64_t pair, int64_t rotary_dim)
{
    struct step *step = &steps[pair & (CACHED_STEPS - 1)];
    if (step->theta != theta || step->pair != pair || step->rotary_dim != rotary_dim) {
        step->turns = compute_turns(theta, pair, rotary_dim);
        step->theta = theta;
        step->pair = pair;
        step->rotary_dim = rotary_dim;
    }
    return step->turns;
}

/* The angle is brought into [-1/8, 1/8] turn of the nearest quarter, where sin and cos are well
 * conditioned, and rounded three times: to binary64 (u), by the constant 2 pi (0.36u) and by the
 * product (u): less than 3u of itself, beside the error of the turns. */
void ball_rotation(int64_t position, double theta, int64_t pair, int64_t rotary_dim,
                   struct ball *cosine, struct ball *sine)
{
    if (!(theta > 0) || !isfinite(theta) || rotary_dim <= 0 || pair < 0) {
        *cosine = *sine = ball_exact(NAN);
        return;
    }
    if (position == 0) {
        *cosine = ball_exact(1);
        *sine = ball_exact(0);
        return;
    }
    uint128 turns = (uint128)(int128)position * step_turns(theta, pair, rotary_dim);
    unsigned quarter = (unsigned)((turns + ((uint128)1 << 125)) >> 126) & 3;
    int128 rest = (int128)(turns - ((uint128)quarter << 126));
    double angle = (double)rest * (0x1.921fb54442d18p+2 * 0x1p-128);
    double off = 3 * U * fabs(angle) + fabs((double)position) * 0x1p-124; /* 2 pi < 2^3 */

    double c = oracle_noisy(cos(angle));
    double s = oracle_noisy(sin(angle));
    struct ball x = finish(c, LIBM * c + off * (fabs(s) + off));
    struct ball y = finish(s, LIBM * fabs(s) + off);
    switch (quarter) {
    case 0:
        *cosine = x;
        *sine = y;
        break;
    case 1:
        *cosine = ball_make(-y.v, y.e);
        *sine = x;
        break;
    case 2:
        *cosine = ball_make(-x.v, x.e);
        *sine = ball_make(-y.v, y.e);
        break;
    default:
        *cosine = y;
        *sine = ball_make(-x.v, x.e);
        break;
    }
}
