/* SPDX-License-Identifier: MIT
 *
 * linear_add with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_add_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE_N = 4, BLOCK = 64 };

static void read_weights(const struct assay_weights *w, int64_t n, double *weight, enum fault fault)
{
    if (w->format == ASSAY_WEIGHT_BF16)
        oracle_get_row(&w->base, n, weight);
    else
        oracle_weight_row(w, n, weight);
    for (int64_t k = 0; k < w->columns && fault == NAN_HIDDEN; k++)
        if (isnan(weight[k]))
            weight[k] = 0;
}

static double residual(const struct assay_linear_add_args *a, int64_t t, int64_t n,
                       enum fault fault)
{
    int64_t columns = a->w.rows;
    struct assay_tensor r = a->r;
    if (fault == R_FIRST_ROW)
        t = 0;
    if (fault == R_FIRST_COLUMN && n / TILE_N == columns / TILE_N)
        n = n / TILE_N * TILE_N;
    if (fault == R_PACKED)
        r.stride[0] = columns;
    double value = oracle_get(&r, t * columns + n);
    if (fault == R_IN_BF16)
        value = oracle_round(value, ASSAY_BF16);
    return fault == R_TWICE ? 2 * value : fault == R_DROPPED ? 0 : value;
}

static void put(const struct assay_linear_add_args *a, int64_t t, int64_t n, double sum,
                enum fault fault)
{
    struct assay_tensor y = a->y;
    if (n == a->w.rows) { /* ROW_BEYOND */
        y.extent[1]++;
        oracle_put(&y, t * (n + 1) + n, sum);
        return;
    }
    if (fault == SUM_IN_BF16)
        sum = oracle_round(sum, ASSAY_BF16);
    if (fault == R_AFTER_ROUNDING)
        sum = oracle_round(sum, y.dtype);
    if (fault == ONE_WRONG_ELEMENT && t == y.extent[0] / 2 && n == y.extent[1] / 2)
        sum *= 1 + 0x1p-7;
    oracle_put(&y, t * a->w.rows + n, sum + residual(a, t, n, fault));
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_add_args *a = args;
    int64_t rows = a->x.extent[0], columns = a->w.rows, inner = a->w.columns, last = inner;
    double *x = malloc((size_t)(rows + 1) * (size_t)inner * sizeof *x), *w = x + rows * inner;
    if (x == NULL)
        return ASSAY_E_MEMORY;
    if (fault == LAST_BLOCK_SKIPPED && inner > BLOCK)
        last = inner / BLOCK * BLOCK;
    for (int64_t t = 0; t < rows; t++)
        oracle_get_row(&a->x, t, x + t * inner);
    for (int64_t i = 0; i < rows * inner && fault == BF16_ACTIVATIONS; i++)
        x[i] = oracle_round(x[i], ASSAY_BF16);
    for (int64_t i = 0; i < rows * columns && fault == Y_CLEARED; i++)
        oracle_put(&a->y, i, 0);
    int64_t end = columns + (fault == ROW_BEYOND && columns % TILE_N != 0);
    for (int64_t n = 0; n < end; n++) {
        int64_t row = n < columns ? n : columns - 1;
        if (fault == NEIGHBOUR_ROW && row == columns - 1 && row > 0 && columns % TILE_N != 0)
            row--;
        read_weights(&a->w, row, w, fault);
        for (int64_t t = 0; t < rows; t++) {
            double sum = 0;
            for (int64_t k = 0; k < last; k++)
                sum += x[t * inner + k] * w[k];
            put(a, t, n, sum, fault);
        }
    }
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_add", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant linear_add_mutants[LINEAR_ADD_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
