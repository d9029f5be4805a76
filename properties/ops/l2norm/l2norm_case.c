/* SPDX-License-Identifier: MIT
 *
 * l2norm's cases. `scale` brings rows to norms where eps counts and where it does not.
 */
#include "l2norm_mutants.h"

#include "case.h"

static const int64_t widths[] = {1, 2, 3, 64, 65, 127, 128, 129, 257, 1000, 5120, -1};
static const int64_t row_counts[] = {0, 1, 2, 3, 17, -1};
static const int64_t head_counts[] = {1, 2, 3, 16, 48, -1}; /* 16 and 48 are the 27B model's */
static const char *const eps_names[] = {"1e-6", "1e-5", "1e-12", "1"};
static const double eps_values[] = {1e-6, 1e-5, 1e-12, 1};
static const char *const scale_names[] = {"1", "1e-3", "1e-5", "1e3"};
static const double scale_values[] = {1, 1e-3, 1e-5, 1e3};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "rows", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "heads", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 2, .values = head_counts},
    {.name = "D", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 96, .values = widths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "eps", .kind = CASE_CHOICE, .hi = 3, .names = eps_names},
    {.name = "scale", .kind = CASE_CHOICE, .hi = 3, .names = scale_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 100000;
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
    if (c->dist == CASE_DIST_LARGE && case_get(c, "scale") == 3)
        case_set(c, "scale", 0); /* 1000 times these is no finite value */
    int64_t row = case_get(c, "heads") * case_get(c, "D");
    if (row > max_elements)
        case_set(c, "heads", 1 + max_elements / case_get(c, "D"));
    row = case_get(c, "heads") * case_get(c, "D");
    if (case_get(c, "rows") * row > max_elements)
        case_set(c, "rows", 1 + max_elements / row);
}

static bool build(struct trial *trial)
{
    struct assay_l2norm_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "rows"), case_get(c, "heads"), case_get(c, "D")};
    struct values values = values_of(c);
    values.scale = scale_values[case_get(c, "scale")];
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 3, extent, values);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 3, extent);
    a->eps = eps_values[case_get(c, "eps")];
    return true;
}

const struct case_spec case_spec_l2norm = {
    .op = &assay_op_l2norm,
    .oracle_name = "l2norm",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .mutants = l2norm_mutants,
    .num_mutants = L2NORM_NUM_MUTANTS,
    .row_fields = "x y",
    .row_count = "rows",
};
