/* SPDX-License-Identifier: MIT
 *
 * The encoders of grouped weights from docs/formats.md, one value and one rounding at a time.
 */
#include "oracle_formats.h"

#include <float.h>
#include <math.h>

#include <mpfr.h>

#include "words.h"

enum { RATIOS = 25, WORD_NAN = 0x7e00, WORD_LARGEST = 0x7bff };

typedef int operation(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

/* a op b rounded to binary32, subnormals and overflow included. */
static float rounded(operation *op, float a, float b)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    MPFR_DECL_INIT(x, FLT_MANT_DIG);
    MPFR_DECL_INIT(y, FLT_MANT_DIG);
    MPFR_DECL_INIT(result, FLT_MANT_DIG);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    int ternary = op(result, x, y, MPFR_RNDN);
    mpfr_subnormalize(result, ternary, MPFR_RNDN);
    float value = mpfr_get_flt(result, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    return value;
}

static int clamp(double code, struct oracle_weight_format format)
{
    if (code < format.lowest)
        return format.lowest;
    return code > format.largest ? format.largest : (int)code;
}

void oracle_group_codes(const float *x, int count, struct oracle_weight_format format,
                        struct oracle_group *group)
{
    float inverse = rounded(mpfr_div, 1, (float)oracle_f16_value(group->scale));
    for (int k = 0; k < count; k++) {
        double product = (double)x[k] * (double)inverse; /* exact: 48 bits */
        group->code[k] = clamp(rint((double)(float)product), format);
    }
}

/* Nearest binary16; a group that is not zero gets no scale of zero, even where the quotient is. */
static uint16_t scale_word(float raw)
{
    uint16_t word = oracle_f16_word((double)raw);
    return word % 0x8000 == 0 ? (uint16_t)(word + 1) : word;
}

static float largest_magnitude(const float *x, int count)
{
    float largest = 0;
    for (int k = 0; k < count; k++)
        largest = fmaxf(largest, fabsf(x[k]));
    return largest;
}

bool oracle_group_maxabs(const float *x, int count, struct oracle_weight_format format,
                         struct oracle_group *group)
{
    bool finite = true;
    for (int k = 0; k < count; k++) {
        finite = finite && isfinite(x[k]);
        group->code[k] = 0;
    }
    if (!finite) {
        group->scale = WORD_NAN;
        return true;
    }
    float largest = largest_magnitude(x, count);
    group->scale = 0;
    if (largest == 0)
        return true;
    group->scale = scale_word(rounded(mpfr_div, largest, (float)format.largest));
    if (group->scale > WORD_LARGEST)
        return false;
    oracle_group_codes(x, count, format, group);
    return true;
}

uint16_t oracle_ratio_scale(int i, float extreme, int code)
{
    float ratio = rounded(mpfr_add, 0.70f, rounded(mpfr_mul, 0.02f, (float)i));
    return scale_word(rounded(mpfr_div, rounded(mpfr_mul, ratio, extreme), (float)code));
}

long double oracle_group_error(const float *x, const float *importance, int count,
                               const struct oracle_group *group)
{
    long double scale = oracle_f16_value(group->scale), sum = 0;
    for (int k = 0; k < count; k++) {
        long double difference = x[k] - scale * group->code[k];
        sum += (importance != NULL ? importance[k] : 1) * difference * difference;
    }
    return sum;
}

void oracle_group_clip25(const float *x, int count, struct oracle_weight_format format,
                         struct oracle_group *group, long double *error, long double *runner_up)
{
    const float largest = largest_magnitude(x, count);
    *error = *runner_up = HUGE_VALL;
    for (int i = 0; i < RATIOS; i++) {
        struct oracle_group candidate = {.scale = oracle_ratio_scale(i, largest, format.largest)};
        if (candidate.scale > WORD_LARGEST || candidate.scale == group->scale)
            continue; /* the second time the same scale */
        oracle_group_codes(x, count, format, &candidate);
        long double candidate_error = oracle_group_error(x, NULL, count, &candidate);
        if (candidate_error < *error) {
            *runner_up = *error;
            *error = candidate_error;
            *group = candidate;
        } else if (candidate_error < *runner_up) {
            *runner_up = candidate_error;
        }
    }
}

/* ---- grouped ----------------------------------------------------------------------------------
 */

struct search {
    const float *x, *importance;
    int count;
    struct oracle_weight_format format;
    bool negative;
    struct oracle_group best;
    long double error;
    bool clear; /* no choice so far hangs on the rounding of sums */
};

/* Two errors this close, relatively, may be in the other order in binary64. */
#define CLOSE 1e-12L

static void consider(struct search *search, uint16_t word)
{
    struct oracle_group candidate = {.scale = word};
    int magnitude = word % 0x8000;
    if (magnitude == 0 || magnitude > WORD_LARGEST || (word >= 0x8000 && !search->negative) ||
        word == search->best.scale)
        return;
    oracle_group_codes(search->x, search->count, search->format, &candidate);
    long double error =
        oracle_group_error(search->x, search->importance, search->count, &candidate);
    if (fabsl(error - search->error) > 0 &&
        fabsl(error - search->error) <= CLOSE * fmaxl(error, search->error))
        search->clear = false;
    if (error < search->error) {
        search->error = error;
        search->best = candidate;
    }
}

static void consider_steps(struct search *search, uint16_t word, int most)
{
    for (int step = -most; step <= most; step++)
        if (step != 0 && word % 0x8000 + step > 0)
            consider(search, (uint16_t)(word + step));
}

/* sum w x q / sum w q^2 in binary16; terms have one sign, since x and s q have. */
static uint16_t least_squares(struct search *search, const struct oracle_group *group)
{
    long double top = 0, bottom = 0;
    for (int k = 0; k < search->count; k++) {
        long double weight = search->importance != NULL ? search->importance[k] : 1;
        top += weight * search->x[k] * group->code[k];
        bottom += weight * group->code[k] * group->code[k];
    }
    if (bottom == 0)
        return 0;
    uint16_t word = oracle_f16_word((double)(top / bottom));
    if (oracle_f16_word((double)(top / bottom * (1 - CLOSE))) != word ||
        oracle_f16_word((double)(top / bottom * (1 + CLOSE))) != word)
        search->clear = false;
    return word;
}

static uint16_t multiple(uint16_t word, double factor)
{
    return oracle_f16_word(oracle_f16_value(word) * factor);
}

bool oracle_group_grouped(const float *x, const float *importance, int count,
                          struct oracle_weight_format format, bool negative,
                          struct oracle_group *group)
{
    struct search search = {x, importance, count, format, negative, {0}, 0, true};
    if (!oracle_group_maxabs(x, count, format, group) || group->scale == 0 ||
        group->scale == WORD_NAN)
        return true;
    const struct oracle_group maxabs = *group;
    search.best = maxabs;
    search.error = oracle_group_error(x, importance, count, &maxabs);
    float largest = largest_magnitude(x, count), extreme = 0;
    for (int k = count - 1; k >= 0; k--)
        if (fabsf(x[k]) == largest)
            extreme = x[k];
    for (int i = 0; i < RATIOS; i++)
        consider(&search, oracle_ratio_scale(i, largest, format.largest));
    for (int i = 0; i < RATIOS && format.lowest != -format.largest; i++)
        consider(&search, oracle_ratio_scale(i, extreme, format.lowest));
    for (int power = -2; power <= 2; power++)
        if (power != 0)
            consider(&search, multiple(maxabs.scale, ldexp(1, power)));
    consider_steps(&search, maxabs.scale, 2);
    uint16_t squares = least_squares(&search, &maxabs);
    consider(&search, squares);
    consider(&search, multiple(squares, 0.5));
    consider(&search, multiple(squares, 2));
    consider_steps(&search, squares, 2);
    squares = least_squares(&search, &search.best);
    consider(&search, squares);
    consider_steps(&search, squares, 1);
    *group = search.best;
    return search.clear;
}

/* ---- the optimum ------------------------------------------------------------------------------
 */

/* Least error for this scale: each value takes its nearest code. */
static double error_of_scale(const double *x, const double *importance, int count,
                             struct oracle_weight_format format, double scale, double limit)
{
    const double lowest = format.lowest, largest = format.largest, inverse = 1 / scale;
    const double shift = 0x1.8p52; /* adding it leaves no place for a fraction */
    double sum = 0;
    for (int k = 0; k < count && sum < limit; k++) {
        double code = x[k] * inverse;
        code = code < lowest ? lowest : code > largest ? largest : code;
        code = (code + shift) - shift;
        double difference = x[k] - scale * code;
        sum += importance[k] * difference * difference;
    }
    return sum;
}

double oracle_group_optimum(const double *x, const double *importance, int count,
                            struct oracle_weight_format format, bool negative, uint16_t *scale)
{
    double best = HUGE_VAL;
    *scale = 0;
    for (int sign = 0; sign <= (negative ? 0x8000 : 0); sign += 0x8000)
        for (int word = 1; word <= WORD_LARGEST; word++) {
            double error = error_of_scale(x, importance, count, format,
                                          oracle_f16_value((uint16_t)(word | sign)), best);
            if (error < best) {
                best = error;
                *scale = (uint16_t)(word | sign);
            }
        }
    return best;
}
