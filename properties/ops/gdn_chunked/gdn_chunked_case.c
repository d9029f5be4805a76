/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's cases: gdn_case.h. Not finite is one element of v alone.
 */
#include "gdn_chunked_mutants.h"

#include <math.h>
#include <string.h>

#include "gdn_case.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 63, 64, 65, 129, 130, -1};
static const int64_t chunks[] = {1, 2, 3, 4, 5, 16, 63, 64, 65, 256, -1};

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 11, .values = token_counts},
    GDN_EXTENT_PARAMS,
    {.name = "chunk", .kind = CASE_COUNT, .lo = 1, .hi = 256, .fallback = 4, .values = chunks},
    GDN_FORMAT_PARAMS,
};

/* What the route on tensor cores asks for; enough for two chunks and two strips of columns. */
static void suit_tensor_cores(struct assay_case *c)
{
    static const int64_t lengths[] = {33, 48, 63, 64};
    int64_t tokens = case_get(c, "T"), chunk = case_get(c, "chunk");
    case_set(c, "state", ASSAY_F32);
    case_set(c, "dk", 128);
    if (chunk < 33 || chunk > 64)
        case_set(c, "chunk", lengths[chunk % 4]);
    case_set(c, "dv", 1 + (case_get(c, "dv") - 1) % 34);
    if (tokens > 72 && (tokens < 127 || tokens > 129))
        case_set(c, "T", 65 + tokens % 8);
    if (tokens > 16) {
        bool is_large = tokens > 64 && case_get(c, "chunk") < 64;
        case_set(c, "Hk", 1);
        case_set(c, "r", is_large ? 1 : 1 + (case_get(c, "r") - 1) % 2);
    }
}

static void adjust(struct assay_case *c)
{
    gdn_adjust(c);
    /* Only the poisoned head's elements from the poisoned chunk on are free: keep most others. */
    if (c->dist == CASE_DIST_NONFINITE) {
        case_set(c, "Hk", 2);
        case_set(c, "r", 3);
        case_set(c, "T", 3 + case_get(c, "T") % 8);
    }
    gdn_limit(c);
    if (strstr(c->route, ".tensor.") != NULL)
        suit_tensor_cores(c);
    /* fp16 roundings, one a chunk, of many undamped chunks add up to more than a bound can tell
     * apart */
    int64_t most = 40 * case_get(c, "chunk");
    if (case_get(c, "state") == ASSAY_F16 && case_get(c, "T") > most)
        case_set(c, "T", most);
}

/* One element of v, in the last head and the last token, is not a number. */
static void poison(struct trial *trial, const struct assay_gdn_chunked_args *a)
{
    int64_t count = assay_tensor_count(&a->v);
    if (count > 0)
        trial_put(trial, &a->v, count - 1 - trial_below(trial, "poison", 0, a->v.extent[2]), NAN);
}

static bool build(struct trial *trial)
{
    struct assay_gdn_chunked_args *a = trial->args;
    struct assay_gdn_recurrent_args tensors;
    gdn_build(trial, &tensors, gdn_finite_values(trial->c));
    *a = (struct assay_gdn_chunked_args){.q = tensors.q,
                                         .k = tensors.k,
                                         .v = tensors.v,
                                         .g = tensors.g,
                                         .beta = tensors.beta,
                                         .state = tensors.state,
                                         .o = tensors.o,
                                         .scale = tensors.scale,
                                         .chunk = case_get(trial->c, "chunk")};
    if (trial->c->dist == CASE_DIST_NONFINITE)
        poison(trial, a);
    return true;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_gdn_chunked_args *a = trial->args;
    (void)outputs;
    gdn_claims(trial, &a->g);
}

const struct case_spec case_spec_gdn_chunked = {
    .op = &assay_op_gdn_chunked,
    .oracle_name = "gdn_chunked",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = gdn_exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = gdn_chunked_mutants,
    .num_mutants = GDN_CHUNKED_NUM_MUTANTS,
};
