/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's cases.
 */
#include "causal_conv1d_mutants.h"

#include "case.h"

static const int64_t token_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                       12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                       24, 25, 26, 27, 28, 29, 30, 31, 32, -1};
static const int64_t channel_counts[] = {1, 2, 3, 24, 100, 257, 10240, -1};
static const int64_t tap_counts[] = {2, 3, 4, 5, 8, -1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = token_counts},
    {.name = "C",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 65536,
     .fallback = 40,
     .values = channel_counts},
    {.name = "taps", .kind = CASE_COUNT, .lo = 2, .hi = 8, .fallback = 4, .values = tap_counts},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "w", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "state", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "silu", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
};

static void adjust(struct assay_case *c)
{
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
    if (c->dist == CASE_DIST_EXACT)
        case_set(c, "silu", 0);
    if (case_get(c, "C") > 2048 && case_get(c, "T") > 3)
        case_set(c, "T", 3);
}

static bool exact(const struct assay_case *c)
{
    return case_get(c, "silu") == 0;
}

static bool build(struct trial *trial)
{
    struct assay_causal_conv1d_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t channels = case_get(c, "C"), taps = case_get(c, "taps");
    int64_t x_shape[] = {case_get(c, "T"), channels}, w_shape[] = {channels, taps};
    int64_t state_shape[] = {taps - 1, channels};
    struct values weights = {.dist = CASE_DIST_NORMAL, .scale = 0.5};
    if (c->dist == CASE_DIST_EXACT || c->dist == CASE_DIST_CANCEL)
        weights = (struct values){.dist = CASE_DIST_EXACT, .scale = 1};
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x_shape, values_of(c));
    a->w = trial_input(trial, "w", (enum assay_dtype)case_get(c, "w"), 2, w_shape, weights);
    a->state = trial_inout(trial, "state", (enum assay_dtype)case_get(c, "state"), 2, state_shape,
                           values_of(c));
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, x_shape);
    a->silu = case_get(c, "silu") != 0;
    return true;
}

const struct case_spec case_spec_causal_conv1d = {
    .op = &assay_op_causal_conv1d,
    .oracle_name = "causal_conv1d",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .mutants = causal_conv1d_mutants,
    .num_mutants = CAUSAL_CONV1D_NUM_MUTANTS,
    .row_fields = "x y",
    .is_sequence = true,
};
