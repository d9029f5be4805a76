/* SPDX-License-Identifier: MIT
 *
 * linear with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE_K = 32, TILE_N = 4, TILE_T = 6 };

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

/* Extent of the sum over k that the fault leaves. */
static int64_t faulty_inner(int64_t inner, enum fault fault)
{
    switch (fault) {
    case PADDING_COLUMNS: /* what lies behind the row: its neighbour, or nobody's memory */
        return round_up(inner, 8);
    case TAIL_DROPPED:
        return inner < TILE_K ? inner : inner / TILE_K * TILE_K;
    case ODD_STEP_DROPPED: /* two blocks of eight at a time, none left over */
        return inner < 16 ? inner : inner - inner % 16 + (inner % 16 < 8 ? inner % 16 : 0);
    default:
        return inner;
    }
}

static double operand(double value, enum fault fault)
{
    if (fault == F16_ACTIVATIONS)
        return oracle_round(value, ASSAY_F16);
    if (fault == SUBNORMALS_FLUSHED && fabs(value) < 0x1p-126)
        return 0;
    if (fault == NAN_HIDDEN && isnan(value))
        return 0;
    return value;
}

/* Row `row` as if rows had `inner` elements: what lies behind the row's end is read too. */
static void read_row(const struct assay_tensor *tensor, int64_t row, int64_t inner, double *values)
{
    struct assay_tensor wide = *tensor;
    wide.extent[1] = inner;
    oracle_get_row(&wide, row, values);
}

static double dot(const double *x, const double *w, int64_t inner, enum fault fault)
{
    double sum = 0;
    for (int64_t k = 0; k < inner; k++) {
        double product = x[k] * w[k];
        if (fault == BF16_PRODUCTS)
            product = oracle_round(product, ASSAY_BF16);
        sum += product;
        if (fault == SPLIT_COUNTED_TWICE && inner > TILE_K && k == inner / 2)
            sum += product;
        if (fault == BF16_ACCUMULATION)
            sum = oracle_round(sum, ASSAY_BF16);
    }
    return sum;
}

/* Cut to bf16 instead of rounded. */
static double truncated(double value)
{
    uint16_t nearest = oracle_bf16_word(value);
    bool rounded_up = fabs(oracle_bf16_value(nearest)) > fabs(value);
    return oracle_bf16_value(rounded_up ? (uint16_t)(nearest - 1) : nearest);
}

static void put(const struct assay_linear_args *a, int64_t t, int64_t n, double sum,
                enum fault fault)
{
    int64_t rows = a->x.extent[0], columns = a->w.extent[0];
    if (fault == ONE_WRONG_ELEMENT && t == rows / 2 && n == columns / 2)
        sum *= 1 + 0x1p-7; /* one bf16 step */
    if (fault == OUTPUT_TRUNCATED && a->y.dtype == ASSAY_BF16 && isfinite(sum))
        sum = truncated(sum);
    oracle_put(&a->y, t * columns + n, sum);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_args *a = args;
    int64_t rows = a->x.extent[0], columns = a->w.extent[0];
    int64_t inner = faulty_inner(a->w.extent[1], fault);
    double *x = malloc((size_t)(rows + 1) * (size_t)inner * sizeof *x), *w = x + rows * inner;
    if (x == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < rows; t++) {
        read_row(&a->x, fault == FIRST_TILE_OF_X ? t % TILE_T : t, inner, &x[t * inner]);
        for (int64_t k = 0; k < inner; k++)
            x[t * inner + k] = operand(x[t * inner + k], fault);
    }
    for (int64_t n = 0; n < columns; n++) {
        bool unfinished = n == columns - 1 && n > 0 && columns % TILE_N != 0;
        read_row(&a->w, fault == NEIGHBOUR_ROW && unfinished ? n - 1 : n, inner, w);
        for (int64_t t = 0; t < rows; t++)
            put(a, t, n, dot(&x[t * inner], w, inner, fault), fault);
    }
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant linear_mutants[LINEAR_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
