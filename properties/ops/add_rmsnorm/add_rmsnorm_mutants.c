/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "add_rmsnorm_mutants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* The exact sum, or where it has more than 53 bits the binary64 number beside it whose last bit is
 * odd: on the same side of all midpoints of narrower formats. */
static double long_sum(double a, double b)
{
    double sum = a + b, part = sum - a;
    double lost = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (!isfinite(sum) || lost == 0 || bits % 2 == 1)
        return sum;
    return nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

/* Cut to bf16 instead of rounded. */
static double truncated(double value)
{
    uint16_t nearest = oracle_bf16_word(value);
    bool rounded_up = fabs(oracle_bf16_value(nearest)) > fabs(value);
    return isfinite(value) ? oracle_bf16_value(rounded_up ? (uint16_t)(nearest - 1) : nearest)
                           : value;
}

static double stored_sum(double sum, enum assay_dtype dtype, enum fault fault)
{
    if (fault == ROUNDED_TWICE && dtype == ASSAY_BF16)
        sum = oracle_round(sum, ASSAY_F32);
    if (fault == SUM_TRUNCATED && dtype == ASSAY_BF16)
        return truncated(sum);
    if (fault == SUM_IN_BF16)
        sum = oracle_round(sum, ASSAY_BF16);
    return oracle_round(sum, dtype);
}

/* What y is the norm of: `stored` but for a fault. */
static double norm_input(double residual, double x, double stored, enum fault fault)
{
    switch (fault) {
    case UNROUNDED_NORM:
        return residual + x;
    case NORM_OF_RESIDUAL:
        return residual;
    case NORM_OF_X:
        return x;
    default:
        return stored;
    }
}

static double root_of(const struct assay_add_rmsnorm_args *a, const double *v, enum fault fault)
{
    int64_t width = a->w.extent[0];
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        if (fault == LAST_COLUMN_SKIPPED && i > 0 && i == width - 1)
            continue;
        sum += fault == BINARY32_SQUARES ? (double)((float)v[i] * (float)v[i]) : v[i] * v[i];
    }
    double mean = fault == SUM_NOT_MEAN ? sum : sum / (double)width;
    return fault == EPS_OUTSIDE_ROOT ? sqrt(mean) + a->eps : sqrt(mean + a->eps);
}

/* v[i] is normalised, s[i] stored; the inputs may be the outputs' memory and are read no more. */
static void store_row(const struct assay_add_rmsnorm_args *a, int64_t r, const double *v, double *s,
                      double root, enum fault fault)
{
    int64_t width = a->w.extent[0];
    for (int64_t i = 0; i < width; i++) {
        double w = oracle_get(&a->w, i);
        double y = v[i] / root * (a->unit_offset && fault != OFFSET_IGNORED ? 1 + w : w);
        if (fault == ONE_ELEMENT && r == 0 && i == width / 2)
            y *= 1 + 0x1p-7;
        if (fault == ONE_SUM && r == 0 && i == width / 2)
            s[i] += 2 * oracle_half_ulp(fabs(s[i]), a->s.dtype);
        oracle_put(&a->s, r * width + i, fault == NORM_STORED ? y : s[i]);
        oracle_put(&a->y, r * width + i, y);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_add_rmsnorm_args *a = args;
    int64_t width = a->w.extent[0];
    double *v = malloc((size_t)width * sizeof *v), *s = malloc((size_t)width * sizeof *s);
    double root = 0;
    for (int64_t r = 0; v != NULL && s != NULL && r < a->s.extent[0]; r++) {
        for (int64_t i = 0; i < width; i++) {
            double residual = oracle_get(&a->residual, r * width + i);
            double x = oracle_get(&a->x, r * width + i);
            s[i] = stored_sum(long_sum(residual, x), a->s.dtype, fault);
            v[i] = norm_input(residual, x, s[i], fault);
            if (fault == SUM_NOT_STORED)
                s[i] = residual;
        }
        if (r == 0 || fault != FIRST_ROW_SCALE)
            root = root_of(a, v, fault);
        store_row(a, r, v, s, root, fault);
    }
    bool enough = v != NULL && s != NULL;
    free(v);
    free(s);
    return enough ? ASSAY_OK : ASSAY_E_MEMORY;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("add_rmsnorm", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant add_rmsnorm_mutants[ADD_RMSNORM_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
