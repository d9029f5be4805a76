/* SPDX-License-Identifier: MIT
 *
 * linear_w8row with one planted fault each, and the control: the same code with none, which must
 * pass, and to which the laws compare every route bit by bit. Written against the contract only;
 * shares nothing with the engine's routes.
 */
#include "linear_w8row_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* ---- channels ------------------------------------------------------------------------------- */

enum { LANES = 256, DIGITS = 32 };

/* [LINEARW8ROW-2], of values above 2^-126. */
static double geometric_mean(const float *values, int64_t count)
{
    double p[LANES];
    int64_t e[LANES];
    for (int64_t l = 0; l < LANES; l++) {
        p[l] = 1;
        e[l] = 0;
        for (int64_t k = l; k < count; k += LANES) {
            int exponent;
            double product = p[l] * (2 * frexp((double)values[k], &exponent));
            e[l] += exponent - 1 + (product >= 2);
            p[l] = product >= 2 ? product / 2 : product;
        }
    }
    for (int width = LANES / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++) {
            double product = p[l] * p[l + width];
            e[l] += e[l + width] + (product >= 2);
            p[l] = product >= 2 ? product / 2 : product;
        }
    }
    double logarithm = (double)e[0], square = p[0];
    for (int i = 1; i <= DIGITS; i++) {
        square *= square;
        if (square >= 2) {
            square /= 2;
            logarithm += ldexp(1, -i);
        }
    }
    double mean = logarithm / (double)count, rest = mean - floor(mean), power = 1, root = 2;
    for (int i = 1; i <= DIGITS; i++) {
        root = sqrt(root);
        if (rest >= ldexp(1, -i)) {
            rest -= ldexp(1, -i);
            power *= root;
        }
    }
    return ldexp(power, (int)floor(mean));
}

