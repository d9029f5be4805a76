/* SPDX-License-Identifier: MIT
 *
 * linear_a8 in binary64, from the contract [LINEARA8-1] and [LINEARA8-2]. The contract states every
 * rounding, so the result is a number and not an interval: own error 0.
 */
#include "linear_a8_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "words.h"

/* ---- activations ---------------------------------------------------------------------------- */

/* Nearest integer, ties to even; |v| < 2^31. floor(v) and the rest are exact. */
static double nearest_integer(double v)
{
    double below = floor(v), rest = v - below;
    if (rest != 0.5)
        return rest < 0.5 ? below : below + 1;
    return fmod(below, 2) == 0 ? below : below + 1;
}

/* A quotient of two binary32 numbers, rounded to binary64 and then to binary32, is rounded
 * correctly: 53 >= 2 * 24 + 2, and it is no subnormal of binary32 here (amax is between 1e-20 and
 * 2^128). The product x * inv has 48 bits and is exact before its one rounding. */
static double quantise_group(const double *x, int64_t count, int *codes)
{
    double amax = oracle_round(1e-20, ASSAY_F32);
    for (int64_t i = 0; i < count; i++) {
        codes[i] = 0;
        if (!isfinite(x[i]))
            amax = INFINITY;
        else if (fabs(x[i]) > amax)
            amax = fabs(x[i]);
    }
    double scale = oracle_round(oracle_round(amax / 127, ASSAY_F32), ASSAY_F16);
    if (isinf(scale))
        return NAN;
    double inverse = oracle_round(127 / amax, ASSAY_F32);
    for (int64_t i = 0; i < count; i++) {
        double code = nearest_integer(oracle_round(x[i] * inverse, ASSAY_F32));
        codes[i] = (int)fmin(fmax(code, -127), 127);
    }
    return scale;
}

void oracle_a8_quantise(const double *x, int64_t inner, int *codes, double *scales)
{
    for (int64_t k = 0; k < inner; k += ORACLE_A8_GROUP) {
        int64_t count = inner - k < ORACLE_A8_GROUP ? inner - k : ORACLE_A8_GROUP;
        scales[k / ORACLE_A8_GROUP] = quantise_group(x + k, count, codes + k);
    }
}

/* ---- the product ---------------------------------------------------------------------------- */

bool oracle_a8_product_create(struct oracle_a8_product *p, const struct assay_linear_a8_args *a,
                              void (*quantise)(const double *, int64_t, int *, double *))
{
    int64_t rows = a->x.extent[0], inner = a->w.columns;
    int64_t x_groups = (inner + ORACLE_A8_GROUP - 1) / ORACLE_A8_GROUP;
    int group = oracle_weight_format(a->w.format).group;
    *p = (struct oracle_a8_product){.a = a, .group = group, .groups = (inner + group - 1) / group};
    double *x = malloc((size_t)inner * sizeof *x);
    p->codes = malloc((size_t)(rows * inner + 1) * sizeof *p->codes);
    p->scales = malloc((size_t)(rows * x_groups + 1) * sizeof *p->scales);
    p->weights = malloc((size_t)inner * sizeof *p->weights);
    p->weight_scale = malloc((size_t)p->groups * sizeof *p->weight_scale);
    bool good = x != NULL && p->codes != NULL && p->scales != NULL && p->weights != NULL &&
                p->weight_scale != NULL;
    for (int64_t t = 0; good && t < rows; t++) {
        oracle_get_row(&a->x, t, x);
        quantise(x, inner, p->codes + t * inner, p->scales + t * x_groups);
    }
    free(x);
    return good;
}

void oracle_a8_product_destroy(struct oracle_a8_product *p)
{
    free(p->codes);
    free(p->scales);
    free(p->weights);
    free(p->weight_scale);
}

void oracle_a8_product_take(struct oracle_a8_product *p, int64_t n)
{
    for (int64_t k = 0; k < p->a->w.columns; k++)
        p->weights[k] = oracle_weight_code(&p->a->w, n, k);
    for (int64_t g = 0; g < p->groups; g++)
        p->weight_scale[g] = oracle_weight_scale(&p->a->w, n, g);
}

/* 20 bits of the sum, 11 of each scale, no exponent near binary64's ends. */
double oracle_a8_term(const struct oracle_a8_product *p, int64_t t, int64_t g)
{
    int64_t inner = p->a->w.columns, first = g * p->group;
    int64_t end = first + p->group < inner ? first + p->group : inner;
    const int *codes = p->codes + t * inner;
    int64_t sum = 0;
    for (int64_t k = first; k < end; k++)
        sum += (int64_t)codes[k] * p->weights[k];
    int64_t x_groups = (inner + ORACLE_A8_GROUP - 1) / ORACLE_A8_GROUP;
    double scale = p->scales[t * x_groups + first / ORACLE_A8_GROUP];
    return (double)sum * (p->weight_scale[g] * scale);
}

double oracle_a8_residual(const struct assay_linear_a8_args *a, int64_t t, int64_t n)
{
    return a->residual.data != NULL ? oracle_get(&a->residual, t * a->w.rows + n) : 0;
}

/* The exact sum of two binary64 numbers, rounded once to binary32: the nearest binary64 number and
 * what it lacks are exact (Knuth), and of the two neighbours of an inexact sum the one with an odd
 * last bit rounds to binary32 as the sum itself does (Boldo and Melquiond; 53 >= 24 + 2). */
static double add_in_binary32(double a, double b)
{
    double sum = a + b;
    if (!isfinite(sum))
        return oracle_round(sum, ASSAY_F32);
    double part = sum - a, lacks = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (lacks != 0 && (bits & 1) == 0)
        sum = nextafter(sum, lacks > 0 ? INFINITY : -INFINITY);
    return oracle_round(sum, ASSAY_F32);
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_a8_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.rows;
    struct oracle_a8_product p;
    bool good = oracle_a8_product_create(&p, a, oracle_a8_quantise);
    for (int64_t n = 0; good && n < columns; n++) {
        oracle_a8_product_take(&p, n);
        for (int64_t t = 0; t < rows; t++) {
            double acc = 0;
            for (int64_t g = 0; g < p.groups; g++)
                acc = add_in_binary32(acc, oracle_a8_term(&p, t, g));
            if (a->residual.data != NULL)
                acc = add_in_binary32(acc, oracle_a8_residual(a, t, n));
            y->value[t * columns + n] = acc;
        }
    }
    oracle_a8_product_destroy(&p);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

static double work(const void *arguments)
{
    const struct assay_linear_a8_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->w.rows;
}

const struct oracle_op oracle_op_linear_a8 = {
    .name = "linear_a8",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_a8_mpfr,
    .bound = oracle_linear_a8_bound,
    .work = work,
};
