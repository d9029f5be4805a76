/* SPDX-License-Identifier: MIT
 *
 * linear with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault {
    NONE,
    ONE_WRONG_ELEMENT,
    PADDING_COLUMNS,
    TAIL_DROPPED,
    ODD_STEP_DROPPED,
    SPLIT_COUNTED_TWICE,
    NEIGHBOUR_ROW,
    FIRST_TILE_OF_X,
    BF16_ACCUMULATION,
    BF16_PRODUCTS,
    F16_ACTIVATIONS,
    SUBNORMALS_FLUSHED,
    OUTPUT_TRUNCATED,
    NAN_HIDDEN,
};

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

#define MUTANT_FUNCTION(fault)                                                                 \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
MUTANT_FUNCTION(NONE)
MUTANT_FUNCTION(ONE_WRONG_ELEMENT)
MUTANT_FUNCTION(PADDING_COLUMNS)
MUTANT_FUNCTION(TAIL_DROPPED)
MUTANT_FUNCTION(ODD_STEP_DROPPED)
MUTANT_FUNCTION(SPLIT_COUNTED_TWICE)
MUTANT_FUNCTION(NEIGHBOUR_ROW)
MUTANT_FUNCTION(FIRST_TILE_OF_X)
MUTANT_FUNCTION(BF16_ACCUMULATION)
MUTANT_FUNCTION(BF16_PRODUCTS)
MUTANT_FUNCTION(F16_ACTIVATIONS)
MUTANT_FUNCTION(SUBNORMALS_FLUSHED)
MUTANT_FUNCTION(OUTPUT_TRUNCATED)
MUTANT_FUNCTION(NAN_HIDDEN)

#define MUTANT(short_name, text, ids, which)            \
    {                                                   \
        .fault = text, .catalogue = ids, .route = {     \
            .name = "linear.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                       \
            .profile = ASSAY_PROFILE_F32,               \
            .run = run_##which                          \
        }                                               \
    }

const struct case_mutant linear_mutants[LINEAR_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("one_element", "one element is off by 2^-7", "", ONE_WRONG_ELEMENT),
    MUTANT("padding_columns", "columns behind K are read", "B172", PADDING_COLUMNS),
    MUTANT("tail_dropped", "the tail of K behind the last tile is dropped", "B105", TAIL_DROPPED),
    MUTANT("odd_step", "a loop of step two has no remainder step", "B117", ODD_STEP_DROPPED),
    MUTANT("split_twice", "the split point of K is counted twice", "B105", SPLIT_COUNTED_TWICE),
    MUTANT("neighbour_row", "the last row of an unfinished tile is its neighbour's", "B114",
           NEIGHBOUR_ROW),
    MUTANT("first_tile", "every tile of rows reads the first tile of x", "", FIRST_TILE_OF_X),
    MUTANT("bf16_sum", "sums are kept in bf16", "", BF16_ACCUMULATION),
    MUTANT("bf16_products", "products are rounded to bf16", "", BF16_PRODUCTS),
    MUTANT("f16_x", "activations are rounded to fp16", "B106", F16_ACTIVATIONS),
    MUTANT("flushed", "subnormal activations count as zero", "", SUBNORMALS_FLUSHED),
    MUTANT("truncated", "a bf16 output is cut, not rounded", "", OUTPUT_TRUNCATED),
    MUTANT("nan_hidden", "NaN activations count as zero", "", NAN_HIDDEN),
};
