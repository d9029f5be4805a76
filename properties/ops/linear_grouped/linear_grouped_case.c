/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's cases.
 */
#include "linear_grouped_mutants.h"

#include <string.h>

#include "product_case.h"
#include "product_weights.h"

/* Every small T one by one: tiles, their remainders and the single-row path. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 12, 13, 15,
                                     16, 17, 19, 23, 24, 25, 31, 32, 33, 47, 64, 65, -1};
/* Around groups of 32 and 64 and the padding of 128; inner lengths of the 27B shapes. */
static const int64_t inner_lengths[] = {1,   2,   3,   7,    8,    31,   32,   33,    63,  64,  65,
                                        96,  97,  127, 128,  129,  160,  191,  192,   193, 256, 257,
                                        384, 640, 777, 1000, 1024, 5120, 6144, 17408, -1};
static const int64_t column_counts[] = {1,  2,   3,   7,   8,    9,    12,    31,
                                        33, 127, 129, 500, 1023, 3000, 32768, -1};
static const char *const formats[] = {"q4g64", "q5g64", "q6g64", "q8g32"};
/* What stands in columns K and beyond: zeros, as encoders write it, or anything. */
static const char *const paddings[] = {"written", "garbage"};

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
     .fallback = 203,
     .values = inner_lengths},
    {.name = "w", .kind = CASE_CHOICE, .hi = 3, .fallback = 0, .names = formats},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "residual", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    {.name = "padding", .kind = CASE_CHOICE, .hi = 1, .fallback = 0, .names = paddings},
};

static enum assay_weight_format format_of(const struct assay_case *c)
{
    return assay_weight_format_from_name(formats[case_get(c, "w")]);
}

/* Brings T into the range of a route that takes some T only, so that its base case is one of its
 * own. */
static void fit_route(struct assay_case *c)
{
    int64_t rows = case_get(c, "T");
    if (strncmp(c->route, "linear_grouped.gemv.", 20) == 0 && rows > 1)
        case_set(c, "T", 1);
    bool has_few_rows = strncmp(c->route, "linear_grouped.small.", 21) == 0 ||
                        strncmp(c->route, "linear_grouped.wide.", 20) == 0;
    if (has_few_rows && rows > 32)
        case_set(c, "T", 32);
}

static void adjust(struct assay_case *c)
{
    fit_route(c);
    if (c->layout == CASE_INPLACE) { /* y is the residual */
        case_set(c, "residual", 1);
        case_set(c, "y", ASSAY_F32);
    }
    product_case_shorten(c, 500000);
}

static bool exact(const struct assay_case *c)
{
    return product_weights_exact(format_of(c), case_get(c, "K"));
}

static bool build(struct trial *trial)
{
    struct assay_linear_grouped_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, y_extent[] = {rows, case_get(c, "N")};
    struct values x = product_weights_x(c, format_of(c), inner);
    if (case_get(c, "residual") != 0) /* first: layout inplace makes it y */
        a->residual = trial_input(trial, "residual", ASSAY_F32, 2, y_extent, values_of(c));
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent, x);
    product_weights(trial, c->dist, format_of(c), case_get(c, "N"), inner,
                    case_get(c, "padding") != 0, &a->w);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear_grouped = {
    .op = &assay_op_linear_grouped,
    .oracle_name = "linear_grouped",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED | 1u << CASE_INPLACE,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_grouped_mutants,
    .num_mutants = LINEAR_GROUPED_NUM_MUTANTS,
    .row_fields = "x residual y",
};
