/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append's cases.
 */
#include "qk_norm_rope_append_mutants.h"

#include "case.h"
#include "start_at.h"
#include "words.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 8, 17, -1};
static const int64_t starts[] = {0, 1, 15, 16, 63, -1};
static const int64_t spares[] = {0, 1, 3, -1};
static const int64_t head_counts[] = {1, 2, 3, 24, -1};
static const int64_t group_counts[] = {1, 2, 3, 4, -1};
static const int64_t pair_counts[] = {1, 2, 3, 5, 16, 32, 48, 64, 128, -1};
static const int64_t rests[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 192, -1};
static const int64_t value_widths[] = {1, 2, 3, 7, 9, 64, 128, 256, -1};

enum { POSITIONS_SLOTS, POSITIONS_ZERO, POSITIONS_NEAR, POSITIONS_FAR };
static const char *const position_names[] = {"slots", "zero", "near", "far"};
enum { POSITION_LIMIT = 1 << 24 };

/* How R/2 pairs are shared by the three axes. */
enum { SECTIONS_EVEN, SECTIONS_TIME };
static const char *const section_names[] = {"even", "time", "height", "width"};
static const char *const theta_names[] = {"1e7", "1e4", "1.5"};
static const double theta_values[] = {1e7, 1e4, 1.5};
static const char *const eps_names[] = {"1e-6", "1e-12", "1"};
static const double eps_values[] = {1e-6, 1e-12, 1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

/* qk and w: formats of q and k, and of both weights. */
static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .hi = 4096, .fallback = 3, .values = token_counts},
    {.name = "start", .kind = CASE_COUNT, .hi = 1 << 20, .fallback = 5, .values = starts},
    {.name = "spare", .kind = CASE_COUNT, .hi = 64, .fallback = 2, .values = spares},
    {.name = "Hq", .kind = CASE_COUNT, .lo = 1, .hi = 64, .fallback = 3, .values = head_counts},
    {.name = "G", .kind = CASE_COUNT, .lo = 1, .hi = 16, .fallback = 2, .values = group_counts},
    {.name = "pairs", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 8, .values = pair_counts},
    {.name = "rest", .kind = CASE_COUNT, .hi = 1024, .fallback = 24, .values = rests},
    {.name = "Dv", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 20, .values = value_widths},
    {.name = "qk", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "v", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "w", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "q_out", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "cache", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "axes", .kind = CASE_COUNT, .lo = 1, .hi = 3, .fallback = 3},
    {.name = "sections", .kind = CASE_CHOICE, .hi = 3, .names = section_names},
    {.name = "theta", .kind = CASE_CHOICE, .hi = 2, .names = theta_names},
    {.name = "positions",
     .kind = CASE_CHOICE,
     .hi = 3,
     .fallback = POSITIONS_NEAR,
     .names = position_names},
    {.name = "eps", .kind = CASE_CHOICE, .hi = 2, .names = eps_names},
    {.name = "unit_offset", .kind = CASE_FLAG, .hi = 1, .fallback = 1},
    START_AT_PARAM,
};

static int64_t width_of(const struct assay_case *c)
{
    return 2 * case_get(c, "pairs") + case_get(c, "rest");
}

/* At least one slot, and at most 60000 elements of q, and of the caches. */
static void adjust(struct assay_case *c)
{
    const int64_t limit = 60000;
    if (case_get(c, "axes") == 2)
        case_set(c, "axes", 3); /* one row or three */
    if (c->layout == CASE_INPLACE)
        case_set(c, "q_out", case_get(c, "qk"));
    while (case_get(c, "T") * case_get(c, "Hq") * width_of(c) > limit)
        case_set(c, "T", case_get(c, "T") / 2);
    while ((case_get(c, "T") + case_get(c, "start") + case_get(c, "spare")) * case_get(c, "G") *
               (width_of(c) + case_get(c, "Dv")) >
           limit) {
        case_set(c, "start", case_get(c, "start") / 2);
        case_set(c, "spare", case_get(c, "spare") / 2);
        case_set(c, "G", (case_get(c, "G") + 1) / 2);
        if (case_get(c, "start") == 0 && case_get(c, "G") == 1)
            case_set(c, "T", case_get(c, "T") / 2);
    }
    if (case_get(c, "T") + case_get(c, "start") + case_get(c, "spare") == 0)
        case_set(c, "spare", 1);
}

static int64_t position(struct trial *trial, int64_t i, int64_t tokens)
{
    switch (case_get(trial->c, "positions")) {
    case POSITIONS_ZERO:
        return 0;
    case POSITIONS_SLOTS: /* as text has them */
        return start_at_effective(trial->c) + i % tokens;
    case POSITIONS_NEAR:
        return 100 + trial_below(trial, "positions", (uint64_t)i, 1 << 18);
    default: /* the last one allowed among them */
        return i == 0 ? POSITION_LIMIT - 1
                      : trial_below(trial, "positions", (uint64_t)i, POSITION_LIMIT);
    }
}

