/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's cases. Planes are random bytes: every code occurs, also those that no encoder
 * writes (-128 of q8g32); scales are of either sign.
 */
#include "linear_grouped_mutants.h"

#include <math.h>
#include <string.h>

#include "product_case.h"
#include "words.h"

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
    if (strncmp(c->route, "linear_grouped.small.", 21) == 0 && rows > 32)
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

/* Activations up to 4, codes up to 128, scales up to 2 in steps of 1/2: partial sums below 2^24
 * steps are exact. */
static bool exact(const struct assay_case *c)
{
    return case_get(c, "K") * 4 * 128 * 4 < 1 << 24;
}

/* Scales that go with the distribution of x, so that the product shows what x was drawn for. */
static struct values scales_for(const struct assay_case *c)
{
    struct values scales = {.dist = CASE_DIST_NORMAL, .scale = 0.02};
    switch (c->dist) {
    case CASE_DIST_EXACT:
        return (struct values){.dist = CASE_DIST_EXACT, .scale = 0.5};
    case CASE_DIST_TIES:
    case CASE_DIST_CANCEL: /* equal weights leave what is left of each pair */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 0, .shift = 1};
    case CASE_DIST_OUTLIERS:
        scales.dist = c->dist;
        return scales;
    default:
        return scales;
    }
}

static struct values bytes_for(const struct assay_case *c)
{
    if (c->dist == CASE_DIST_CANCEL) /* one code, not zero in any format */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 0, .shift = 0xff};
    return (struct values){.dist = CASE_DIST_UNIFORM, .scale = 127.5, .shift = 127.5};
}

/* Zeros the code of a column; its byte of a plane holds columns before K, too, or it does not. */
static void put_zero(struct trial *trial, const struct assay_tensor *plane, int64_t row,
                     int64_t bit, int bits, int value)
{
    int64_t at = row * plane->extent[1] + bit / 8;
    int mask = ((1 << bits) - 1) << bit % 8;
    int64_t byte = oracle_get_int(plane, at);
    trial_put_int(trial, plane, at, (byte & ~mask) | (value << bit % 8 & mask));
}

static void write_padding(struct trial *trial, const struct assay_weights *w)
{
    int bits = assay_weight_bits(w->format), low = bits == 8 ? 8 : 4, extra = bits - low;
    int zero = bits == 8 ? 0 : 1 << (bits - 1);
    int64_t padded = w->base.extent[1] * 8 / low, group = assay_weight_group(w->format);
    for (int64_t n = 0; n < w->rows; n++) {
        for (int64_t k = w->columns; k < padded; k++) {
            put_zero(trial, &w->base, n, low * k, low, zero & 15);
            if (extra > 0)
                put_zero(trial, &w->high, n, extra * k, extra, zero >> 4);
        }
        for (int64_t g = (w->columns + group - 1) / group; g < w->scales.extent[1]; g++)
            trial_put(trial, &w->scales, n * w->scales.extent[1] + g, 0);
    }
}

/* Groups of nothing but padding get a NaN. */
static void spoil_padding(struct trial *trial, const struct assay_weights *w)
{
    int64_t group = assay_weight_group(w->format);
    for (int64_t n = 0; n < w->rows; n++)
        for (int64_t g = (w->columns + group - 1) / group; g < w->scales.extent[1]; g++)
            trial_put(trial, &w->scales, n * w->scales.extent[1] + g, NAN);
}

static void build_weights(struct trial *trial, struct assay_weights *w)
{
    const struct assay_case *c = trial->c;
    int64_t columns = case_get(c, "N"), inner = case_get(c, "K");
    enum assay_weight_format format = format_of(c);
    int64_t padded = (inner + 127) / 128 * 128, group = assay_weight_group(format);
    int bits = assay_weight_bits(format);
    int64_t base[] = {columns, bits == 8 ? padded : padded / 2};
    int64_t high[] = {columns, padded / 8 * (bits - 4)}, scale[] = {columns, padded / group};
    struct values scales = scales_for(c);
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout == CASE_STRIDED)
        scales = values_of(c);
    *w = (struct assay_weights){.format = format, .rows = columns, .columns = inner};
    w->base = trial_input(trial, "w.base", ASSAY_U8, 2, base, bytes_for(c));
    if (bits == 5 || bits == 6)
        w->high = trial_input(trial, "w.high", ASSAY_U8, 2, high, bytes_for(c));
    w->scales = trial_input(trial, "w.scales", ASSAY_F16, 2, scale, scales);
    int64_t used = (inner + group - 1) / group;
    if (columns >= 3 && c->dist != CASE_DIST_CANCEL)
        trial_put(trial, &w->scales, columns / 2 * scale[1], 0);
    if (c->dist == CASE_DIST_NONFINITE)
        trial_put(trial, &w->scales,
                  trial_below(trial, "nan row", 0, columns) * scale[1] +
                      trial_below(trial, "nan group", 0, used),
                  NAN);
    if (inner == padded)
        return;
    if (case_get(c, "padding") == 0)
        write_padding(trial, w);
    else
        spoil_padding(trial, w);
}

static bool build(struct trial *trial)
{
    struct assay_linear_grouped_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, y_extent[] = {rows, case_get(c, "N")};
    struct values x = values_of(c), residual = values_of(c);
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout == CASE_STRIDED) /* the scales' turn */
        x = (struct values){.dist = CASE_DIST_NORMAL, .scale = 1};
    if (c->dist == CASE_DIST_LARGE) /* the sum of |x code| stays finite: the contract asks for it */
        x.scale = 1 / (128 * (double)inner);
    if (case_get(c, "residual") != 0) /* first: layout inplace makes it y */
        a->residual = trial_input(trial, "residual", ASSAY_F32, 2, y_extent, residual);
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent, x);
    build_weights(trial, &a->w);
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
