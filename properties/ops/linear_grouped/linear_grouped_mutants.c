/* SPDX-License-Identifier: MIT
 *
 * linear_grouped with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_grouped_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) TENSOR_FAULT_TABLE(MUTANT_ENUM) };

enum { TILE_N = 4, BLOCK = 128, STEP = 256 };

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

static int low_bits(const struct assay_weights *w, int64_t n, int64_t k, enum fault fault)
{
    int byte = (int)oracle_get_int(&w->base, n * w->base.extent[1] + k / 2);
    return (k + (fault == NIBBLES_SWAPPED)) % 2 == 0 ? byte & 15 : byte >> 4;
}

/* `bits` bits of the high plane for column k. */
static int high_bits(const struct assay_weights *w, int64_t n, int64_t k, int bits,
                     enum fault fault)
{
    int64_t bytes = w->high.extent[1], at = bits * k;
    if (fault == HIGH_IGNORED)
        return 0;
    if (fault == HIGH_OF_NEXT_GROUP && (k / 64 + 1) * 64 < bytes * 8 / bits)
        at += bits * 64;
    if (fault == HIGH_OF_ROW_ABOVE && n > 0)
        n--;
    int byte = (int)oracle_get_int(&w->high, n * bytes + at / 8), shift = (int)(at % 8);
    if (fault == HIGH_BITS_REVERSED)
        shift = 8 - bits - shift;
    int value = byte >> shift & ((1 << bits) - 1);
    if (fault == HIGH_PAIR_REVERSED && bits == 2)
        value = value >> 1 | (value & 1) << 1;
    return value;
}

static int code(const struct assay_weights *w, int64_t n, int64_t k, enum fault fault)
{
    int bits = oracle_weight_format(w->format).bits;
    if (bits == 8) {
        int byte = (int)oracle_get_int(&w->base, n * w->base.extent[1] + k);
        if (fault == LOWEST_BYTE && byte == 128)
            return -127;
        return byte < 128 || fault == BYTES_UNSIGNED ? byte : byte - 256;
    }
    int u = low_bits(w, n, k, fault);
    if (bits > 4)
        u |= high_bits(w, n, k, bits - 4, fault) << 4;
    if (fault == OFFSET_MISSING && bits == 4)
        return u;
    return u - (fault == OFFSET_EIGHT ? 8 : 1 << (bits - 1));
}

static double scale(const struct assay_weights *w, int64_t n, int64_t k, enum fault fault)
{
    int64_t groups = w->scales.extent[1], group = oracle_weight_format(w->format).group;
    if (fault == GROUP_SIZE)
        group = 96 - group;
    int64_t g = at_most(k / group, groups - 1);
    if (fault == SCALE_OF_NEXT_GROUP)
        g = at_most(g + 1, groups - 1);
    if (fault == SCALE_OF_PREVIOUS_GROUP && g > 0)
        g--;
    if (fault == SCALE_OF_ROW_ABOVE && n > 0)
        n--;
    double value = oracle_get(&w->scales, n * groups + g);
    if (fault == SCALE_PERCENT)
        value *= 1.01;
    if (fault == NEGATIVE_SCALES)
        value = fabs(value);
    if ((fault == SUBNORMALS_FLUSHED && fabs(value) < 0x1p-14) ||
        (fault == NAN_HIDDEN && isnan(value)))
        value = 0;
    return value;
}

/* The first column of the second half of a row. */
static int64_t second_half(int64_t inner)
{
    return ((inner + STEP - 1) / STEP + 1) / 2 * STEP;
}

/* Row x of inner columns in bf16 parts, with the fault. */
static void split_row(double *x, int64_t inner, enum fault fault)
{
    for (int64_t k = 0; k < inner; k++) {
        double next = k + 1 < inner ? x[k + 1] : 0, first = oracle_round(x[k], ASSAY_BF16);
        x[k] = first;
        if (fault == SECOND_PART_OF_NEXT && isfinite(first) && isfinite(next))
            x[k] += oracle_round(next - oracle_round(next, ASSAY_BF16), ASSAY_BF16);
    }
}

/* The plane as if its rows followed each other. */
static void pack(struct assay_tensor *plane)
{
    if (plane->rank == 2)
        plane->stride[0] = plane->extent[1];
}

