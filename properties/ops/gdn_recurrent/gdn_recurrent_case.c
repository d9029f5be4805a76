/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's cases: gdn_case.h. Infinities go to v and the state: q times a state near zero
 * would be infinity or NaN as roundings have it.
 */
#include "gdn_recurrent_mutants.h"

#include "gdn_case.h"

static const int64_t token_counts[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10, 11, 12,
                                       13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  23, 24, 25,
                                       26, 27, 28, 29, 30, 31, 32, 64, 65, 130, -1};

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 3, .values = token_counts},
    GDN_EXTENT_PARAMS,
    GDN_FORMAT_PARAMS,
};

static void adjust(struct assay_case *c)
{
    gdn_adjust(c);
    gdn_limit(c);
    /* fp16 roundings of many undamped tokens add up to more than a bound can tell apart */
    if (case_get(c, "state") == ASSAY_F16 && case_get(c, "T") > 40)
        case_set(c, "T", 40);
}

static bool build(struct trial *trial)
{
    gdn_build(trial, trial->args, values_of(trial->c));
    return true;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = trial->args;
    (void)outputs;
    gdn_claims(trial, &a->g);
}

const struct case_spec case_spec_gdn_recurrent = {
    .op = &assay_op_gdn_recurrent,
    .oracle_name = "gdn_recurrent",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = gdn_exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = gdn_recurrent_mutants,
    .num_mutants = GDN_RECURRENT_NUM_MUTANTS,
};
