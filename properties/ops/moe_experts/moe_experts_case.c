/* SPDX-License-Identifier: MIT
 *
 * moe_experts' cases. `routing` says which experts the tokens have; those that none has hold NaN
 * throughout.
 */
#include "moe_experts_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"
#include "expert_routing.h"
#include "words.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33, 64, -1};
static const int64_t experts[] = {1, 2, 3, 5, 8, 16, 33, 64, -1};
static const int64_t slots[] = {1, 2, 3, 4, 8, 10, -1};
static const int64_t inner_lengths[] = {1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 129, 257, 1000, -1};
static const int64_t widths[] = {1, 2, 3, 7, 8, 9, 31, 33, 64, 65, 129, 512, -1};
#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 65536, .fallback = 5, .values = row_counts},
    {.name = "E", .kind = CASE_COUNT, .lo = 1, .hi = 4096, .fallback = 6, .values = experts},
    {.name = "k", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 2, .values = slots},
    {.name = "H",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 65536,
     .fallback = 43,
     .values = inner_lengths},
    {.name = "F", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 21, .values = widths},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "routing",
     .kind = CASE_CHOICE,
     .hi = 4,
     .fallback = EXPERT_SPREAD,
     .names = expert_routing_names},
    {.name = "weights",
     .kind = CASE_CHOICE,
     .hi = 2,
     .fallback = EXPERT_WEIGHTS_ANY,
     .names = expert_weight_names},
};

static void adjust(struct assay_case *c)
{
    if (strstr(c->route, ".pairs.") != NULL)
        case_set(c, "T", c->dist == CASE_DIST_NONFINITE ? 8 : case_get(c, "T") % 9);
    expert_fit_extents(c, 300000, 24000, 120000);
}

/* g and u of moderate size, so that h does not overflow, and neither 0 nor the gate. */
static struct values scaled(const struct assay_case *c, double large, double cancel)
{
    struct values v = values_of(c);
    if (c->dist == CASE_DIST_LARGE)
        v.scale = large;
    if (c->dist == CASE_DIST_CANCEL)
        v.scale = cancel;
    return v;
}

/* Banks leave NaN and infinities to x and the weights: each would reach many rows. Subnormal
 * operands take turns, or nothing but zeros came out. */
static struct values plain_unless(const struct assay_case *c, bool is_turn, struct values values)
{
    const struct values plain = {.dist = CASE_DIST_NORMAL, .scale = 1};
    if (c->dist == CASE_DIST_NONFINITE || (c->dist == CASE_DIST_SUBNORMAL && !is_turn))
        return plain;
    return values;
}

/* An expert that no token has may hold anything [MOEEXPERTS-6]. */
static void spoil_unused(struct trial *trial, const struct assay_tensor *ids,
                         const struct assay_tensor *bank)
{
    int64_t size = bank->extent[1] * bank->extent[2];
    for (int64_t e = 0; e < bank->extent[0]; e++) {
        if (expert_is_used(ids, e))
            continue;
        for (int64_t i = 0; i < size; i++)
            trial_put(trial, bank, e * size + i, NAN);
    }
}

static bool build(struct trial *trial)
{
    struct assay_moe_experts_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), hidden = case_get(c, "H"), width = case_get(c, "F");
    int64_t x[] = {rows, hidden}, taken[] = {rows, case_get(c, "k")};
    int64_t gate_up[] = {case_get(c, "E"), 2 * width, hidden};
    int64_t down[] = {case_get(c, "E"), hidden, width};
    bool packed = c->layout == CASE_PACKED;
    struct values first = plain_unless(c, packed, scaled(c, 0x1p-182, 0x1p-6));
    struct values last = plain_unless(c, !packed, scaled(c, 0x1p-40, 1));
    struct values weights = values_of(c);
    if (c->dist == CASE_DIST_LARGE || c->dist == CASE_DIST_SUBNORMAL ||
        c->dist == CASE_DIST_ALTERNATING)
        weights = (struct values){.dist = CASE_DIST_NORMAL, .scale = 1};
    if (c->dist == CASE_DIST_ALTERNATING) /* every h is the same: an even sum of them were 0 */
        last.dist = CASE_DIST_CONSTANT;
    struct values input = c->dist == CASE_DIST_SUBNORMAL
                              ? (struct values){.dist = CASE_DIST_NORMAL, .scale = 0x1p40}
                              : scaled(c, 0x1p-60, 0x1p-8);
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x, input);
    a->ids = trial_input(trial, "ids", ASSAY_I32, 2, taken, values_of(c));
    a->weights = trial_input(trial, "weights", ASSAY_F32, 2, taken, weights);
    a->gate_up = trial_input(trial, "gate_up", ASSAY_BF16, 3, gate_up, first);
    a->down = trial_input(trial, "down", ASSAY_BF16, 3, down, last);
    expert_ids(trial, &a->ids);
    expert_weights(trial, &a->weights);
    spoil_unused(trial, &a->ids, &a->gate_up);
    spoil_unused(trial, &a->ids, &a->down);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, x);
    return true;
}

const struct case_spec case_spec_moe_experts = {
    .op = &assay_op_moe_experts,
    .oracle_name = "moe_experts",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .adjust = adjust,
    .build = build,
    .claims = expert_claims,
    .mutants = moe_experts_mutants,
    .num_mutants = MOE_EXPERTS_NUM_MUTANTS,
    .row_fields = "x ids weights y",
};
