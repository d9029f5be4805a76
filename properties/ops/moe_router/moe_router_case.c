/* SPDX-License-Identifier: MIT
 *
 * moe_router's cases. `spread` makes logits as far apart as decided routers have them; dist=exact
 * has nine different logits, so that most are equal to others.
 */
#include "moe_router_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 5, 17, 64, -1};
/* 256 and 512: the 35B-A3B model and its ancestor. */
static const int64_t experts[] = {1,  2,  3,   7,   8,   16,  31,  32,   33,
                                  63, 64, 128, 255, 256, 257, 512, 1000, -1};
static const int64_t counts[] = {1, 2, 3, 4, 8, 10, 16, 31, 32, 33, 63, 64, -1};
static const char *const spread_names[] = {"1", "8", "64"};
static const double spreads[] = {1, 8, 64};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 65536, .fallback = 5, .values = row_counts},
    {.name = "E", .kind = CASE_COUNT, .lo = 1, .hi = 65535, .fallback = 40, .values = experts},
    {.name = "k",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = ASSAY_MOE_MOST,
     .fallback = 5,
     .values = counts},
    {.name = "logits", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "spread", .kind = CASE_CHOICE, .hi = 2, .fallback = 0, .names = spread_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t most = strstr(c->route, ".simt") != NULL ? 60000 : 400000; /* comparisons */
    int64_t count = case_get(c, "E"), k = case_get(c, "k");
    if (k > count)
        case_set(c, "k", k = count);
    if (case_get(c, "T") * count * k > most)
        case_set(c, "T", most / count / k > 0 ? most / count / k : 1);
    if (c->dist == CASE_DIST_LARGE)
        case_set(c, "spread", 0);
}

/* Rows with one NaN, in the first and in the second place; one that must take what is -inf. */
static void put_special(struct trial *trial, int64_t rows, int64_t count)
{
    const struct assay_moe_router_args *a = trial->args;
    for (int64_t t = 0; t < rows && t < 3; t++)
        for (int64_t e = 0; e < count; e++) {
            double value = t < 2 ? (double)(e % 7) : e == count - 1 ? 1 : -INFINITY;
            trial_put(trial, &a->logits, t * count + e, t < 2 && e == t ? NAN : value);
        }
}

static bool build(struct trial *trial)
{
    struct assay_moe_router_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t logits[] = {case_get(c, "T"), case_get(c, "E")};
    int64_t taken[] = {logits[0], case_get(c, "k")};
    struct values values = values_of(c);
    values.scale = spreads[case_get(c, "spread")];
    a->logits =
        trial_input(trial, "logits", (enum assay_dtype)case_get(c, "logits"), 2, logits, values);
    if (c->dist == CASE_DIST_NONFINITE)
        put_special(trial, logits[0], logits[1]);
    a->ids = trial_output(trial, "ids", ASSAY_I32, 2, taken);
    a->weights = trial_output(trial, "weights", ASSAY_F32, 2, taken);
    return true;
}

/* Something was chosen: the last weight is below the first, and rows differ. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), k = case_get(c, "k"), count = case_get(c, "E");
    if (c->dist != CASE_DIST_NORMAL || rows == 0 || count < 8)
        return;
    const double *ids = outputs[0].value, *weights = outputs[1].value;
    if (k > 1)
        trial_claim(trial, "the last weight is below the first", weights[k - 1] < weights[0]);
    bool differs = false;
    for (int64_t i = k; i < rows * k; i++)
        differs = differs || ids[i] != ids[i % k];
    if (rows > 4)
        trial_claim(trial, "two rows have different experts", differs);
}

const struct case_spec case_spec_moe_router = {
    .op = &assay_op_moe_router,
    .oracle_name = "moe_router",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = moe_router_mutants,
    .num_mutants = MOE_ROUTER_NUM_MUTANTS,
    .row_fields = "logits ids weights",
};
