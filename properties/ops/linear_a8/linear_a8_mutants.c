/* SPDX-License-Identifier: MIT
 *
 * linear_a8 with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_a8_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { GROUP = 64 };

/* ---- activations ---------------------------------------------------------------------------- */

static float maximum(const double *x, int64_t count, enum fault fault)
{
    float amax = 1e-20f;
    for (int64_t i = 0; i < count; i++) {
        float magnitude = fault == SIGNED_MAXIMUM ? (float)x[i] : fabsf((float)x[i]);
        if (fault == NAN_HIDDEN && isnan(magnitude))
            continue;
        if (!isfinite(x[i]))
            return INFINITY;
        amax = fmaxf(amax, magnitude);
    }
    return amax;
}

static float scale_of(float amax, enum fault fault)
{
    float scale =
        (float)oracle_round((double)(amax / (fault == FULL_RANGE ? 128 : 127)), ASSAY_F16);
    if (isinf(scale))
        return fault == OVERFLOW_SATURATED ? 65504.0f : NAN;
    return fault == SUBNORMALS_FLUSHED && scale < 0x1p-14f ? 0 : scale;
}

static int code_of(float x, float inverse, enum fault fault)
{
    float v = x * inverse;
    if (isnan(v) || isinf(v))
        return 0;
    v = fault == HALF_AWAY ? roundf(v) : fault == CODES_TRUNCATED ? truncf(v) : rintf(v);
    float lowest = fault == FULL_RANGE ? -128 : -127;
    return (int)fminf(fmaxf(v, lowest), 127);
}

static void quantise(const double *x, int64_t inner, enum fault fault, int *codes, float *scales)
{
    int64_t groups = (inner + GROUP - 1) / GROUP;
    for (int64_t g = 0; g < groups; g++) {
        int64_t first = g * GROUP, count = inner - first < GROUP ? inner - first : GROUP;
        float amax =
            fault == TOKEN_SCALE ? maximum(x, inner, fault) : maximum(x + first, count, fault);
        scales[g] = scale_of(amax, fault);
        float inverse = (fault == FULL_RANGE ? 128 : 127) / amax;
        if (fault == ROUNDED_INVERSE)
            inverse = 1 / scales[g];
        for (int64_t k = first; k < first + count; k++)
            codes[k] = code_of((float)x[k], inverse, fault);
    }
    for (int64_t g = 0; fault == SCALE_SHIFTED && g + 1 < groups; g++)
        scales[g] = scales[g + 1];
}

/* ---- the product ---------------------------------------------------------------------------- */

static int64_t product(int code, int weight, int64_t sum, enum fault fault)
{
    sum += code * weight;
    if (fault == INT16_SUMS)
        return (int16_t)(uint16_t)sum;
    return fault == F16_SUMS ? (int64_t)oracle_round((double)sum, ASSAY_F16) : sum;
}

/* Codes and scales of a row of w as the fault sees them. */
struct row {
    int *codes;
    float *scales;
    int64_t groups;
    int group;
};

static void read_row(const struct assay_weights *w, int64_t n, enum fault fault, struct row *row)
{
    struct oracle_weight_format format = oracle_weight_format(w->format);
    for (int64_t k = 0; k < w->columns; k++) {
        row->codes[k] = oracle_weight_code(w, n, k) -
                        (fault == OFFSET_MISSING && format.bits < 8 ? format.lowest : 0);
        if (fault == LOWEST_BYTE && row->codes[k] == -128)
            row->codes[k] = -127;
    }
    for (int64_t g = 0; g < row->groups; g++) {
        int64_t from = fault == FIRST_SCALE && format.group == 32 ? g / 2 * 2 : g;
        float scale = (float)oracle_weight_scale(w, n, from);
        row->scales[g] = fault == SIGN_DROPPED ? fabsf(scale) : scale;
    }
}

