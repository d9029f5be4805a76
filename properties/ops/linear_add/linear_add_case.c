/* SPDX-License-Identifier: MIT
 *
 * linear_add's cases.
 */
#include "linear_add_mutants.h"

#include <string.h>

#include "product_case.h"
#include "product_weights.h"

/* Register tiles and their remainders, the single row, and both sides of 24 and 32. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 13,
                                     16, 17, 23, 24, 25, 31, 32, 33, 64, 65, -1};
/* Around groups of 32 and 64 and the padding of 128; inner lengths of the 27B shapes. */
static const int64_t inner_lengths[] = {1,   2,   7,   8,   31,  33,  63,   64,   65,   127,   128,
                                        129, 160, 192, 193, 257, 640, 1000, 5120, 6144, 17408, -1};
static const int64_t column_counts[] = {1,  2,  3,   7,   9,   31,   32,    33,
                                        64, 65, 127, 129, 500, 3000, 32768, -1};
static const char *const formats[] = {"bf16", "q4g64", "q5g64", "q6g64", "q8g32"};
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
    {.name = "w", .kind = CASE_CHOICE, .hi = 4, .fallback = 0, .names = formats},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "padding", .kind = CASE_CHOICE, .hi = 1, .fallback = 0, .names = paddings},
};

static enum assay_weight_format format_of(const struct assay_case *c)
{
    return assay_weight_format_from_name(formats[case_get(c, "w")]);
}

/* Brings format and T into the range of a route that takes some only. The grouped formats take
 * turns. */
static void fit_route(struct assay_case *c)
{
    int64_t rows = case_get(c, "T"), format = case_get(c, "w");
    if (strstr(c->route, ".bf16.") != NULL)
        case_set(c, "w", 0);
    if (strstr(c->route, ".grouped.") != NULL && format == 0)
        case_set(c, "w", 1 + (rows + case_get(c, "N") + case_get(c, "K")) % 4);
    if (strstr(c->route, ".gemv.") != NULL && rows > 1)
        case_set(c, "T", 1);
    if (strstr(c->route, ".small.") != NULL && rows > 32)
        case_set(c, "T", 32);
    if (strstr(c->route, ".cublas.") != NULL && rows > 0 && rows <= 32)
        case_set(c, "T", rows + 32);
}

static void adjust(struct assay_case *c)
{
    fit_route(c);
    if (c->layout == CASE_INPLACE) /* y is r */
        case_set(c, "y", ASSAY_F32);
    bool is_slow = strstr(c->route, ".simt") != NULL;  /* the executor */
    product_case_shorten(c, is_slow ? 90000 : 500000); /* N = 145 stays */
}

static bool exact(const struct assay_case *c)
{
    return product_weights_exact(format_of(c), case_get(c, "K"));
}

static bool build(struct trial *trial)
{
    struct assay_linear_add_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t inner = case_get(c, "K"), columns = case_get(c, "N");
    int64_t x_extent[] = {case_get(c, "T"), inner}, y_extent[] = {case_get(c, "T"), columns};
    /* r first: layout inplace makes it y */
    a->r = trial_input(trial, "r", ASSAY_F32, 2, y_extent, values_of(c));
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent,
                       product_weights_x(c, format_of(c), inner));
    product_weights(trial, c->dist, format_of(c), columns, inner, case_get(c, "padding") != 0,
                    &a->w);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear_add = {
    .op = &assay_op_linear_add,
    .oracle_name = "linear_add",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED | 1u << CASE_INPLACE,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_add_mutants,
    .num_mutants = LINEAR_ADD_NUM_MUTANTS,
    .row_fields = "x r y",
};
