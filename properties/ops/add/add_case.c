/* SPDX-License-Identifier: MIT
 *
 * add's cases.
 */
#include "add_mutants.h"

#include "case.h"
#include "words.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 17, 64, -1};
static const int64_t widths[] = {1, 2, 3, 5, 63, 64, 65, 257, 1000, 5120, 20000, -1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = row_counts},
    {.name = "I", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 83, .values = widths},
    {.name = "a", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "b", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 100000;
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "a"));
    if (case_get(c, "T") * case_get(c, "I") > max_elements)
        case_set(c, "T", max_elements / case_get(c, "I") + 1);
}

static bool exact(const struct assay_case *c)
{
    (void)c;
    return true; /* integers up to 8 are exact in every format */
}

static bool build(struct trial *trial)
{
    struct assay_add_args *args = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "T"), case_get(c, "I")};
    struct values values = values_of(c);
    args->a = trial_input(trial, "a", (enum assay_dtype)case_get(c, "a"), 2, extent, values);
    if (c->dist == CASE_DIST_CANCEL) { /* b = -a, and at least one step of bf16 */
        values = (struct values){.dist = CASE_DIST_ZEROS, .scale = 1};
        args->b = trial_input(trial, "b", (enum assay_dtype)case_get(c, "b"), 2, extent, values);
        for (int64_t i = 0; i < extent[0] * extent[1]; i++) {
            double nearly = 1 + 0x1p-6 * (trial_uniform(trial, "nearly", (uint64_t)i) + 0.5);
            trial_put(trial, &args->b, i, -nearly * oracle_get(&args->a, i));
        }
    } else {
        args->b = trial_input(trial, "b", (enum assay_dtype)case_get(c, "b"), 2, extent, values);
    }
    args->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, extent);
    return true;
}

const struct case_spec case_spec_add = {
    .op = &assay_op_add,
    .oracle_name = "add",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .mutants = add_mutants,
    .num_mutants = ADD_NUM_MUTANTS,
    .row_fields = "a b y",
};