static void find_factors(const struct assay_linear_w8row_args *a, float *s, enum fault fault)
{
    int64_t inner = a->w.columns;
    for (int64_t k = 0; k < inner; k++) {
        s[k] = 1e-20f;
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            float x = fabsf((float)oracle_get(&a->x, t * inner + k));
            if (isfinite(x) || (fault == CHUNK_POISONED && isinf(x)))
                s[k] = fmaxf(s[k], x);
        }
    }
    double mean = geometric_mean(s, inner);
    for (int64_t k = 0; k < inner; k++) {
        double quotient = (double)s[k] / mean;
        s[k] = (float)(fault == WHOLE_EXPONENT ? quotient : sqrt(quotient));
        if (!a->equalise || fault == NOT_EQUALISED)
            s[k] = 1;
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

static int code_of(float value, enum fault fault, enum fault truncated)
{
    if (!isfinite(value))
        return 0;
    float code = fault == truncated ? truncf(value) : rintf(value);
    if (fault == CLAMP_MISSING && truncated == W_TRUNCATED)
        return (int8_t)(int)fminf(fmaxf(code, -1e6f), 1e6f);
    return (int)fminf(fmaxf(code, -127), 127);
}

static float activation(const struct assay_linear_w8row_args *a, int64_t at, enum fault fault)
{
    float x = (float)oracle_get(&a->x, at);
    return fault == NAN_HIDDEN && isnan(x) ? 0 : x;
}

/* Codes of row t; returns its scale. */
static float quantise_token(const struct assay_linear_w8row_args *a, const float *s, int64_t t,
                            enum fault fault, int *codes)
{
    int64_t inner = a->w.columns;
    float amax = 1e-20f;
    bool is_finite = true;
    for (int64_t k = 0; k < inner; k++) {
        float x = activation(a, t * inner + k, fault);
        float scaled = fault == FACTORS_SWAPPED ? x * s[k] : x * (1 / s[k]);
        is_finite = is_finite && isfinite(scaled);
        scaled = fault == AMAX_BEFORE ? x : scaled;
        amax = fmaxf(amax, fault == SIGNED_MAXIMUM ? scaled : fabsf(scaled));
    }
    for (int64_t k = 0; k < inner; k++) {
        float x = activation(a, t * inner + k, fault);
        float scaled = fault == FACTORS_SWAPPED ? x * s[k] : x * (1 / s[k]);
        codes[k] = is_finite ? code_of(scaled * (127 / amax), fault, X_TRUNCATED) : 0;
    }
    float scale = amax / (fault == RANGE_128 ? 128 : 127);
    if (fault == ROUNDED_TOKEN)
        scale = (float)oracle_round((double)scale, ASSAY_F16);
    return is_finite ? scale : NAN;
}

static float range_of(enum assay_weight_format format, enum fault fault)
{
    struct oracle_weight_format f = oracle_weight_format(format);
    if (fault == BYTE_RANGE)
        return 127;
    return (float)(fault == LARGEST_CODE || f.bits == 8 ? f.largest : -f.lowest);
}

static float scale_at(const struct assay_weights *w, int64_t n, int64_t group, enum fault fault)
{
    float scale = (float)oracle_weight_scale(w, n, group);
    return fault == NAN_SCALE_HIDDEN && !isfinite(scale) ? 0 : scale;
}

static float row_scale(const struct assay_linear_w8row_args *a, const float *s, int64_t n,
                       enum fault fault)
{
    int group = oracle_weight_format(a->w.format).group;
    float largest = 0;
    for (int64_t k = 0; k < a->w.columns; k++) {
        float scale = scale_at(&a->w, n, k / group, fault);
        if (!isfinite(scale))
            return NAN;
        if ((fault == FIRST_GROUP && k >= group) || (fault == SIGN_KEPT && scale < 0))
            continue;
        float factor = fault == FACTOR_OF_FIRST ? s[k / group * group] : s[k];
        factor = fault == FACTORS_SWAPPED ? 1 / factor : fault == WEIGHTS_FORGOTTEN ? 1 : factor;
        largest = fmaxf(largest, fabsf(scale) * factor);
    }
    return largest > 0 ? largest * range_of(a->w.format, fault) / 127 : 1;
}

static float quantise_row(const struct assay_linear_w8row_args *a, const float *s, int64_t n,
                          enum fault fault, int *codes)
{
    int64_t inner = a->w.columns;
    int group = oracle_weight_format(a->w.format).group;
    float scale = row_scale(a, s, n, fault), inverse = 1 / scale;
    for (int64_t k = 0; k < inner; k++) {
        int64_t from = fault == SCALE_NEXT && (k / group + 1) * group < inner ? k + group : k;
        float w = (float)oracle_weight_code(&a->w, n, k) * scale_at(&a->w, n, from / group, fault);
        float factor = s[fault == NEIGHBOUR_FACTOR && k + 1 < inner ? k + 1 : k];
        factor = fault == FACTORS_SWAPPED ? 1 / factor : fault == WEIGHTS_FORGOTTEN ? 1 : factor;
        codes[k] = code_of(w * factor * inverse, fault, W_TRUNCATED);
    }
    return scale;
}

/* ---- the product ---------------------------------------------------------------------------- */

static int64_t dot(const int *x, const int *w, int64_t inner, enum fault fault)
{
    int64_t sum = 0, end = fault == TAIL_DROPPED && inner > 32 ? inner / 32 * 32 : inner;
    if (fault == HALF_BLOCK && inner > 128 && (inner + 63) / 64 % 2 == 1)
        end = inner / 128 * 128;
    for (int64_t k = 0; k < end; k++) {
        sum += (int64_t)x[k] * w[k];
        if (fault == INT16_SUMS)
            sum = (int16_t)(uint16_t)sum;
    }
    if (fault == PADDING_READ && inner % 32 != 0)
        sum += (int64_t)x[inner - 1] * w[inner - 1];
    return sum;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_w8row_args *a = args;
    int64_t rows = a->x.extent[0], inner = a->w.columns;
    float *s = calloc((size_t)(inner + rows), sizeof *s), *token = s + inner, before = 1;
    int *x = malloc((size_t)((rows + 1) * inner) * sizeof *x), *w = x + rows * inner;
    bool good = s != NULL && x != NULL;
    if (good)
        find_factors(a, s, fault);
    for (int64_t t = 0; good && t < rows; t++)
        token[t] = quantise_token(a, s, t, fault, x + t * inner);
    for (int64_t n = 0; good && n < a->w.rows; n++) {
        float row = quantise_row(a, s, n, fault, w);
        float scale = fault == NEXT_ROW_SCALE && n > 0 ? before : row;
        for (int64_t t = 0; t < rows; t++) {
            double sum = (double)dot(x + t * inner, w, inner, fault);
            float y = (float)(sum * ((double)scale * (double)token[t]));
            oracle_put(&a->y, t * a->w.rows + n, (double)y);
        }
        before = row;
    }
    free(s);
    free(x);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_w8row", ASSAY_PROFILE_W8ROW, __VA_ARGS__)

const struct case_mutant linear_w8row_mutants[LINEAR_W8ROW_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
