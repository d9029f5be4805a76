/* SPDX-License-Identifier: MIT
 *
 * sample's cases. Each row is one draw, so T rows are T draws of the case's settings. Columns at or
 * beyond limit hold NaN or a logit larger than all others, by turns.
 */
#include "sample_mutants.h"

#include <math.h>

#include "case.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 64, 200, -1};
/* The real vocabulary, 248077 of 248320, is sample.laws' (MPFR would take seconds a case here). */
static const int64_t limits[] = {1, 2, 3, 5, 64, 1000, 5000, -1};
static const int64_t paddings[] = {0, 1, 7, 243, -1};
static const int64_t ks[] = {0, 1, 2, 3, 5, 19, 20, 21, 64, 65, 1000, -1};

static const char *const spread_names[] = {"1", "0.1", "4"};
static const double spreads[] = {1, 0.1, 4};
static const char *const temperature_names[] = {"0", "0.7", "1", "0.1", "3", "1e-3"};
static const double temperatures[] = {0, 0.7, 1, 0.1, 3, 1e-3};
static const char *const top_p_names[] = {"1", "0.95", "0.8", "0.5", "0.1", "1e-9"};
static const double top_ps[] = {1, 0.95, 0.8, 0.5, 0.1, 1e-9};
static const char *const min_p_names[] = {"0", "0.05", "0.3", "1"};
static const double min_ps[] = {0, 0.05, 0.3, 1};
/* presence/frequency; the last is not exact in binary */
static const char *const penalty_names[] = {"0/0",    "1.5/0",   "0/0.5",
                                            "1/0.25", "-1/-0.5", "0.1/0.3"};
static const double presences[] = {0, 1.5, 0, 1, -1, 0.1};
static const double frequencies[] = {0, 0, 0.5, 0.25, -0.5, 0.3};
static const char *const masked_names[] = {"none", "some", "but_one", "all"};
static const char *const step_names[] = {"0", "1000", "2^32-2", "2^64-2"};
static const uint64_t steps[] = {0, 1000, UINT64_C(0xfffffffe), UINT64_C(0xfffffffffffffffe)};
static const char *const step_at_names[] = {"absent", "above_0", "below_0"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

/* The base case has all filters and penalties on, so that one change at a time meets them all. */
static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = row_counts},
    {.name = "limit", .kind = CASE_COUNT, .lo = 1, .hi = 300000, .fallback = 300, .values = limits},
    {.name = "padding", .kind = CASE_COUNT, .lo = 0, .hi = 1000, .fallback = 5, .values = paddings},
    {.name = "logits", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "spread", .kind = CASE_CHOICE, .hi = 2, .names = spread_names},
    {.name = "temperature",
     .kind = CASE_CHOICE,
     .hi = 5,
     .fallback = 1,
     .names = temperature_names},
    {.name = "top_k", .kind = CASE_COUNT, .lo = 0, .hi = 1000000, .fallback = 20, .values = ks},
    {.name = "top_p", .kind = CASE_CHOICE, .hi = 5, .fallback = 2, .names = top_p_names},
    {.name = "min_p", .kind = CASE_CHOICE, .hi = 3, .fallback = 1, .names = min_p_names},
    {.name = "counts", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    {.name = "penalties", .kind = CASE_CHOICE, .hi = 5, .fallback = 3, .names = penalty_names},
    {.name = "masked", .kind = CASE_CHOICE, .hi = 3, .names = masked_names},
    {.name = "step", .kind = CASE_CHOICE, .hi = 3, .fallback = 1, .names = step_names},
    {.name = "wide_seed", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    {.name = "step_at", .kind = CASE_CHOICE, .hi = 2, .names = step_at_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 5000;
    if (case_get(c, "T") * case_get(c, "limit") > max_elements)
        case_set(c, "T", 1 + max_elements / case_get(c, "limit"));
    if (c->layout == CASE_INPLACE)
        c->layout = CASE_PACKED;
    if (c->dist == CASE_DIST_LARGE)
        case_set(c, "spread", 0); /* a multiple of these is no finite value */
}

/* Padding, and what is masked: every third column, all but one, or all. */
static void put_specials(struct trial *trial, const struct assay_sample_args *a)
{
    const struct assay_case *c = trial->c;
    double padding = c->seed % 2 ? NAN : 60;
    int64_t width = a->logits.extent[1], masked = case_get(c, "masked");
    int64_t spared = trial_below(trial, "spared", 0, a->limit);
    for (int64_t t = 0; t < a->logits.extent[0]; t++) {
        for (int64_t i = 0; i < width; i++) {
            bool mask = masked == 3 || (masked == 2 && i != spared) || (masked == 1 && i % 3 == 1);
            if (i >= a->limit)
                trial_put(trial, &a->logits, t * width + i, padding);
            else if (mask)
                trial_put(trial, &a->logits, t * width + i, -INFINITY);
        }
    }
}

static void put_counts(struct trial *trial, struct assay_sample_args *a)
{
    if (!case_get(trial->c, "counts"))
        return;
    a->counts = trial_input(trial, "counts", ASSAY_I32, 1, &a->logits.extent[1],
                            (struct values){.dist = CASE_DIST_ZEROS, .scale = 1});
    for (int64_t i = 0; i < a->logits.extent[1]; i++) {
        int64_t count = trial_below(trial, "count", (uint64_t)i, 8) - 4;
        trial_put_int(trial, &a->counts, i, count > 0 ? count : 0);
    }
}

static void put_step_at(struct trial *trial, struct assay_sample_args *a)
{
    const int64_t one = 1, sign = case_get(trial->c, "step_at") == 1 ? 1 : -1;
    if (case_get(trial->c, "step_at") == 0)
        return;
    a->step_at = trial_input(trial, "step_at", ASSAY_I32, 1, &one,
                             (struct values){.dist = CASE_DIST_ZEROS, .scale = 1});
    int64_t size = 1 + trial_below(trial, "step_at_size", 0, INT32_MAX);
    trial_put_int(trial, &a->step_at, 0, sign * size);
}

static bool build(struct trial *trial)
{
    struct assay_sample_args *a = trial->args;
    const struct assay_case *c = trial->c;
    a->limit = case_get(c, "limit");
    int64_t extent[] = {case_get(c, "T"), a->limit + case_get(c, "padding")};
    struct values values = values_of(c);
    values.scale = spreads[case_get(c, "spread")];
    a->logits =
        trial_input(trial, "logits", (enum assay_dtype)case_get(c, "logits"), 2, extent, values);
    put_specials(trial, a);
    put_counts(trial, a);
    put_step_at(trial, a);
    a->ids = trial_output(trial, "ids", ASSAY_I32, 1, extent);
    a->temperature = temperatures[case_get(c, "temperature")];
    a->top_k = case_get(c, "top_k");
    a->top_p = top_ps[case_get(c, "top_p")];
    a->min_p = min_ps[case_get(c, "min_p")];
    a->presence = presences[case_get(c, "penalties")];
    a->frequency = frequencies[case_get(c, "penalties")];
    a->seed = c->seed + (case_get(c, "wide_seed") ? UINT64_C(0x9e3779b900000000) : 0);
    a->step = steps[case_get(c, "step")];
    return true;
}

const struct case_spec case_spec_sample = {
    .op = &assay_op_sample,
    .oracle_name = "sample",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .adjust = adjust,
    .build = build,
    .mutants = sample_mutants,
    .num_mutants = SAMPLE_NUM_MUTANTS,
};
