/* SPDX-License-Identifier: MIT
 *
 * rmsnorm's cases.
 */
#include "rmsnorm_mutants.h"

#include "case.h"

static const int64_t widths[] = {1, 2, 3, 64, 65, 128, 256, 257, 1000, 5120, -1};
static const int64_t row_counts[] = {0, 1, 2, 3, 17, -1};
static const char *const eps_names[] = {"1e-6", "1e-5", "1e-12", "1"};
static const double eps_values[] = {1e-6, 1e-5, 1e-12, 1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "rows", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "heads", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 1},
    {.name = "H", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 96, .values = widths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "w", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "unit_offset", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    {.name = "eps", .kind = CASE_CHOICE, .hi = 3, .names = eps_names},
};

static void adjust(struct assay_case *c)
{
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
}

static bool build(struct trial *trial)
{
    struct assay_rmsnorm_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "rows"), case_get(c, "heads"), case_get(c, "H")};
    struct values weights = {
        .dist = CASE_DIST_NORMAL, .scale = 0.3, .shift = case_get(c, "unit_offset") ? 0 : 1};
    if (c->dist == CASE_DIST_EXACT)
        weights = (struct values){.dist = CASE_DIST_EXACT, .scale = 1};
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 3, extent, values_of(c));
    a->w = trial_input(trial, "w", (enum assay_dtype)case_get(c, "w"), 1, &extent[2], weights);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 3, extent);
    a->unit_offset = case_get(c, "unit_offset") != 0;
    a->eps = eps_values[case_get(c, "eps")];
    return true;
}

const struct case_spec case_spec_rmsnorm = {
    .op = &assay_op_rmsnorm,
    .oracle_name = "rmsnorm",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .mutants = rmsnorm_mutants,
    .num_mutants = RMSNORM_NUM_MUTANTS,
    .row_fields = "x y",
    .row_count = "rows",
};
