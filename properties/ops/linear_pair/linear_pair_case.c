/* SPDX-License-Identifier: MIT
 *
 * linear_pair's cases. N is the rows of w[0]; the other matrices have other numbers of rows, so
 * that tiles and blocks of all meet their ends at different places.
 */
#include "linear_pair_mutants.h"

#include <stdio.h>
#include <string.h>

#include "product_case.h"
#include "product_weights.h"

/* Every small T one by one: tiles, their remainders and the single-row path. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,
                                     13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  23,  24,  25,
                                     26, 27, 28, 29, 30, 31, 32, 33, 64, 127, 128, 129, -1};
/* Around groups of 32 and 64 and the padding of 128; inner lengths of the 27B shapes. */
static const int64_t inner_lengths[] = {1,   2,   7,   31,  32,  33,  63,   64,   65, 127,
                                        128, 129, 160, 191, 192, 193, 1000, 5120, -1};
static const int64_t column_counts[] = {1,  2,  3,  4,  5,   8,   15,  16,   17,
                                        31, 33, 63, 65, 129, 257, 500, 3000, -1};
static const char *const formats[] = {"bf16", "q4g64", "q5g64", "q6g64", "q8g32"};
/* What stands in columns K and beyond: zeros, as encoders write it, or anything. */
static const char *const paddings[] = {"written", "garbage"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)
#define FORMAT_OF(param, first)                                                          \
    {                                                                                    \
        .name = param, .kind = CASE_CHOICE, .hi = 4, .fallback = first, .names = formats \
    }

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
    {.name = "products", .kind = CASE_COUNT, .lo = 2, .hi = 4, .fallback = 3},
    FORMAT_OF("w0", 1),
    FORMAT_OF("w1", 0),
    FORMAT_OF("w2", 4),
    FORMAT_OF("w3", 3),
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "padding", .kind = CASE_CHOICE, .hi = 1, .fallback = 0, .names = paddings},
};

static const char *const format_names[ASSAY_LINEAR_PAIR_MAX] = {"w0", "w1", "w2", "w3"};

static enum assay_weight_format format_of(const struct assay_case *c, int i)
{
    return assay_weight_format_from_name(formats[case_get(c, format_names[i])]);
}

/* Of w[i]: as k and v beside q, or a and b beside the others. */
static int64_t rows_of(const struct assay_case *c, int i)
{
    int64_t n = case_get(c, "N");
    const int64_t rows[ASSAY_LINEAR_PAIR_MAX] = {n, (n + 2) / 3, n + 5, 2};
    return rows[i];
}

/* A format for each T that a route for one row does not take. */
static void adjust(struct assay_case *c)
{
    int64_t rows = case_get(c, "T");
    if (strstr(c->route, ".gemv.") != NULL && rows > 1) {
        case_set(c, "w1", (rows + case_get(c, "w1")) % 5);
        case_set(c, "T", 1);
    }
    if (strstr(c->route, ".bf16.") != NULL)
        for (int i = 0; i < ASSAY_LINEAR_PAIR_MAX; i++)
            case_set(c, format_names[i], 0);
    product_case_shorten(c, 200000);
}

static bool exact(const struct assay_case *c)
{
    return product_weights_exact(ASSAY_WEIGHT_Q8G32, case_get(c, "K"));
}

static bool build(struct trial *trial)
{
    struct assay_linear_pair_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t inner = case_get(c, "K"), tokens = case_get(c, "T");
    int64_t x_extent[] = {tokens, inner};
    enum assay_weight_format widest = ASSAY_WEIGHT_BF16;
    a->num_products = (int)case_get(c, "products");
    for (int i = 0; i < a->num_products; i++)
        if (format_of(c, i) != ASSAY_WEIGHT_BF16)
            widest = ASSAY_WEIGHT_Q8G32;
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent,
                       product_weights_x(c, widest, inner));
    for (int i = 0; i < ASSAY_LINEAR_PAIR_MAX; i++) {
        char w[16], y[16];
        snprintf(w, sizeof w, "w[%d]", i);
        snprintf(y, sizeof y, "y[%d]", i);
        bool is_there = i < a->num_products;
        int64_t extent[] = {is_there ? tokens : 0, rows_of(c, i)};
        if (is_there)
            product_weights_named(trial, w, c->dist, format_of(c, i), rows_of(c, i), inner,
                                  case_get(c, "padding") != 0, &a->w[i]);
        /* The last of three or more is bf16 when the others are binary32, and the other way. */
        enum assay_dtype dtype = (enum assay_dtype)case_get(c, "y");
        if (i > 1 && i == a->num_products - 1)
            dtype = dtype == ASSAY_F32 ? ASSAY_BF16 : ASSAY_F32;
        struct assay_tensor output = trial_output(trial, y, dtype, 2, extent);
        if (is_there)
            a->y[i] = output;
    }
    return true;
}

const struct case_spec case_spec_linear_pair = {
    .op = &assay_op_linear_pair,
    .oracle_name = "linear_pair",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_pair_mutants,
    .num_mutants = LINEAR_PAIR_NUM_MUTANTS,
    .row_fields = "x y[0] y[1] y[2] y[3]",
};
