/* SPDX-License-Identifier: MIT
 *
 * linear_a8's cases.
 */
#include "linear_a8_mutants.h"

#include <math.h>
#include <string.h>

#include "product_case.h"
#include "oracle_formats.h"

/* Every small T one by one: tiles, their remainders and the kernel for few rows. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 15, 16,  17,
                                     18, 23, 24, 25, 31, 32, 33, 34, 47, 63, 64, 65, 129, -1};
/* 5120, 6144 and 17408 are the inner lengths of the 27B shapes, taken whole on few rows of w. */
static const int64_t inner_lengths[] = {1,   2,   31,  32,   33,   63,   64,   65,    95,
                                        96,  97,  127, 128,  129,  191,  192,  193,   255,
                                        257, 640, 777, 1000, 2048, 5120, 6144, 17408, -1};
static const int64_t column_counts[] = {1,  2,  3,  7,   8,   9,   15,  16,   17,   31,
                                        33, 63, 65, 127, 129, 191, 500, 1023, 3000, -1};

static const char *const formats[] = {"q4g64", "q5g64", "q6g64", "q8g32"};

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
     .fallback = 161,
     .values = inner_lengths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "w", .kind = CASE_CHOICE, .lo = 0, .hi = 3, .fallback = 0, .names = formats},
    {.name = "residual", .kind = CASE_FLAG, .lo = 0, .hi = 1, .fallback = 1},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
};

static enum assay_weight_format format_of(const struct assay_case *c)
{
    return assay_weight_format_from_name(formats[case_get(c, "w")]);
}

static void adjust(struct assay_case *c)
{
    if (c->layout == CASE_INPLACE) { /* y is the residual */
        case_set(c, "residual", 1);
        case_set(c, "y", ASSAY_F32);
    }
    if (strncmp(c->route, "linear_a8.small.", 16) == 0 && case_get(c, "T") > 32)
        case_set(c, "T", 32);
    product_case_shorten(c, 1000000);
}

/* Scales are powers of two then: y is an integer, of fewer than 24 bits. */
static bool exact(const struct assay_case *c)
{
    int bits = oracle_weight_format(format_of(c)).bits;
    return case_get(c, "K") * 127 * ((int64_t)1 << (bits - 1)) < (1 << 24) - 8;
}

/* ---- activations ---------------------------------------------------------------------------- */

static struct values activations(const struct assay_case *c)
{
    struct values x = values_of(c);
    if (c->dist == CASE_DIST_LARGE) /* about the largest scale of binary16 */
        x.scale =
            case_get(c, "x") == ASSAY_F32 ? 8.36e6 * 4 / 0x1.fffffep127 : 8.36e6 * 4 / 0x1.fep127;
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout != CASE_INPLACE) /* see scale_for */
        x = (struct values){.dist = CASE_DIST_NORMAL,
                            .scale = c->layout == CASE_STRIDED ? 0x1p-15 : 1};
    return x;
}

/* A column of each group is 127 or -127, so that the scale is 1: exact has integers beside it, ties
 * half integers. Column 0 of a group cannot stay the one: it is drawn. */
static void put_codes(struct trial *trial, const struct assay_tensor *x)
{
    bool ties = trial->c->dist == CASE_DIST_TIES;
    int64_t inner = x->extent[1];
    for (int64_t i = 0; i < assay_tensor_count(x); i++) {
        int64_t k = i % inner, first = k - k % 64, count = inner - first < 64 ? inner - first : 64;
        int64_t group = i / inner * inner + first;
        bool is_largest = first + trial_below(trial, "largest", (uint64_t)group, count) == k;
        double value = (double)(trial_below(trial, "codes", (uint64_t)i, 253) - 126);
        if (is_largest)
            value = value < 0 ? -127 : 127;
        else if (ties)
            value += 0.5;
        trial_put(trial, x, i, value);
    }
}

/* ---- weights -------------------------------------------------------------------------------- */

