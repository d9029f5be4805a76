/* SPDX-License-Identifier: MIT
 *
 * linear_topk's cases. Rows of w at or beyond limit hold what must not be read: NaN.
 */
#include "linear_topk_mutants.h"

#include <math.h>
#include <string.h>

#include "product_case.h"
#include "product_weights.h"

static const int64_t row_counts[] = {0,  1,  2,  3,  4,  5,  7,  8,  9, 16,
                                     17, 23, 24, 25, 31, 32, 33, 64, -1};
static const int64_t inner_lengths[] = {1,   2,   7,   8,   33,  63,   64,   65,
                                        127, 128, 129, 192, 193, 1000, 5120, -1};
/* Below, at and above k; tiles of 32 and parts of 1024. */
static const int64_t limits[] = {1,    2,    3,    8,    15,   16,   17,    31,   32,
                                 33,   63,   64,   65,   100,  255,  257,   1000, 1023,
                                 1024, 1025, 2047, 2048, 2049, 5000, 32768, -1};
static const int64_t extras[] = {0, 1, 7, 243, -1};
static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 16, 20, 31, 32, 33, 50, 63, 64, -1};
static const char *const formats[] = {"bf16", "q4g64", "q5g64", "q6g64", "q8g32"};
/* What stands in columns K and beyond: zeros, as encoders write it, or anything. */
static const char *const paddings[] = {"written", "garbage"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "limit", .kind = CASE_COUNT, .lo = 1, .hi = 300000, .fallback = 90, .values = limits},
    {.name = "extra", .kind = CASE_COUNT, .lo = 0, .hi = 1000, .fallback = 5, .values = extras},
    {.name = "K",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 65536,
     .fallback = 71,
     .values = inner_lengths},
    {.name = "k",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = ASSAY_TOPK_MOST,
     .fallback = 20,
     .values = counts},
    {.name = "w", .kind = CASE_CHOICE, .hi = 4, .fallback = 0, .names = formats},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
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
        case_set(c, "w", 1 + (rows + case_get(c, "limit") + case_get(c, "k")) % 4);
    if (strstr(c->route, ".gemv.") != NULL && rows > 1)
        case_set(c, "T", 1);
    if (strstr(c->route, ".small.") != NULL && rows > 32)
        case_set(c, "T", 32);
}

static void adjust(struct assay_case *c)
{
    fit_route(c);
    bool is_slow = strstr(c->route, ".simt") != NULL; /* the executor */
    product_case_shorten_columns(c, "limit", is_slow ? 80000 : 300000);
}

static bool exact(const struct assay_case *c)
{
    return product_weights_exact(format_of(c), case_get(c, "K"));
}

/* Distribution of the weights. A NaN among them reaches every row, so that packed cases leave NaN
 * and infinities to x. */
static enum case_dist weights_for(const struct assay_case *c)
{
    bool is_plain = c->dist == CASE_DIST_NONFINITE && c->layout == CASE_PACKED;
    return is_plain ? CASE_DIST_NORMAL : c->dist;
}

static void spoil_rows(struct trial *trial, const struct assay_weights *w, int64_t limit)
{
    const struct assay_tensor *numbers = w->format == ASSAY_WEIGHT_BF16 ? &w->base : &w->scales;
    int64_t width = numbers->extent[1];
    for (int64_t i = limit * width; i < w->rows * width; i++)
        trial_put(trial, numbers, i, NAN);
}

static bool build(struct trial *trial)
{
    struct assay_linear_topk_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), inner = case_get(c, "K");
    int64_t x_extent[] = {rows, inner}, extent[] = {rows, case_get(c, "k")};
    a->limit = case_get(c, "limit");
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_extent,
                       product_weights_x(c, format_of(c), inner));
    product_weights(trial, weights_for(c), format_of(c), a->limit + case_get(c, "extra"), inner,
                    case_get(c, "padding") != 0, &a->w);
    spoil_rows(trial, &a->w, a->limit);
    a->values = trial_output(trial, "values", ASSAY_F32, 2, extent);
    a->ids = trial_output(trial, "ids", ASSAY_I32, 2, extent);
    return true;
}

/* Something was selected: what came last is not what came first, and rows differ. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), k = case_get(c, "k"), limit = case_get(c, "limit");
    if (c->dist != CASE_DIST_NORMAL || rows == 0 || limit < 3 || case_get(c, "K") < 8)
        return;
    const double *values = outputs[0].value;
    int64_t last = (k < limit ? k : limit) - 1;
    if (last > 0)
        trial_claim(trial, "the last value is below the first", values[last] < values[0]);
    if (rows > 1)
        trial_claim(trial, "the largest logits of the last two rows differ",
                    values[(rows - 1) * k] != values[(rows - 2) * k]);
}

const struct case_spec case_spec_linear_topk = {
    .op = &assay_op_linear_topk,
    .oracle_name = "linear_topk",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = linear_topk_mutants,
    .num_mutants = LINEAR_TOPK_NUM_MUTANTS,
    .row_fields = "x values ids",
};
