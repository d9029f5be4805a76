/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's cases.
 */
#include "linear_w8row_mutants.h"

#include <math.h>

#include "product_case.h"
#include "oracle_formats.h"
#include "words.h"

/* Tiles and their remainders. */
static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,   9,
                                     15, 16, 17, 31, 33, 63, 64, 65, 129, -1};
/* 5120, 6144 and 17408 are the inner lengths of the 27B shapes, taken whole on few rows of w. */
static const int64_t inner_lengths[] = {1,   2,   31,  32,  33,   63,   64,   65,   127,   128, 129,
                                        255, 257, 512, 777, 1000, 2048, 5120, 6144, 17408, -1};
static const int64_t column_counts[] = {1,  2,  3,   7,   8,   9,    15,   16,
                                        17, 65, 127, 129, 500, 1023, 3000, -1};

static const char *const formats[] = {"q4g64", "q5g64", "q6g64", "q8g32"};

/* Gains of the channels of x: none; 1 % of them, and one at least, at 30 times; log-normal. */
enum { EVEN, OUTLIERS, LOGNORMAL };
static const char *const gains[] = {"even", "outliers", "lognormal"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

/* Codes of 8, 5 and 6 bits beyond the first slice of columns. */
static const char *const together[] = {"w=3 K=1100", "w=1 K=1100", "w=2 K=1100", NULL};

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
    {.name = "channels", .kind = CASE_CHOICE, .lo = 0, .hi = 2, .fallback = EVEN, .names = gains},
    {.name = "equalise", .kind = CASE_FLAG, .lo = 0, .hi = 1, .fallback = 1},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
};

static enum assay_weight_format format_of(const struct assay_case *c)
{
    return assay_weight_format_from_name(formats[case_get(c, "w")]);
}

static void adjust(struct assay_case *c)
{
    if (c->dist == CASE_DIST_EXACT) {
        case_set(c, "w", 3);
        case_set(c, "channels", EVEN);
    }
    product_case_shorten(c, 1000000);
}

/* Every step is a power of two then: y is an integer multiple of one, of fewer than 24 bits. */
static bool exact(const struct assay_case *c)
{
    return format_of(c) == ASSAY_WEIGHT_Q8G32 && case_get(c, "K") * 127 * 127 < 1 << 24;
}

/* ---- activations ---------------------------------------------------------------------------- */

static struct values activations(const struct assay_case *c)
{
    struct values x = values_of(c);
    if (c->dist == CASE_DIST_SUBNORMAL) /* packed: scales of w; strided: x near its floor */
        x = (struct values){.dist = CASE_DIST_NORMAL,
                            .scale = c->layout == CASE_STRIDED ? 0x1p-62 : 1};
    return x;
}

/* Only additions and powers of two, as values are drawn: exp(normal) is not the same everywhere. */
static double gain_of(const struct trial *trial, int64_t channel, int64_t inner)
{
    uint64_t at = (uint64_t)channel;
    if (case_get(trial->c, "channels") == OUTLIERS)
        return trial_below(trial, "gain", at, 100) == 0 || channel == inner / 2 ? 30 : 1;
    double sum = 0;
    for (uint64_t i = 0; i < 4; i++)
        sum += trial_uniform(trial, "gain", 4 * at + i);
    double exponent = (sum - 2) * 2.5, whole = floor(exponent);
    return ldexp(1 + exponent - whole, (int)whole); /* sigma of the logarithm: 1 */
}

static void apply_gains(struct trial *trial, const struct assay_tensor *x)
{
    int64_t inner = x->extent[1];
    for (int64_t i = 0; i < assay_tensor_count(x); i++)
        trial_put(trial, x, i, oracle_get(x, i) * gain_of(trial, i % inner, inner));
}

/* Exact: s[k] is 2^e, for e = 0, 1, 0, -1 in turn, which means that a[k] is 127 * 4^e. Of four rows
 * three have channels of one e only, all at their maximum: they are 127 or -127 in steps of a power
 * of two. The fourth has any integers as codes. Where there is no room for that all of x has one
 * magnitude. */
static int exponent_of(const struct assay_case *c, int64_t k)
{
    int64_t inner = case_get(c, "K");
    if (case_get(c, "equalise") == 0 || case_get(c, "T") < 3 || k >= inner / 4 * 4)
        return 0;
    return k % 4 == 1 ? 1 : k % 4 == 3 ? -1 : 0;
}

static double exact_value(const struct trial *trial, int64_t t, int64_t k)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), inner = case_get(c, "K");
    int e = exponent_of(c, k);
    uint64_t at = (uint64_t)(t * inner + k);
    double sign = trial_below(trial, "sign of x", at, 2) == 0 ? -1 : 1;
    bool any_codes = case_get(c, "equalise") == 0 || (rows >= 3 && inner >= 4 && t % 4 == 3);
    if (any_codes && k > 0)
        return ldexp((double)(trial_below(trial, "codes", at, 127) - 63), e);
    if (any_codes || rows < 3 || inner < 4)
        return sign * 127;
    int wanted = t % 4 == 1 ? 1 : t % 4 == 2 ? -1 : 0;
    return e == wanted ? sign * ldexp(127, 2 * e) : 0;
}