/* Bytes of any value; the code of column 0 is no zero, so that no y is one by chance. */
static struct assay_tensor plane(struct trial *trial, const char *name, int64_t rows, size_t bytes)
{
    int64_t extent[] = {rows, (int64_t)bytes};
    struct values zeros = {.dist = CASE_DIST_ZEROS, .scale = 1};
    struct assay_tensor tensor = trial_input(trial, name, ASSAY_U8, 2, extent, zeros);
    for (int64_t i = 0; i < assay_tensor_count(&tensor); i++) {
        int64_t byte = trial_below(trial, name, (uint64_t)i, 256);
        trial_put_int(trial, &tensor, i, i % (int64_t)bytes == 0 ? byte | 15 : byte);
    }
    return tensor;
}

/* Subnormal: scales of w when packed, of x when strided; when in place x itself. */
static double scale_for(const struct trial *trial, int64_t i)
{
    uint64_t at = (uint64_t)i;
    enum case_dist dist = trial->c->dist;
    if (dist == CASE_DIST_EXACT)
        return 1;
    double scale = (1 + trial_uniform(trial, "significand", at)) *
                   ldexp(1, -4 - (int)trial_below(trial, "exponent", at, 6));
    if (trial_below(trial, "sign", at, 8) == 0)
        scale = -scale;
    if (dist == CASE_DIST_SUBNORMAL && trial->c->layout == CASE_PACKED)
        scale *= 0x1p-14;
    int64_t special = dist == CASE_DIST_NONFINITE ? trial_below(trial, "special", at, 64) : 63;
    return special == 0 ? NAN : special == 1 ? INFINITY : special == 2 ? 0 : scale;
}

/* Any codes; scales of both signs. Padding has codes as well, and scales that are NaN. */
static struct assay_weights weights(struct trial *trial, int64_t rows, int64_t columns)
{
    struct assay_weights w = {.format = format_of(trial->c), .rows = rows, .columns = columns};
    struct assay_weight_layout row;
    struct assay_error error;
    if (assay_weight_layout_of(w.format, 1, columns, &row, &error) != ASSAY_OK)
        return w;
    w.base = plane(trial, "w.base", rows, row.base_bytes);
    if (row.high_bytes > 0)
        w.high = plane(trial, "w.high", rows, row.high_bytes);
    int64_t extent[] = {rows, (int64_t)row.scales_bytes / 2};
    struct values zeros = {.dist = CASE_DIST_ZEROS, .scale = 1};
    w.scales = trial_input(trial, "w.scales", ASSAY_F16, 2, extent, zeros);
    int64_t groups = w.scales.extent[w.scales.rank - 1];
    int group = oracle_weight_format(w.format).group;
    for (int64_t i = 0; w.scales.rank == 2 && i < rows * groups; i++) {
        bool is_padding = i % groups * group >= columns;
        trial_put(trial, &w.scales, i, is_padding ? NAN : scale_for(trial, i));
    }
    return w;
}

static bool build(struct trial *trial)
{
    struct assay_linear_a8_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "N"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, y_extent[] = {rows, columns};
    enum assay_dtype x_format = (enum assay_dtype)case_get(c, "x");
    if (case_get(c, "residual") != 0) { /* first: layout inplace makes it y */
        struct values residual = {.dist = CASE_DIST_NORMAL, .scale = 1};
        if (c->dist == CASE_DIST_EXACT || c->dist == CASE_DIST_NONFINITE)
            residual.dist = c->dist;
        if (c->dist == CASE_DIST_SUBNORMAL) /* hides no small sum */
            residual.scale = 0x1p-24;
        a->residual = trial_input(trial, "residual", ASSAY_F32, 2, y_extent, residual);
    } else {
        a->residual = (struct assay_tensor){.dtype = ASSAY_F32, .rank = 2};
    }
    a->x = trial_input(trial, "x", x_format, 2, x_extent, activations(c));
    if (c->dist == CASE_DIST_EXACT || c->dist == CASE_DIST_TIES)
        put_codes(trial, &a->x);
    a->w = weights(trial, columns, inner);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear_a8 = {
    .op = &assay_op_linear_a8,
    .oracle_name = "linear_a8",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED | 1u << CASE_INPLACE,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_a8_mutants,
    .num_mutants = LINEAR_A8_NUM_MUTANTS,
    .row_fields = "x residual y",
};
