/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped's cases. `routing` says which experts the tokens have; those that none has
 * have scales of NaN throughout, and any codes.
 */
#include "moe_experts_grouped_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"
#include "expert_routing.h"
#include "product_weights.h"
#include "words.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 5, 8, 9, 17, 64, -1};
static const int64_t experts[] = {1, 2, 3, 16, -1};
static const int64_t slots[] = {1, 2, 3, 10, -1};
/* Around groups of 32 and 64 and the padding of 128. */
static const int64_t inner_lengths[] = {1, 2, 31, 32, 33, 64, 65, 128, 129, 257, -1};
static const int64_t widths[] = {1, 2, 31, 32, 33, 64, 65, 129, 257, -1};
static const char *const formats[] = {"q4g64", "q5g64", "q6g64", "q8g32"};
/* What stands behind the last column: zeros, as encoders write it, or anything. */
static const char *const paddings[] = {"written", "garbage"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 65536, .fallback = 3, .values = row_counts},
    {.name = "E", .kind = CASE_COUNT, .lo = 1, .hi = 4096, .fallback = 6, .values = experts},
    {.name = "k", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 2, .values = slots},
    {.name = "H",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 65536,
     .fallback = 67,
     .values = inner_lengths},
    {.name = "F", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 13, .values = widths},
    {.name = "gate_up", .kind = CASE_CHOICE, .hi = 3, .fallback = 0, .names = formats},
    {.name = "down", .kind = CASE_CHOICE, .hi = 3, .fallback = 1, .names = formats},
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
    {.name = "padding", .kind = CASE_CHOICE, .hi = 1, .fallback = 0, .names = paddings},
};

static enum assay_weight_format format_of(const struct assay_case *c, const char *bank)
{
    return assay_weight_format_from_name(formats[case_get(c, bank)]);
}

static void adjust(struct assay_case *c)
{
    if (strstr(c->route, ".gemv.") != NULL)
        case_set(c, "T", c->dist == CASE_DIST_NONFINITE ? 8 : case_get(c, "T") % 9);
    expert_fit_extents(c, 42000, 16000, 40000);
}

/* Of moderate size, so that h does not overflow and silu is neither 0 nor the gate. */
static struct values x_values(const struct assay_case *c)
{
    struct values x = product_weights_x(c, format_of(c, "gate_up"), case_get(c, "H"));
    if (c->dist == CASE_DIST_LARGE)
        x.scale = 0x1p-80;
    if (c->dist == CASE_DIST_CANCEL)
        x.scale = 0x1p-8;
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout != CASE_STRIDED) /* h would be zeros */
        x.scale = 0x1p64;
    return x;
}

/* Small integers of slots with one expert may add up to zero. */
static struct values weight_values(const struct assay_case *c)
{
    struct values values = values_of(c);
    if (c->dist == CASE_DIST_LARGE || c->dist == CASE_DIST_SUBNORMAL ||
        c->dist == CASE_DIST_ALTERNATING || c->dist == CASE_DIST_EXACT)
        values = (struct values){.dist = CASE_DIST_NORMAL, .scale = 1};
    return values;
}

/* An expert that no token has may hold anything [MOEEXPERTSGROUPED-6]. */
static void spoil_unused(struct trial *trial, const struct assay_tensor *ids, int64_t rows,
                         const struct assay_weights *bank)
{
    const int64_t groups = bank->scales.extent[1];
    for (int64_t e = 0; e < bank->rows / rows; e++) {
        if (expert_is_used(ids, e))
            continue;
        for (int64_t i = e * rows * groups; i < (e + 1) * rows * groups; i++)
            trial_put(trial, &bank->scales, i, NAN);
    }
}

/* One group of an expert that the first token has, and one of a column of the last token's: of gate
 * or up only where few tokens share an expert, since it reaches all of y there. */
static void put_nan_scales(struct trial *trial, const struct assay_moe_experts_grouped_args *a)
{
    const int64_t count = case_get(trial->c, "E"), rows[2] = {2 * a->down.columns, a->x.extent[1]};
    const struct assay_weights *const banks[2] = {&a->gate_up, &a->down};
    for (int i = count < 4 * case_get(trial->c, "k"); i < 2; i++) {
        int64_t slot = i == 0 ? 0 : assay_tensor_count(&a->ids) - 1;
        int64_t e = oracle_get_int(&a->ids, slot), groups = banks[i]->scales.extent[1];
        if (e >= 0 && e < count)
            trial_put(trial, &banks[i]->scales,
                      (e * rows[i] + trial_below(trial, "nan row", (uint64_t)i, rows[i])) * groups,
                      NAN);
    }
}

/* Of a handful of weights all that count may be zero, which shows nothing: odd codes are not, and
 * no row has a scale of zero. */
static void fill_small(struct trial *trial, const struct assay_weights *bank)
{
    const int odd = bank->format == ASSAY_WEIGHT_Q8G32 ? 1 : 0x11;
    for (int64_t i = 0; i < assay_tensor_count(&bank->base); i++)
        trial_put_int(trial, &bank->base, i, oracle_get_int(&bank->base, i) | odd);
    for (int64_t i = 0; i < assay_tensor_count(&bank->scales); i++)
        if (oracle_get(&bank->scales, i) == 0)
            trial_put(trial, &bank->scales, i, 0x1p-5);
}

static bool build(struct trial *trial)
{
    struct assay_moe_experts_grouped_args *a = trial->args;
    const struct assay_case *c = trial->c;
    const int64_t rows = case_get(c, "T"), hidden = case_get(c, "H"), width = case_get(c, "F");
    const int64_t count = case_get(c, "E");
    const bool garbage = case_get(c, "padding") != 0, has_nan = c->dist == CASE_DIST_NONFINITE;
    const enum case_dist dist = has_nan ? CASE_DIST_NORMAL : c->dist;
    int64_t x[] = {rows, hidden}, taken[] = {rows, case_get(c, "k")};
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, x, x_values(c));
    a->ids = trial_input(trial, "ids", ASSAY_I32, 2, taken, values_of(c));
    a->weights = trial_input(trial, "weights", ASSAY_F32, 2, taken, weight_values(c));
    product_weights_named(trial, "gate_up", dist, format_of(c, "gate_up"), count * 2 * width,
                          hidden, garbage, &a->gate_up);
    product_weights_named(trial, "down", dist, format_of(c, "down"), count * hidden, width, garbage,
                          &a->down);
    if (hidden < 8 || width < 8) {
        fill_small(trial, &a->gate_up);
        fill_small(trial, &a->down);
    }
    expert_ids(trial, &a->ids);
    expert_weights(trial, &a->weights);
    spoil_unused(trial, &a->ids, 2 * width, &a->gate_up);
    spoil_unused(trial, &a->ids, hidden, &a->down);
    if (has_nan && rows > 0)
        put_nan_scales(trial, a);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, x);
    return true;
}

const struct case_spec case_spec_moe_experts_grouped = {
    .op = &assay_op_moe_experts_grouped,
    .oracle_name = "moe_experts_grouped",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .adjust = adjust,
    .build = build,
    .claims = expert_claims,
    .mutants = moe_experts_grouped_mutants,
    .num_mutants = MOE_EXPERTS_GROUPED_NUM_MUTANTS,
    .row_fields = "x ids weights y",
};
