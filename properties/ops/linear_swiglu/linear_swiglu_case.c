/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu's cases.
 */
#include "linear_swiglu_mutants.h"

#include <math.h>
#include <string.h>

#include "product_case.h"
#include "product_weights.h"
#include "words.h"

/* Every small T one by one: tiles, their remainders and the single-row path. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,
                                     13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  23,  24,  25,
                                     26, 27, 28, 29, 30, 31, 32, 33, 64, 127, 128, 129, -1};
/* Around groups of 32 and 64 and the padding of 128; inner lengths of the 27B shapes. */
static const int64_t inner_lengths[] = {1,   2,   7,   31,  32,  33,  63,   64,   65, 127,
                                        128, 129, 160, 191, 192, 193, 1000, 5120, -1};
static const int64_t column_counts[] = {1,  2,  3,  4,   5,   8,   15,   16,    17,
                                        31, 33, 63, 129, 257, 500, 3000, 17408, -1};
static const char *const formats[] = {"bf16", "q4g64", "q5g64", "q6g64", "q8g32"};
/* The format of up. */
static const char *const up_formats[] = {"same", "bf16", "q4g64", "q5g64", "q6g64", "q8g32"};
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
    {.name = "gate", .kind = CASE_CHOICE, .hi = 4, .fallback = 1, .names = formats},
    {.name = "up", .kind = CASE_CHOICE, .hi = 5, .fallback = 0, .names = up_formats},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "padding", .kind = CASE_CHOICE, .hi = 1, .fallback = 0, .names = paddings},
};

static enum assay_weight_format gate_format(const struct assay_case *c)
{
    return assay_weight_format_from_name(formats[case_get(c, "gate")]);
}

static enum assay_weight_format up_format(const struct assay_case *c)
{
    int64_t up = case_get(c, "up");
    return up == 0 ? gate_format(c) : assay_weight_format_from_name(up_formats[up]);
}

/* Routes for one row take one format; the grouped formats take turns. */
static void adjust(struct assay_case *c)
{
    if (strstr(c->route, ".gemv.") != NULL) {
        int64_t rows = case_get(c, "T"), gate = case_get(c, "gate");
        if (strstr(c->route, ".bf16.") != NULL)
            case_set(c, "gate", 0);
        else if (rows > 1 || gate == 0)
            case_set(c, "gate", 1 + (rows + gate + case_get(c, "N")) % 4);
        case_set(c, "T", rows > 1 ? 1 : rows);
        case_set(c, "up", 0);
    }
    /* Of one element tied terms may leave zero, which shows nothing. */
    if (c->dist == CASE_DIST_TIES && case_get(c, "T") * case_get(c, "N") == 1)
        c->dist = CASE_DIST_NORMAL;
    product_case_shorten(c, 250000);
}

/* Every g is 0 or an integer from 64 on, whose silu in binary64 is g; every product g u is an
 * integer below 2^24: at most 2 * 3 * 128 * 2 K^2. */
static bool exact(const struct assay_case *c)
{
    return case_get(c, "y") == ASSAY_F32 && case_get(c, "K") <= 100;
}

static void each(struct trial *trial, const struct assay_tensor *tensor,
                 double (*change)(double value))
{
    for (int64_t i = 0; i < assay_tensor_count(tensor); i++)
        trial_put(trial, tensor, i, change(oracle_get(tensor, i)));
}

static void each_byte(struct trial *trial, const struct assay_tensor *plane, int keep, int set)
{
    for (int64_t i = 0; plane->data != NULL && i < assay_tensor_count(plane); i++)
        trial_put_int(trial, plane, i, (oracle_get_int(plane, i) & keep) | set);
}

static double one_or_two(double value)
{
    return fabs(value) > 2 ? 2 : 1;
}

static double sign_of(double value)
{
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

static double sign_or_one(double value)
{
    return value < 0 ? -1 : 1;
}

static double times_64(double value)
{
    return 64 * one_or_two(value);
}

/* Codes 0 .. `most`, which is 1 or 3. */
static void make_codes(struct trial *trial, const struct assay_weights *w, int most)
{
    int bits = assay_weight_bits(w->format), zero = w->format == ASSAY_WEIGHT_Q4G64 ? 0x88 : 0;
    each_byte(trial, &w->base, bits == 8 ? most : 0x11 * most, zero);
    each_byte(trial, &w->high, 0, bits == 5 ? 0xff : 0xaa);
}

/* For dist=exact: gates of large positive integers, those of one row zeros, and small others. The
 * codes of the padding are garbage then, under scales that are whatever they were. */
static void make_exact(struct trial *trial, struct assay_linear_swiglu_args *a)
{
    each(trial, &a->x, one_or_two);
    if (a->gate.format == ASSAY_WEIGHT_BF16) {
        each(trial, &a->gate.base, times_64);
    } else {
        make_codes(trial, &a->gate, 3);
        each(trial, &a->gate.scales, times_64);
    }
    if (a->up.format == ASSAY_WEIGHT_BF16) {
        each(trial, &a->up.base, sign_of);
    } else {
        make_codes(trial, &a->up, 1);
        each(trial, &a->up.scales, sign_or_one);
    }
    const struct assay_tensor *zeroed =
        a->gate.format == ASSAY_WEIGHT_BF16 ? &a->gate.base : &a->gate.scales;
    int64_t row = zeroed->extent[1], first = zeroed->extent[0] / 2 * row;
    for (int64_t i = first; zeroed->extent[0] >= 3 && i < first + row; i++)
        trial_put(trial, zeroed, i, 0);
}

static bool build(struct trial *trial)
{
    struct assay_linear_swiglu_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t columns = case_get(c, "N"), inner = case_get(c, "K");
    int64_t x_extent[] = {case_get(c, "T"), inner}, y_extent[] = {case_get(c, "T"), columns};
    bool garbage = case_get(c, "padding") != 0;
    bool has_grouped = gate_format(c) != ASSAY_WEIGHT_BF16 || up_format(c) != ASSAY_WEIGHT_BF16;
    struct values x =
        product_weights_x(c, has_grouped ? ASSAY_WEIGHT_Q8G32 : ASSAY_WEIGHT_BF16, inner);
    if (c->dist == CASE_DIST_CANCEL) /* gates whose silu is neither 0 nor the gate */
        x.scale = 0x1p-8;
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent, x);
    product_weights_named(trial, "gate", c->dist, gate_format(c), columns, inner, garbage,
                          &a->gate);
    product_weights_named(trial, "up", c->dist, up_format(c), columns, inner, garbage, &a->up);
    if (c->dist == CASE_DIST_EXACT)
        make_exact(trial, a);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear_swiglu = {
    .op = &assay_op_linear_swiglu,
    .oracle_name = "linear_swiglu",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = product_case_claims,
    .mutants = linear_swiglu_mutants,
    .num_mutants = LINEAR_SWIGLU_NUM_MUTANTS,
    .row_fields = "x y",
};