static void put_sections(const struct assay_case *c, int64_t sections[3])
{
    int64_t pairs = case_get(c, "pairs"), kind = case_get(c, "sections");
    if (kind != SECTIONS_EVEN) {
        sections[kind - SECTIONS_TIME] = pairs;
        return;
    }
    sections[0] = (pairs + 2) / 3; /* 32 pairs: 11, 11, 10 */
    sections[1] = (pairs + 1) / 3;
    sections[2] = pairs / 3;
}

static void put_heads(struct trial *trial, struct assay_qk_norm_rope_append_args *a)
{
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), width = width_of(c), places[] = {3, tokens};
    int64_t q[] = {tokens, case_get(c, "Hq"), width}, k[] = {tokens, case_get(c, "G"), width};
    enum assay_dtype format = (enum assay_dtype)case_get(c, "qk");
    enum assay_dtype weight = (enum assay_dtype)case_get(c, "w");
    struct values weights = {.dist = CASE_DIST_NORMAL, .scale = 0.3};
    bool three = case_get(c, "axes") == 3;
    weights.shift = case_get(c, "unit_offset") ? 0 : 1;
    a->q = trial_input(trial, "q", format, 3, q, values_of(c));
    a->k = trial_input(trial, "k", format, 3, k, values_of(c));
    a->q_weight = trial_input(trial, "q_weight", weight, 1, &width, weights);
    a->k_weight = trial_input(trial, "k_weight", weight, 1, &width, weights);
    a->positions = trial_input(trial, "positions", ASSAY_I32, three ? 2 : 1,
                               three ? places : places + 1, values_of(c));
    for (int64_t i = 0; i < assay_tensor_count(&a->positions); i++)
        trial_put_int(trial, &a->positions, i, position(trial, i, tokens));
    a->q_out = trial_output(trial, "q_out", (enum assay_dtype)case_get(c, "q_out"), 3, q);
}

static bool build(struct trial *trial)
{
    struct assay_qk_norm_rope_append_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), groups = case_get(c, "G");
    int64_t slots = case_get(c, "start") + tokens + case_get(c, "spare");
    int64_t v[] = {tokens, groups, case_get(c, "Dv")};
    int64_t k_cache[] = {slots, groups, width_of(c)}, v_cache[] = {slots, groups, v[2]};
    enum assay_dtype cache = (enum assay_dtype)case_get(c, "cache");
    struct values before = {.dist = CASE_DIST_NORMAL, .scale = 1};
    put_heads(trial, a);
    a->v = trial_input(trial, "v", (enum assay_dtype)case_get(c, "v"), 3, v, values_of(c));
    a->k_cache = trial_inout_slots(trial, "k_cache", cache, 3, k_cache, before,
                                   start_at_effective(c), tokens);
    a->v_cache = trial_inout_slots(trial, "v_cache", cache, 3, v_cache, before,
                                   start_at_effective(c), tokens);
    a->start = case_get(c, "start");
    start_at_put(trial, &a->start_at);
    a->rotary_dim = 2 * case_get(c, "pairs");
    a->theta = theta_values[case_get(c, "theta")];
    put_sections(c, a->sections);
    a->unit_offset = case_get(c, "unit_offset") != 0;
    a->eps = eps_values[case_get(c, "eps")];
    return true;
}

/* Something turns: new elements of k, rotated, are not those of a norm without rotation. A norm
 * keeps the sign of an element where its gain is positive; at least one of a hundred must have
 * changed. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_qk_norm_rope_append_args *a = trial->args;
    const struct assay_case *c = trial->c;
    if (c->dist != CASE_DIST_NORMAL || c->layout == CASE_INPLACE || outputs[0].count < 200 ||
        case_get(c, "positions") < POSITIONS_NEAR || case_get(c, "pairs") < 4)
        return;
    bool turned = false;
    for (int64_t i = 0; i < outputs[0].count; i++)
        turned |= i % width_of(c) < a->rotary_dim && outputs[0].value[i] * oracle_get(&a->q, i) < 0;
    trial_claim(trial, "something is rotated", turned);
}

/* Rows from `first` on begin later; the start becomes one that the host knows. */
static void row_shift(void *args, int64_t first)
{
    struct assay_qk_norm_rope_append_args *a = args;
    if (a->start_at.data != NULL) {
        int64_t at = oracle_get_int(&a->start_at, 0);
        at = at < 0 ? 0 : at;
        a->start = at < a->start ? at : a->start;
        a->start_at = (struct assay_tensor){.data = NULL};
    }
    a->start += first;
}

const struct case_spec case_spec_qk_norm_rope_append = {
    .op = &assay_op_qk_norm_rope_append,
    .oracle_name = "qk_norm_rope_append",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = qk_norm_rope_append_mutants,
    .num_mutants = QK_NORM_ROPE_APPEND_NUM_MUTANTS,
    .row_fields = "q k v positions- q_out",
    .row_shift = row_shift,
};