/* Columns [first, end) of a group, added to acc. */
static float add_part(float acc, const int *codes, float scale, const struct row *w, int64_t first,
                      int64_t end, enum fault fault)
{
    int64_t sum = 0;
    for (int64_t k = first; k < end; k++)
        sum = product(codes[k], w->codes[k], sum, fault);
    float both = w->scales[first / w->group] * scale;
    if (fault == NOT_FUSED) {
        float rounded = (float)sum * both;
        return acc + rounded;
    }
    return fmaf((float)sum, both, acc);
}

static float accumulate(const int *codes, const float *scales, const struct row *w, int64_t inner,
                        float start, enum fault fault)
{
    float acc = start;
    for (int64_t i = 0; i < w->groups; i++) {
        int64_t g = fault == GROUPS_REVERSED ? w->groups - 1 - i : i, first = g * w->group;
        int64_t end = first + w->group < inner ? first + w->group : inner;
        if (fault == TAIL_DROPPED && end - first < w->group && g > 0)
            continue;
        if (fault == HALF_BLOCK && w->groups * w->group % 128 == 64 && first >= inner / 128 * 128)
            continue;
        if (fault == PADDING_ADDED && first >= inner) {
            acc = fmaf(0, w->scales[g] * scales[(inner - 1) / GROUP], acc);
        } else if (fault == HALF_GROUPS && end - first == w->group) {
            int64_t middle = first + w->group / 2;
            acc = add_part(acc, codes, scales[first / GROUP], w, first, middle, fault);
            acc = add_part(acc, codes, scales[first / GROUP], w, middle, end, fault);
        } else if (end > first) {
            acc = add_part(acc, codes, scales[first / GROUP], w, first, end, fault);
        }
    }
    return acc;
}

static void columns(const struct assay_linear_a8_args *a, const int *codes, const float *scales,
                    struct row *w, enum fault fault)
{
    int64_t rows = a->x.extent[0], inner = a->w.columns;
    int64_t x_groups = (inner + GROUP - 1) / GROUP;
    for (int64_t n = 0; n < a->w.rows; n++) {
        read_row(&a->w, n, fault, w);
        for (int64_t t = 0; t < rows; t++) {
            float residual = a->residual.data != NULL && fault != RESIDUAL_DROPPED
                                 ? (float)oracle_get(&a->residual, t * a->w.rows + n)
                                 : 0;
            float start = fault == RESIDUAL_FIRST ? residual : 0;
            float acc =
                accumulate(codes + t * inner, scales + t * x_groups, w, inner, start, fault);
            if (fault != RESIDUAL_FIRST)
                acc += residual;
            oracle_put(&a->y, t * a->w.rows + n, (double)acc);
        }
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_a8_args *a = args;
    int64_t rows = a->x.extent[0], inner = a->w.columns;
    int64_t x_groups = (inner + GROUP - 1) / GROUP, padded = (inner + 127) / 128 * 128;
    int group = oracle_weight_format(a->w.format).group;
    struct row w = {.group = group, .groups = (inner + group - 1) / group};
    if (fault == PADDING_ADDED)
        w.groups = padded / group;
    double *x = malloc((size_t)inner * sizeof *x);
    int *codes = malloc((size_t)((rows + 1) * inner) * sizeof *codes);
    float *scales = malloc((size_t)(rows * x_groups + w.groups) * sizeof *scales);
    bool good = x != NULL && codes != NULL && scales != NULL;
    for (int64_t t = 0; good && t < rows; t++) {
        oracle_get_row(&a->x, t, x);
        quantise(x, inner, fault, codes + t * inner, scales + t * x_groups);
    }
    if (good) {
        w.codes = codes + rows * inner;
        w.scales = scales + rows * x_groups;
        columns(a, codes, scales, &w, fault);
    }
    free(x);
    free(codes);
    free(scales);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_a8", ASSAY_PROFILE_A8, __VA_ARGS__)

const struct case_mutant linear_a8_mutants[LINEAR_A8_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
