/* SPDX-License-Identifier: MIT
 *
 * linear_pair with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_pair_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE_K = 32, TILE_N = 4, PADDING = 128, PACKED = 64 };

static void read_row(const struct assay_weights *w, int64_t n, double *row)
{
    if (w->format == ASSAY_WEIGHT_BF16)
        oracle_get_row(&w->base, n, row);
    else
        oracle_weight_row(w, n, row);
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

/* Column of x that stands at place k where packed codes of 8 lanes of 8 columns are expected. */
static int64_t packed_column(int64_t k, int64_t inner)
{
    int64_t block = k / PACKED * PACKED, place = k % PACKED;
    int64_t column = block + place % 8 * 8 + place / 8;
    return column < inner ? column : k;
}

/* The matrix that product i reads; a format is changed where planes allow it. */
static struct assay_weights matrix_of(const struct assay_linear_pair_args *a, int i,
                                      enum fault fault)
{
    struct assay_weights w = a->w[i];
    const struct assay_weights *first = &a->w[0];
    bool is_read_alike = w.format != ASSAY_WEIGHT_BF16 && first->format != ASSAY_WEIGHT_BF16 &&
                         first->high.data == NULL && w.format != ASSAY_WEIGHT_Q8G32 &&
                         first->format != ASSAY_WEIGHT_Q8G32;
    if (fault == FORMAT_OF_FIRST && is_read_alike)
        w.format = first->format;
    if (fault == FIRST_FOR_SECOND && i == 1)
        w = a->w[0];
    return w;
}

/* Row n of product i. */
static void read_product_row(const struct assay_linear_pair_args *a, int i, int64_t n, double *row,
                             enum fault fault)
{
    const struct assay_weights w = matrix_of(a, i, fault);
    bool is_last = n == a->w[i].rows - 1;
    if (fault == OFFSET_BY_ONE && i > 0 && n + 1 < w.rows)
        n++;
    if (fault == LAST_ROW_OF_NEXT && is_last && i + 1 < a->num_products)
        read_row(&a->w[i + 1], 0, row);
    else
        read_row(&w, n < w.rows ? n : w.rows - 1, row);
}

static double sum_of(const struct assay_linear_pair_args *a, int i, const double *x,
                     const double *row, enum fault fault)
{
    int64_t inner = a->x.extent[1];
    if (fault == TAIL_DROPPED && inner > TILE_K)
        inner = inner / TILE_K * TILE_K;
    bool is_permuted = fault == ORDER_OF_FIRST && a->w[i].format == ASSAY_WEIGHT_Q8G32;
    double sum = 0;
    for (int64_t k = 0; k < inner; k++) {
        double value = x[is_permuted ? packed_column(k, inner) : k];
        sum += (fault == BF16_ACTIVATIONS ? oracle_round(value, ASSAY_BF16) : value) * row[k];
    }
    return sum;
}

static void put(const struct assay_linear_pair_args *a, int i, int64_t t, int64_t n, double value,
                enum fault fault)
{
    struct assay_tensor y = a->y[i];
    int64_t columns = y.extent[1], rows = y.extent[0];
    bool is_last = i == a->num_products - 1;
    if (fault == ONE_WRONG_ELEMENT && is_last && t == rows / 2 && n == columns / 2)
        value *= 1 + 0x1p-7;
    if (fault == NAN_HIDDEN && isnan(value))
        value = 0;
    if (fault == OUTPUT_FORMAT_OF_FIRST)
        value = oracle_round(value, a->y[0].dtype);
    if (fault == STRIDE_OF_FIRST && a->y[0].stride[0] < y.stride[0])
        y.stride[0] = a->y[0].stride[0];
    if (fault == ROW_BEYOND && n == columns - 1 && columns % TILE_N != 0) {
        y.extent[1] = columns + 1;
        oracle_put(&y, t * (columns + 1) + columns, value);
        y.extent[1] = columns;
    }
    oracle_put(&y, t * columns + n, value);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_pair_args *a = args;
    int64_t rows = a->x.extent[0], inner = a->x.extent[1];
    double *x = malloc((size_t)(rows + 1) * (size_t)inner * sizeof *x), *row = x + rows * inner;
    if (x == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < rows; t++)
        oracle_get_row(&a->x, t, x + t * inner);
    int num_products = (int)a->num_products - (fault == LAST_SKIPPED);
    for (int i = 0; i < num_products; i++) {
        bool is_stuck = fault == FIRST_TOKEN && i == a->num_products - 1;
        for (int64_t n = 0; n < a->w[i].rows; n++) {
            read_product_row(a, i, n, row, fault);
            double nothing = fault == PADDING_READ ? padding_of(&a->w[i], n) : 0;
            for (int64_t t = 0; t < rows; t++)
                put(a, i, t, n, sum_of(a, i, x + (is_stuck ? 0 : t) * inner, row, fault) + nothing,
                    fault);
        }
    }
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_pair", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant linear_pair_mutants[LINEAR_PAIR_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
