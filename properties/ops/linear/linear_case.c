/* SPDX-License-Identifier: MIT
 *
 * linear's cases.
 */
#include "linear_mutants.h"

#include <string.h>

#include "product_case.h"

/* Every small T one by one: tiles, their remainders and the single-row path. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                     13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                     26, 27, 28, 29, 30, 31, 32, 33, 47, 64, 65, -1};
/* 5120, 6144 and 17408 are the inner lengths of the 27B shapes, taken whole on few rows of w. */
static const int64_t inner_lengths[] = {1,   2,   3,   5,   63,   64,   65,   100,   127, 128,
                                        129, 257, 640, 777, 1000, 5120, 6144, 17408, -1};
/* 3000 rows are more than one range of the thread pool and one panel at the base K. */
static const int64_t column_counts[] = {1,  2,   3,   7,   8,    9,    12,    31,
                                        33, 127, 129, 500, 1023, 3000, 32768, -1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "N",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 262144,
     .fallback = 13,
     .values = column_counts},
    {.name = "K",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 65536,
     .fallback = 97,
     .values = inner_lengths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
};

/* Brings T into the range of a route that takes some T only, so that its base case is one of its
 * own. */
static void fit_route(struct assay_case *c)
{
    int64_t rows = case_get(c, "T");
    if (strncmp(c->route, "linear.gemv.", 12) == 0 && rows > 1)
        case_set(c, "T", 1);
    if (strncmp(c->route, "linear.small.", 13) == 0 && rows > 32)
        case_set(c, "T", 32);
    if (strncmp(c->route, "linear.cublas.", 14) == 0 && rows > 0 && rows <= 32)
        case_set(c, "T", rows + 32);
}

static void adjust(struct assay_case *c)
{
    fit_route(c);
    product_case_shorten(c, 1000000);
}

/* Small integers: every partial sum is exact below 2^24. */
static bool exact(const struct assay_case *c)
{
    return case_get(c, "K") * 4 * 4 < 1 << 24;
}

/* Weights that go with the distribution of x, so that the product shows what x was drawn for. */
static struct values weights_for(const struct assay_case *c)
{
    struct values weights = {.dist = CASE_DIST_NORMAL, .scale = 0.25};
    switch (c->dist) {
    case CASE_DIST_EXACT:
    case CASE_DIST_TIES:
        return (struct values){.dist = CASE_DIST_EXACT, .scale = 1};
    case CASE_DIST_CANCEL: /* equal weights leave what is left of each pair */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 1};
    case CASE_DIST_LARGE: /* the sum of magnitudes stays finite: the contract asks for it */
        return (struct values){.dist = CASE_DIST_UNIFORM, .scale = 1 / (double)case_get(c, "K")};
    case CASE_DIST_OUTLIERS:
    case CASE_DIST_NONFINITE:
        weights.dist = c->dist;
        return weights;
    default:
        return weights;
    }
}

static bool build(struct trial *trial)
{
    struct assay_linear_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "N"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, w_extent[] = {columns, inner};
    int64_t y_extent[] = {rows, columns};
    struct values x = values_of(c), w = weights_for(c);
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout == CASE_STRIDED) { /* the other's turn */
        w = x;
        w.scale = 0.25;
        x = (struct values){.dist = CASE_DIST_NORMAL, .scale = 1};
    }
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent, x);
    a->w = trial_input(trial, "w", ASSAY_BF16, 2, w_extent, w);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear = {
    .op = &assay_op_linear,
    .oracle_name = "linear",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_mutants,
    .num_mutants = LINEAR_NUM_MUTANTS,
    .row_fields = "x y",
};
