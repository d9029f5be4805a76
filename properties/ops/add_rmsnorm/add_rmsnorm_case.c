/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm's cases.
 */
#include "add_rmsnorm_mutants.h"

#include "case.h"
#include "words.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 17, -1};
static const int64_t widths[] = {1, 2, 3, 64, 65, 128, 256, 257, 1000, 5120, 9000, -1};
static const char *const eps_names[] = {"1e-6", "1e-5", "1e-12", "1"};
static const double eps_values[] = {1e-6, 1e-5, 1e-12, 1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "H", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 96, .values = widths},
    {.name = "residual", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "w", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "s", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "unit_offset", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    {.name = "eps", .kind = CASE_CHOICE, .hi = 3, .names = eps_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 100000;
    if (c->layout == CASE_INPLACE) /* s on residual; y on x and the exchange: add_rmsnorm.laws */
        case_set(c, "s", case_get(c, "residual"));
    if (c->dist == CASE_DIST_TIES && c->layout != CASE_INPLACE) { /* a sum that has ties */
        case_set(c, "residual", ASSAY_F32);
        case_set(c, "s", ASSAY_BF16);
    }
    if (case_get(c, "T") * case_get(c, "H") > max_elements)
        case_set(c, "T", max_elements / case_get(c, "H") + 1);
}

/* cancel: x is nearly -residual, by at least one step of bf16. ties: what is added to the midpoints
 * is nothing, or far too small for a binary32 sum to hold, so that it decides the tie. */
static void put_addend(struct trial *trial, struct assay_add_rmsnorm_args *a)
{
    for (int64_t i = 0; i < assay_tensor_count(&a->x); i++) {
        double draw = trial_uniform(trial, "addend", (uint64_t)i);
        double residual = oracle_get(&a->residual, i);
        if (trial->c->dist == CASE_DIST_CANCEL)
            trial_put(trial, &a->x, i, -(1 + 0x1p-6 * (draw + 0.5)) * residual);
        else
            trial_put(trial, &a->x, i, draw < 0.25 ? 0 : draw < 0.5 ? 0x1p-60 : -0x1p-60);
    }
}

static bool build(struct trial *trial)
{
    struct assay_add_rmsnorm_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "T"), case_get(c, "H")};
    struct values values = values_of(c), weights = {.dist = CASE_DIST_NORMAL, .scale = 0.3};
    bool drawn = c->dist != CASE_DIST_CANCEL && c->dist != CASE_DIST_TIES;
    weights.shift = case_get(c, "unit_offset") ? 0 : 1;
    if (c->dist == CASE_DIST_EXACT)
        weights = (struct values){.dist = CASE_DIST_EXACT, .scale = 1};
    a->residual = trial_input(trial, "residual", (enum assay_dtype)case_get(c, "residual"), 2,
                              extent, values);
    if (!drawn)
        values = (struct values){.dist = CASE_DIST_ZEROS, .scale = 1};
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, extent, values);
    if (!drawn)
        put_addend(trial, a);
    a->w = trial_input(trial, "w", (enum assay_dtype)case_get(c, "w"), 1, &extent[1], weights);
    a->s = trial_output(trial, "s", (enum assay_dtype)case_get(c, "s"), 2, extent);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, extent);
    a->unit_offset = case_get(c, "unit_offset") != 0;
    a->eps = eps_values[case_get(c, "eps")];
    return true;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_add_rmsnorm_args *a = trial->args;
    const struct assay_case *c = trial->c;
    if (c->dist != CASE_DIST_TIES || c->layout == CASE_INPLACE || outputs[0].count < 100)
        return;
    bool decided = false; /* by an addend that a rounding of the residual alone does not see */
    for (int64_t i = 0; i < outputs[0].count; i++)
        decided |= outputs[0].value[i] != oracle_round(oracle_get(&a->residual, i), ASSAY_BF16);
    trial_claim(trial, "a small addend decides a tie", decided);
}

const struct case_spec case_spec_add_rmsnorm = {
    .op = &assay_op_add_rmsnorm,
    .oracle_name = "add_rmsnorm",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = add_rmsnorm_mutants,
    .num_mutants = ADD_RMSNORM_NUM_MUTANTS,
    .row_fields = "residual x s y",
};
