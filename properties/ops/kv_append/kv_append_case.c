/* SPDX-License-Identifier: MIT
 *
 * kv_append's cases.
 */
#include "kv_append_mutants.h"

#include "case.h"
#include "start_at.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 8, 17, 32, -1};
static const int64_t starts[] = {0, 1, 15, 16, 63, -1};
static const int64_t spares[] = {0, 1, 3, -1};
static const int64_t head_counts[] = {1, 2, 3, 8, -1};
static const int64_t widths[] = {1, 2, 3, 7, 9, 64, 96, 128, 256, -1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .hi = 512, .fallback = 3, .values = token_counts},
    {.name = "start", .kind = CASE_COUNT, .hi = 1 << 20, .fallback = 5, .values = starts},
    {.name = "spare", .kind = CASE_COUNT, .hi = 64, .fallback = 2, .values = spares},
    {.name = "G", .kind = CASE_COUNT, .lo = 1, .hi = 16, .fallback = 2, .values = head_counts},
    {.name = "D", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 33, .values = widths},
    {.name = "Dv", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 20, .values = widths},
    {.name = "k", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "v", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "cache", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    START_AT_PARAM,
};

/* At least one slot, and at most 200000 elements of a cache. */
static void adjust(struct assay_case *c)
{
    if (case_get(c, "T") + case_get(c, "start") == 0 && case_get(c, "spare") == 0)
        case_set(c, "spare", 1);
    while ((case_get(c, "T") + case_get(c, "start") + case_get(c, "spare")) * case_get(c, "G") *
               (case_get(c, "D") + case_get(c, "Dv")) >
           200000) {
        case_set(c, "start", case_get(c, "start") / 2);
        case_set(c, "T", (case_get(c, "T") + 1) / 2);
        case_set(c, "G", (case_get(c, "G") + 1) / 2);
    }
}

static bool exact(const struct assay_case *c)
{
    (void)c;
    return true;
}

static bool build(struct trial *trial)
{
    struct assay_kv_append_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), start = case_get(c, "start"), heads = case_get(c, "G");
    int64_t slots = start + tokens + case_get(c, "spare");
    int64_t k[] = {tokens, heads, case_get(c, "D")}, v[] = {tokens, heads, case_get(c, "Dv")};
    int64_t k_cache[] = {slots, heads, k[2]}, v_cache[] = {slots, heads, v[2]};
    enum assay_dtype cache = (enum assay_dtype)case_get(c, "cache");
    struct values before = {.dist = CASE_DIST_NORMAL, .scale = 1};
    struct values values = values_of(c);
    if (c->dist == CASE_DIST_LARGE)
        values.scale = 4; /* up to the largest binary32 number: beyond the largest bf16 */
    a->k = trial_input(trial, "k", (enum assay_dtype)case_get(c, "k"), 3, k, values);
    a->v = trial_input(trial, "v", (enum assay_dtype)case_get(c, "v"), 3, v, values);
    if (c->dist == CASE_DIST_LARGE && assay_tensor_count(&a->k) > 0)
        trial_put(trial, &a->k, 0, 0x1.ffp+127); /* a tie between the largest bf16 and infinity */
    a->k_cache = trial_inout_slots(trial, "k_cache", cache, 3, k_cache, before,
                                   start_at_effective(c), tokens);
    a->v_cache = trial_inout_slots(trial, "v_cache", cache, 3, v_cache, before,
                                   start_at_effective(c), tokens);
    a->start = start;
    start_at_put(trial, &a->start_at);
    return true;
}

const struct case_spec case_spec_kv_append = {
    .op = &assay_op_kv_append,
    .oracle_name = "kv_append",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .mutants = kv_append_mutants,
    .num_mutants = KV_APPEND_NUM_MUTANTS,
};
