/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_swiglu_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE_K = 32, TILE_N = 4, TILE_T = 24, PADDING = 128 };

static void read_row(const struct assay_weights *w, int64_t n, double *row)
{
    if (w->format == ASSAY_WEIGHT_BF16)
        oracle_get_row(&w->base, n, row);
    else
        oracle_weight_row(w, n, row);
}

static double dot(const double *x, const double *w, int64_t inner)
{
    double sum = 0;
    for (int64_t k = 0; k < inner; k++)
        sum += x[k] * w[k];
    return sum;
}

static double silu(double g, enum fault fault)
{
    double sigmoid = 1 / (1 + exp(-g));
    switch (fault) {
    case SIGMOID_ONLY:
        return sigmoid;
    case RELU:
        return isnan(g) ? g : fmax(g, 0);
    case GELU:
        return 0.5 * g * (1 + tanh(0.7978845608028654 * (g + 0.044715 * g * g * g)));
    case CLAMPED:
        return isnan(g) ? g : fmax(-7, fmin(g, 7)) / (1 + exp(-fmax(-7, fmin(g, 7))));
    case TINY_FLUSHED:
        return g < -16 ? 0 : g * sigmoid;
    case NAN_HIDDEN:
        return isnan(g) ? 0 : g * sigmoid;
    default:
        return g * sigmoid;
    }
}

/* An infinite factor and the silu of a finite gate, which is not 0, give an infinity. */
static double result(double g, double u, enum fault fault)
{
    if (fault == SWAPPED) {
        double other = g;
        g = u;
        u = other;
    }
    if (fault == SUMS_IN_BF16 || fault == GATE_IN_F16)
        g = oracle_round(g, fault == GATE_IN_F16 ? ASSAY_F16 : ASSAY_BF16);
    if (fault == SUMS_IN_BF16 || fault == UP_IN_F16)
        u = oracle_round(u, fault == UP_IN_F16 ? ASSAY_F16 : ASSAY_BF16);
    double value = silu(g, fault);
    if (value == 0 && g != 0 && isfinite(g) && isinf(u))
        return g * u;
    return value * u;
}

/* Cut to bf16 instead of rounded. */
static double truncated(double value)
{
    uint16_t nearest = oracle_bf16_word(value);
    bool rounded_up = fabs(oracle_bf16_value(nearest)) > fabs(value);
    return oracle_bf16_value(rounded_up ? (uint16_t)(nearest - 1) : nearest);
}

static void put(const struct assay_linear_swiglu_args *a, int64_t t, int64_t n, double value,
                enum fault fault)
{
    int64_t rows = a->x.extent[0], columns = a->gate.rows;
    struct assay_tensor y = a->y;
    if (fault == ONE_WRONG_ELEMENT && t == rows / 2 && n == columns / 2)
        value *= 1 + 0x1p-7;
    if (fault == OUTPUT_TRUNCATED && y.dtype == ASSAY_BF16 && isfinite(value))
        value = truncated(value);
    if (fault == ROW_BEYOND && n == columns - 1 && columns % TILE_N != 0) {
        y.extent[1] = columns + 1;
        oracle_put(&y, t * (columns + 1) + columns, value);
        y.extent[1] = columns;
    }
    oracle_put(&y, t * columns + n, value);
}

/* Rows of gate and up that column n takes. */
static void read_rows(const struct assay_linear_swiglu_args *a, const struct assay_weights *up,
                      int64_t n, double *gate_row, double *up_row, enum fault fault)
{
    int64_t columns = a->gate.rows;
    bool is_unfinished = n == columns - 1 && columns % TILE_N != 0;
    read_row(&a->gate, n, gate_row);
    read_row(up, fault == UP_OF_NEXT_ROW && n + 1 < columns ? n + 1 : n, up_row);
    if (fault == GATE_FOR_UP && is_unfinished)
        read_row(&a->gate, n, up_row);
    if (fault == INTERLEAVED) { /* as if the two were one matrix, gate's row first */
        read_row(2 * n < columns ? &a->gate : up, 2 * n % columns, gate_row);
        read_row(2 * n + 1 < columns ? &a->gate : up, (2 * n + 1) % columns, up_row);
    }
}

/* What padding whose scale is NaN adds to the sum of row n. */
static double padding_of(const struct assay_weights *w, int64_t n)
{
    double sum = 0;
    int group = oracle_weight_format(w->format).group;
    int64_t padded = (w->columns + PADDING - 1) / PADDING * PADDING;
    for (int64_t k = w->columns; w->format != ASSAY_WEIGHT_BF16 && k < padded; k++)
        sum += 0 * oracle_weight_scale(w, n, k / group);
    return sum;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_swiglu_args *a = args;
    struct assay_weights up = a->up;
    int64_t rows = a->x.extent[0], inner = a->gate.columns;
    double *x = malloc((size_t)(rows + 2) * (size_t)inner * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    double *gate_row = x + rows * inner, *up_row = gate_row + inner;
    if (fault == STRIDE_IGNORED)
        up.base.stride[0] = up.base.extent[1];
    if (fault == UP_SCALES_OF_GATE && a->gate.format == up.format)
        up.scales = a->gate.scales;
    for (int64_t t = 0; t < rows; t++)
        oracle_get_row(&a->x, fault == FIRST_TILE_OF_X ? t % TILE_T : t, x + t * inner);
    int64_t up_inner = fault == UP_TAIL_DROPPED && inner > TILE_K ? inner / TILE_K * TILE_K : inner;
    for (int64_t n = 0; n < a->gate.rows; n++) {
        read_rows(a, &up, n, gate_row, up_row, fault);
        double nothing = fault == PADDING_READ ? padding_of(&up, n) : 0;
        for (int64_t t = 0; t < rows; t++) {
            double g = dot(x + t * inner, gate_row, inner);
            double u = dot(x + t * inner, up_row, up_inner) + nothing;
            put(a, t, n, result(g, u, fault), fault);
        }
    }
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_swiglu", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant linear_swiglu_mutants[LINEAR_SWIGLU_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