static void put_exact(struct trial *trial, const struct assay_tensor *x)
{
    int64_t inner = x->extent[1];
    for (int64_t i = 0; i < assay_tensor_count(x); i++)
        trial_put(trial, x, i, exact_value(trial, i / inner, i % inner));
}

/* ---- weights -------------------------------------------------------------------------------- */

static struct assay_tensor plane(struct trial *trial, const char *name, enum assay_dtype dtype,
                                 int64_t rows, size_t bytes)
{
    int64_t extent[] = {rows, (int64_t)(bytes / assay_dtype_bytes(dtype))};
    struct values zeros = {.dist = CASE_DIST_ZEROS, .scale = 1};
    struct assay_tensor tensor = trial_input(trial, name, dtype, 2, extent, zeros);
    bool is_exact = trial->c->dist == CASE_DIST_EXACT; /* codes: multiples of 4 up to 124 */
    for (int64_t i = 0; dtype == ASSAY_U8 && i < assay_tensor_count(&tensor); i++) {
        int64_t byte = trial_below(trial, name, (uint64_t)i, 256);
        if (is_exact)
            byte = byte / 4 * 4 == 128 ? 124 : byte / 4 * 4;
        trial_put_int(trial, &tensor, i, byte);
    }
    return tensor;
}

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

/* The last of several rows of q8g32: codes -128 and a few of 127, negative scales. Where -128 meets
 * the largest s of the group that sets the row's scale it is +128 steps. */
static bool is_extreme(const struct trial *trial, int64_t n)
{
    return n > 0 && n == case_get(trial->c, "N") - 1 && trial->c->dist != CASE_DIST_EXACT &&
           format_of(trial->c) == ASSAY_WEIGHT_Q8G32;
}

static void put_extremes(struct trial *trial, const struct assay_weights *w)
{
    int64_t bytes = w->base.extent[w->base.rank - 1], last = w->rows - 1;
    for (int64_t i = last * bytes; i < w->rows * bytes && is_extreme(trial, last); i++)
        trial_put_int(trial, &w->base, i,
                      trial_below(trial, "extreme", (uint64_t)i, 8) ? 128 : 127);
}

/* Any codes, -128 of q8g32 among them; scales of both signs. Padding has codes as well, and scales
 * that are NaN. */
static struct assay_weights weights(struct trial *trial, int64_t rows, int64_t columns)
{
    struct assay_weights w = {.format = format_of(trial->c), .rows = rows, .columns = columns};
    struct assay_weight_layout row;
    struct assay_error error;
    if (assay_weight_layout_of(w.format, 1, columns, &row, &error) != ASSAY_OK)
        return w;
    w.base = plane(trial, "w.base", ASSAY_U8, rows, row.base_bytes);
    if (row.high_bytes > 0)
        w.high = plane(trial, "w.high", ASSAY_U8, rows, row.high_bytes);
    put_extremes(trial, &w);
    w.scales = plane(trial, "w.scales", ASSAY_F16, rows, row.scales_bytes);
    int64_t groups = w.scales.extent[w.scales.rank - 1];
    int group = oracle_weight_format(w.format).group;
    for (int64_t i = 0; w.scales.rank == 2 && i < rows * groups; i++) {
        bool is_padding = i % groups * group >= columns;
        double scale = scale_for(trial, i);
        scale = is_extreme(trial, i / groups) ? -fabs(scale) : scale;
        trial_put(trial, &w.scales, i, is_padding ? NAN : scale);
    }
    return w;
}

/* A first row of finite elements but for one NaN. */
static void put_nan(struct trial *trial, const struct assay_tensor *x, int64_t inner)
{
    for (int64_t k = 0; k < inner && x->extent[0] > 0; k++)
        trial_put(trial, x, k, k == inner / 2 ? NAN : 1 + (double)(k % 3));
}

static bool build(struct trial *trial)
{
    struct assay_linear_w8row_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "N"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, y_extent[] = {rows, columns};
    enum assay_dtype x_format = (enum assay_dtype)case_get(c, "x");
    a->x = trial_input(trial, "x", x_format, 2, x_extent, activations(c));
    if (c->dist == CASE_DIST_EXACT)
        put_exact(trial, &a->x);
    else if (case_get(c, "channels") != EVEN)
        apply_gains(trial, &a->x);
    if (c->dist == CASE_DIST_NONFINITE)
        put_nan(trial, &a->x, inner);
    a->w = weights(trial, columns, inner);
    a->equalise = case_get(c, "equalise") != 0;
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

const struct case_spec case_spec_linear_w8row = {
    .op = &assay_op_linear_w8row,
    .oracle_name = "linear_w8row",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .together = together,
    .claims = product_case_claims,
    .mutants = linear_w8row_mutants,
    .num_mutants = LINEAR_W8ROW_NUM_MUTANTS,
};