static void put(const struct assay_linear_grouped_args *a, int64_t t, int64_t n, double sum,
                enum fault fault)
{
    int64_t columns = a->w.rows;
    struct assay_tensor y = a->y;
    if (fault == ROW_BEYOND && columns % TILE_N != 0)
        y.extent[1] = ++columns;
    if (a->residual.data != NULL && n < a->w.rows && fault != RESIDUAL_DROPPED) {
        int64_t row = fault == RESIDUAL_FIRST_ROW ? 0 : t;
        double residual = oracle_get(&a->residual, row * a->w.rows + n);
        if (fault == RESIDUAL_AFTER_ROUNDING)
            sum = oracle_round(sum, y.dtype);
        sum += fault == RESIDUAL_TWICE ? 2 * residual : residual;
    }
    oracle_put(&y, t * columns + n, sum);
}

/* Row t of y, in an order that a residual in y's own memory survives. */
static void run_row(const struct assay_linear_grouped_args *a, const struct assay_weights *w,
                    const double *x, double *weight, int64_t n, enum fault fault)
{
    int64_t inner = w->columns, padded = (inner + BLOCK - 1) / BLOCK * BLOCK;
    int64_t row = at_most(n, w->rows - 1), half = second_half(inner);
    if (fault == NEIGHBOUR_ROW && row == w->rows - 1 && row > 0 && w->rows % TILE_N != 0)
        row--;
    for (int64_t k = 0; k < inner; k++) {
        int64_t from = k >= half && fault == SCALE_OF_OTHER_HALF ? k - half : k;
        weight[k] = code(w, row, k, fault) * scale(w, row, from, fault);
        if (fault == BF16_WEIGHTS)
            weight[k] = oracle_round(weight[k], ASSAY_BF16);
    }
    double nothing = 0;
    if (fault == PADDING_READ)
        for (int64_t k = inner; k < padded; k++)
            nothing += 0 * scale(w, row, k, fault);
    if (fault == LAST_GROUP_SKIPPED && inner > BLOCK)
        inner = inner / BLOCK * BLOCK;
    if (fault == HALF_TAIL_DROPPED && inner > STEP)
        inner = (inner - 1) / STEP * STEP;
    for (int64_t k = half - STEP; k < half && half < inner && fault == HALVES_OVERLAP; k++)
        weight[k] *= 2;
    for (int64_t t = 0; t < a->x.extent[0]; t++) {
        double sum = nothing;
        for (int64_t k = 0; k < inner; k++)
            sum += x[t * w->columns + k] * weight[k];
        put(a, t, n, sum, fault);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_grouped_args *a = args;
    struct assay_weights w = a->w;
    int64_t rows = a->x.extent[0], inner = w.columns;
    double *x = malloc((size_t)(rows + 1) * (size_t)inner * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    if (fault == STRIDE_IGNORED) {
        pack(&w.base);
        pack(&w.high);
        pack(&w.scales);
    }
    for (int64_t t = 0; t < rows; t++)
        oracle_get_row(&a->x, t, x + t * inner);
    for (int64_t i = 0; i < rows * inner && fault == BF16_ACTIVATIONS; i++)
        x[i] = oracle_round(x[i], ASSAY_BF16);
    for (int64_t t = 0; t < rows && (fault == SECOND_PART_DROPPED || fault == SECOND_PART_OF_NEXT);
         t++)
        split_row(x + t * inner, inner, fault);
    int64_t columns = w.rows + (fault == ROW_BEYOND && w.rows % TILE_N != 0);
    for (int64_t n = 0; n < columns; n++)
        run_row(a, &w, x, x + rows * inner, n, fault);
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)
TENSOR_FAULT_TABLE(MUTANT_RUN)

#define ROW(...)        MUTANT("linear_grouped", ASSAY_PROFILE_F32, __VA_ARGS__)
#define TENSOR_ROW(...) MUTANT("linear_grouped", ASSAY_PROFILE_A16X2, __VA_ARGS__)

const struct case_mutant linear_grouped_mutants[LINEAR_GROUPED_NUM_MUTANTS] = {
    FAULT_TABLE(ROW) TENSOR_FAULT_TABLE(TENSOR_ROW)};
