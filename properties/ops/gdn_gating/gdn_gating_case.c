/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's cases.
 */
#include "gdn_gating_mutants.h"

#include "case.h"
#include "words.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 4, 17, 32, -1};
static const int64_t head_counts[] = {1, 2, 3, 32, 48, 49, -1};

/* How far the arguments reach: the models', softplus's tails, where one exponential alone
 * underflows, and where both factors leave the range of binary32 but not their product. */
enum reach { REACH_MODEL, REACH_TAILS, REACH_UNDERFLOW, REACH_OPPOSED };
static const char *const reach_names[] = {"model", "tails", "underflow", "opposed"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = token_counts},
    {.name = "H", .kind = CASE_COUNT, .lo = 1, .hi = 4096, .fallback = 48, .values = head_counts},
    {.name = "a", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "b", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "a_log", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "dt_bias", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "reach", .kind = CASE_CHOICE, .hi = 3, .names = reach_names},
};

static void adjust(struct assay_case *c)
{
    if (c->layout == CASE_INPLACE)
        case_set(c, "a", ASSAY_F32);
    /* A few large negative arguments alone give nothing but zeros: with four heads some are small
     * (massive) or positive (cancel draws pairs of both signs). */
    bool large = c->dist == CASE_DIST_MASSIVE || c->dist == CASE_DIST_CANCEL;
    if (large && case_get(c, "H") < 4)
        case_set(c, "H", 4);
}

static bool build(struct trial *trial)
{
    struct assay_gdn_gating_args *args = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "T"), case_get(c, "H")};
    static const double scales[] = {1, 20, 60, 5}, rates[] = {1, 2, 10, 5};
    int64_t reach = case_get(c, "reach");
    struct values a = values_of(c), rate = {.dist = CASE_DIST_NORMAL, .scale = rates[reach]};
    struct values bias = {.dist = CASE_DIST_NORMAL, .scale = 1};
    a.scale = c->dist == CASE_DIST_LARGE ? 1 : scales[reach];
    if (reach == REACH_OPPOSED && c->dist != CASE_DIST_LARGE) {
        a.shift = -110;
        rate.shift = 100;
    }
    if (c->dist == CASE_DIST_NONFINITE)
        rate = bias = (struct values){.dist = CASE_DIST_NONFINITE, .scale = 1};
    args->a = trial_input(trial, "a", (enum assay_dtype)case_get(c, "a"), 2, extent, a);
    args->b = trial_input(trial, "b", (enum assay_dtype)case_get(c, "b"), 2, extent, values_of(c));
    args->a_log =
        trial_input(trial, "a_log", (enum assay_dtype)case_get(c, "a_log"), 1, &extent[1], rate);
    args->dt_bias = trial_input(trial, "dt_bias", (enum assay_dtype)case_get(c, "dt_bias"), 1,
                                &extent[1], bias);
    args->g = trial_output(trial, "g", ASSAY_F32, 2, extent);
    args->beta = trial_output(trial, "beta", ASSAY_F32, 2, extent);
    return true;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_gdn_gating_args *args = trial->args;
    const struct assay_case *c = trial->c;
    int64_t count = outputs[0].count, tail = 0;
    if (count < 200 || case_get(c, "reach") == REACH_MODEL || c->layout == CASE_INPLACE)
        return;
    for (int64_t i = 0; i < count; i++)
        tail += oracle_get(&args->a, i) < -20;
    if (c->dist == CASE_DIST_NORMAL)
        trial_claim(trial, "an argument of softplus below -20", tail > 0);
}

const struct case_spec case_spec_gdn_gating = {
    .op = &assay_op_gdn_gating,
    .oracle_name = "gdn_gating",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = ((1u << CASE_NUM_DISTS) - 1) & ~(1u << CASE_DIST_EXACT),
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = gdn_gating_mutants,
    .num_mutants = GDN_GATING_NUM_MUTANTS,
    .row_fields = "a b g beta",
};
