/* SPDX-License-Identifier: MIT
 *
 * moe_experts' cases. `routing` says which experts the tokens have; those that none has hold NaN
 * throughout.
 */
#include "moe_experts_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"
#include "words.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33, 64, -1};
static const int64_t experts[] = {1, 2, 3, 5, 8, 16, 33, 64, -1};
static const int64_t slots[] = {1, 2, 3, 4, 8, 10, -1};
static const int64_t inner_lengths[] = {1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 129, 257, 1000, -1};
static const int64_t widths[] = {1, 2, 3, 7, 8, 9, 31, 33, 64, 65, 129, 512, -1};
/* Distinct experts at random; the same for all tokens, the last ones; one expert for all; any, also
 * twice in a row; some ids that are none. */
static const char *const routing_names[] = {"spread", "last", "one", "repeated", "invalid"};
enum { SPREAD, LAST, ONE, REPEATED, INVALID };
/* As the distribution has them, as a router makes them, or zeros among them. */
static const char *const weight_names[] = {"any", "router", "zeros"};
enum { ANY, ROUTER, WITH_ZEROS };

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
    {.name = "routing", .kind = CASE_CHOICE, .hi = 4, .fallback = SPREAD, .names = routing_names},
    {.name = "weights", .kind = CASE_CHOICE, .hi = 2, .fallback = ANY, .names = weight_names},
};

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit < 1 ? 1 : limit;
}

/* Of a handful of elements all may be zero, as large gates of the wrong sign make them, or none may
 * have a promise: three rows of x and three weights are not finite. */
static void fit_small(struct assay_case *c)
{
    const int64_t tokens = case_get(c, "T"), pairs = tokens * case_get(c, "k");
    const bool is_wide = c->dist == CASE_DIST_OUTLIERS || c->dist == CASE_DIST_MASSIVE ||
                         c->dist == CASE_DIST_CANCEL;
    if (pairs < 4 && case_get(c, "weights") == WITH_ZEROS)
        case_set(c, "weights", ANY);
    if ((tokens < 8 && c->dist == CASE_DIST_NONFINITE) ||
        (pairs * case_get(c, "F") < 16 && is_wide))
        c->dist = CASE_DIST_NORMAL;
}

static void adjust(struct assay_case *c)
{
    const bool is_slow = strstr(c->route, ".simt") != NULL; /* the executor */
    const int64_t most_work = is_slow ? 24000 : 300000, most_weights = 120000;
    int64_t hidden = case_get(c, "H"), width = case_get(c, "F"), k = case_get(c, "k");
    if (c->dist == CASE_DIST_NONFINITE && case_get(c, "T") < 8)
        case_set(c, "T", 8);
    if (strstr(c->route, ".pairs.") != NULL)
        case_set(c, "T", c->dist == CASE_DIST_NONFINITE ? 8 : case_get(c, "T") % 9);
    if (case_get(c, "E") < k && case_get(c, "routing") == SPREAD)
        case_set(c, "routing", REPEATED);
    /* Extents give way to the tokens that a case is about: to the second block of 32, say. */
    const int64_t asked = case_get(c, "T") < 33 ? case_get(c, "T") : 33;
    const bool needs_tokens = asked > 8 || c->dist == CASE_DIST_NONFINITE;
    const int64_t of_token = most_work / 3 / (needs_tokens ? asked : 1);
    if (hidden > width)
        width = at_most(width, of_token / hidden);
    else
        hidden = at_most(hidden, of_token / width);
    k = at_most(k, of_token / hidden / width);
    if (case_get(c, "T") > 0)
        case_set(c, "T", at_most(case_get(c, "T"), most_work / 3 / hidden / width / k));
    case_set(c, "E", at_most(case_get(c, "E"), most_weights / 3 / hidden / width));
    case_set(c, "H", hidden);
    case_set(c, "F", width);
    case_set(c, "k", k);
    if (case_get(c, "E") < k && case_get(c, "routing") == SPREAD)
        case_set(c, "routing", REPEATED);
    fit_small(c);
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

static int64_t draw_id(const struct trial *trial, int64_t t, int64_t i, const int64_t *row)
{
    const struct assay_case *c = trial->c;
    const int64_t count = case_get(c, "E"), routing = case_get(c, "routing");
    uint64_t at = (uint64_t)(t * 64 + i) << 20;
    if (routing == LAST)
        return (count - 1 - i % count);
    if (routing == ONE)
        return trial_below(trial, "one", 0, count);
    if (routing == INVALID && (t * 5 + i) % 7 == 0)
        return t % 2 == 0 ? -1 : count;
    int64_t id = trial_below(trial, "id", at, count);
    for (int64_t j = 0; routing == SPREAD && j < i; j++)
        if (row[j] == id) { /* once more, from the start */
            id = trial_below(trial, "id", ++at, count);
            j = -1;
        }
    return id;
}

static void put_ids(struct trial *trial, const struct assay_tensor *ids)
{
    int64_t row[64];
    for (int64_t t = 0; t < ids->extent[0]; t++)
        for (int64_t i = 0; i < ids->extent[1]; i++) {
            row[i] = draw_id(trial, t, i, row);
            trial_put_int(trial, ids, t * ids->extent[1] + i, row[i]);
        }
}

static void put_weights(struct trial *trial, const struct assay_tensor *weights)
{
    const int64_t kind = case_get(trial->c, "weights"), k = weights->extent[1];
    for (int64_t t = 0; t < weights->extent[0] && kind == ROUTER; t++) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += 1 + trial_uniform(trial, "part", (uint64_t)(t * k + i));
        for (int64_t i = 0; i < k; i++)
            trial_put(trial, weights, t * k + i,
                      (1 + trial_uniform(trial, "part", (uint64_t)(t * k + i))) / sum);
    }
    for (int64_t i = 0; i < assay_tensor_count(weights) && kind == WITH_ZEROS; i += 3)
        trial_put(trial, weights, i, 0);
}

static bool is_used(const struct assay_tensor *ids, int64_t e)
{
    for (int64_t i = 0; i < assay_tensor_count(ids); i++)
        if (oracle_get_int(ids, i) == e)
            return true;
    return false;
}

/* An expert that no token has may hold anything [MOEEXPERTS-6]. */
static void spoil_unused(struct trial *trial, const struct assay_tensor *ids,
                         const struct assay_tensor *bank)
{
    int64_t size = bank->extent[1] * bank->extent[2];
    for (int64_t e = 0; e < bank->extent[0]; e++) {
        if (is_used(ids, e))
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
    put_ids(trial, &a->ids);
    put_weights(trial, &a->weights);
    spoil_unused(trial, &a->ids, &a->gate_up);
    spoil_unused(trial, &a->ids, &a->down);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, x);
    return true;
}

/* A repeated row or column, or a wrong expert, shows only where neighbours differ. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "H");
    if (c->dist != CASE_DIST_NORMAL || rows == 0 || columns < 8 || case_get(c, "F") < 8 ||
        case_get(c, "routing") == INVALID || case_get(c, "weights") == WITH_ZEROS)
        return;
    const double *y = outputs[0].value;
    trial_claim(trial, "the last two columns of y differ", y[columns - 1] != y[columns - 2]);
    if (rows > 1)
        trial_claim(trial, "the last two rows of y differ",
                    y[(rows - 1) * columns] != y[(rows - 2) * columns]);
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
    .claims = claims,
    .mutants = moe_experts_mutants,
    .num_mutants = MOE_EXPERTS_NUM_MUTANTS,
    .row_fields = "x ids weights y",
};
