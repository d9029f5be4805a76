/* SPDX-License-Identifier: MIT
 *
 * rope's cases.
 */
#include "rope_mutants.h"

#include <math.h>

#include "case.h"
#include "words.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 4, 5, 17, 32, -1};
static const int64_t head_counts[] = {1, 2, 3, 5, 24, -1};
static const int64_t pair_counts[] = {1, 2, 3, 5, 32, 48, 64, 128, -1};
static const int64_t rests[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 32, 192, -1};

enum { POSITIONS_INDEX, POSITIONS_ZERO, POSITIONS_NEAR, POSITIONS_FAR };
static const char *const position_names[] = {"index", "zero", "near", "far"};
enum { POSITION_LIMIT = 1 << 24 };

/* How R/2 pairs are shared by the three axes. */
enum { SECTIONS_EVEN, SECTIONS_TIME, SECTIONS_HEIGHT, SECTIONS_WIDTH };
static const char *const section_names[] = {"even", "time", "height", "width"};

static const char *const theta_names[] = {"1e7", "1e4", "1.5", "5e5", "1e300"};
static const double theta_values[] = {1e7, 1e4, 1.5, 5e5, 1e300};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .hi = 4096, .fallback = 3, .values = token_counts},
    {.name = "heads", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 2, .values = head_counts},
    {.name = "pairs",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 512,
     .fallback = 32,
     .values = pair_counts},
    {.name = "rest", .kind = CASE_COUNT, .hi = 1024, .fallback = 24, .values = rests},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "axes", .kind = CASE_COUNT, .lo = 1, .hi = 3, .fallback = 3},
    {.name = "sections", .kind = CASE_CHOICE, .hi = 3, .names = section_names},
    {.name = "theta", .kind = CASE_CHOICE, .hi = 4, .names = theta_names},
    {.name = "positions",
     .kind = CASE_CHOICE,
     .hi = 3,
     .fallback = POSITIONS_NEAR,
     .names = position_names},
};

static void adjust(struct assay_case *c)
{
    if (case_get(c, "axes") == 2)
        case_set(c, "axes", 3); /* one row or three */
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
    /* sin may vanish in binary32 and make an infinity NaN */
    if (c->dist == CASE_DIST_NONFINITE && theta_values[case_get(c, "theta")] > 1e30)
        case_set(c, "theta", 0);
    while (case_get(c, "T") * case_get(c, "heads") *
               (2 * case_get(c, "pairs") + case_get(c, "rest")) >
           100000)
        case_set(c, "T", case_get(c, "T") / 2);
}

/* A copy. */
static bool exact(const struct assay_case *c)
{
    return case_get(c, "positions") == POSITIONS_ZERO;
}

static int64_t position(struct trial *trial, int64_t i, int64_t tokens)
{
    switch (case_get(trial->c, "positions")) {
    case POSITIONS_ZERO:
        return 0;
    case POSITIONS_INDEX:
        return i % tokens;
    case POSITIONS_NEAR:
        return 100 + trial_below(trial, "positions", (uint64_t)i, 1 << 18);
    default: /* the last one allowed among them */
        return i == 0 ? POSITION_LIMIT - 1
                      : trial_below(trial, "positions", (uint64_t)i, POSITION_LIMIT);
    }
}

static bool build(struct trial *trial)
{
    struct assay_rope_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), pairs = case_get(c, "pairs");
    int64_t extent[] = {tokens, case_get(c, "heads"), 2 * pairs + case_get(c, "rest")};
    int64_t places[] = {3, tokens};
    bool three = case_get(c, "axes") == 3;
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 3, extent, values_of(c));
    a->positions = trial_input(trial, "positions", ASSAY_I32, three ? 2 : 1,
                               three ? places : places + 1, values_of(c));
    for (int64_t i = 0; i < assay_tensor_count(&a->positions); i++)
        trial_put_int(trial, &a->positions, i, position(trial, i, tokens));
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 3, extent);
    a->rotary_dim = 2 * pairs;
    a->theta = theta_values[case_get(c, "theta")];
    switch (case_get(c, "sections")) {
    case SECTIONS_EVEN: /* 32 pairs: 11, 11, 10 */
        a->sections[0] = (pairs + 2) / 3;
        a->sections[1] = (pairs + 1) / 3;
        a->sections[2] = pairs / 3;
        break;
    default:
        a->sections[case_get(c, "sections") - SECTIONS_TIME] = pairs;
        break;
    }
    return true;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_rope_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t places = case_get(c, "positions");
    if (c->dist != CASE_DIST_NORMAL || outputs[0].count == 0 || c->layout == CASE_INPLACE)
        return;
    bool moved = false;
    for (int64_t i = 0; i < outputs[0].count; i++)
        moved |= outputs[0].value[i] != oracle_get(&a->x, i);
    if (places == POSITIONS_ZERO)
        trial_claim(trial, "nothing is rotated at position 0", !moved);
    else if (places == POSITIONS_NEAR || places == POSITIONS_FAR)
        trial_claim(trial, "something is rotated", moved);
}

const struct case_spec case_spec_rope = {
    .op = &assay_op_rope,
    .oracle_name = "rope",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = rope_mutants,
    .num_mutants = ROPE_NUM_MUTANTS,
    .row_fields = "x positions- y",
};
