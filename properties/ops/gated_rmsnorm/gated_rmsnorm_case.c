/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's cases. `gates` makes gates of the size at which silu's tail counts.
 */
#include "gated_rmsnorm_mutants.h"

#include <math.h>

#include "case.h"

static const int64_t widths[] = {1, 2, 3, 64, 65, 127, 128, 129, 257, 1000, 6144, -1};
static const int64_t row_counts[] = {0, 1, 2, 3, 17, -1};
static const int64_t head_counts[] = {1, 2, 3, 48, -1}; /* 48 value heads: the 27B model's */
static const char *const eps_names[] = {"1e-6", "1e-5", "1e-12", "1"};
static const double eps_values[] = {1e-6, 1e-5, 1e-12, 1};
static const char *const gate_names[] = {"1", "4", "30", "60"};
static const double gate_scales[] = {1, 4, 30, 60};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "rows", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = row_counts},
    {.name = "heads", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 2, .values = head_counts},
    {.name = "D", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 96, .values = widths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "z", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "w", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "eps", .kind = CASE_CHOICE, .hi = 3, .names = eps_names},
    {.name = "gates", .kind = CASE_CHOICE, .hi = 3, .names = gate_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 30000;
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
    int64_t row = case_get(c, "heads") * case_get(c, "D");
    if (row > max_elements)
        case_set(c, "heads", 1 + max_elements / case_get(c, "D"));
    row = case_get(c, "heads") * case_get(c, "D");
    if (case_get(c, "rows") * row > max_elements)
        case_set(c, "rows", 1 + max_elements / row);
    if (c->dist == CASE_DIST_LARGE || case_get(c, "rows") * row < 64)
        case_set(c, "gates", 0); /* a multiple is no finite value; all might be zeros */
}

/* Gates beyond -100 or so make zeros: distributions that reach thousands are brought down, so that
 * a small tensor does not consist of zeros. */
static struct values gate_values(const struct assay_case *c)
{
    struct values gates = values_of(c);
    gates.scale = gate_scales[case_get(c, "gates")];
    if (c->dist == CASE_DIST_OUTLIERS || c->dist == CASE_DIST_MASSIVE ||
        c->dist == CASE_DIST_CANCEL)
        gates.scale /= 64;
    return gates;
}

/* Infinite weights beside gates whose sigmoid is below every number, in a vector and in a tail; a
 * first row that is finite itself. */
static void put_lost(struct trial *trial, int64_t rows, int64_t width)
{
    const struct assay_gated_rmsnorm_args *a = trial->args;
    if (rows == 0 || width < 2)
        return;
    for (int64_t d = 0; d < width; d++)
        trial_put(trial, &a->x, d, 1 + (double)(d % 5));
    trial_put(trial, &a->w, 0, INFINITY);
    trial_put(trial, &a->w, width - 1, -INFINITY);
    trial_put(trial, &a->z, 0, -200);
    trial_put(trial, &a->z, width - 1, -300);
}

static bool build(struct trial *trial)
{
    struct assay_gated_rmsnorm_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "rows"), case_get(c, "heads"), case_get(c, "D")};
    struct values weights = {.dist = CASE_DIST_NORMAL, .scale = 0.3, .shift = 1};
    struct values gates = gate_values(c);
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 3, extent, values_of(c));
    a->z = trial_input(trial, "z", (enum assay_dtype)case_get(c, "z"), 3, extent, gates);
    a->w = trial_input(trial, "w", (enum assay_dtype)case_get(c, "w"), 1, &extent[2], weights);
    if (c->dist == CASE_DIST_NONFINITE)
        put_lost(trial, extent[0] * extent[1], extent[2]);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 3, extent);
    a->eps = eps_values[case_get(c, "eps")];
    return true;
}

const struct case_spec case_spec_gated_rmsnorm = {
    .op = &assay_op_gated_rmsnorm,
    .oracle_name = "gated_rmsnorm",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .mutants = gated_rmsnorm_mutants,
    .num_mutants = GATED_RMSNORM_NUM_MUTANTS,
    .row_fields = "x z y",
    .row_count = "rows",
};
