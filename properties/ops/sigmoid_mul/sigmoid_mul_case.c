/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul's cases. `gates` makes gates of the size at which the sigmoid's tail counts;
 * one_gate=1 has one gate a row, as the shared expert.
 */
#include "sigmoid_mul_mutants.h"

#include <math.h>

#include "case.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 17, 64, -1};
/* 6144 = 24 heads of 256, the 27B model's; 2048 the 35B-A3B model's hidden size. */
static const int64_t widths[] = {1, 2, 3, 5, 63, 64, 65, 257, 1000, 2048, 6144, -1};
static const char *const gate_names[] = {"1", "4", "30", "60"};
static const double gate_scales[] = {1, 4, 30, 60};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = row_counts},
    {.name = "I", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 83, .values = widths},
    {.name = "one_gate", .kind = CASE_FLAG, .hi = 1},
    {.name = "x", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "gate", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "gates", .kind = CASE_CHOICE, .hi = 3, .names = gate_names},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 30000;
    if (c->layout == CASE_INPLACE)
        case_set(c, "y", case_get(c, "x"));
    if (case_get(c, "T") * case_get(c, "I") > max_elements)
        case_set(c, "T", max_elements / case_get(c, "I") + 1);
    /* A multiple of large values is no finite value; few large gates might make nothing but zeros.
     */
    int64_t gates = case_get(c, "T") * (case_get(c, "one_gate") ? 1 : case_get(c, "I"));
    if (c->dist == CASE_DIST_LARGE || gates < 64)
        case_set(c, "gates", 0);
}

/* Gates beyond -100 or so make zeros: distributions that reach thousands are brought down, so that
 * a small tensor does not consist of zeros. */
static struct values gate_values(const struct assay_case *c)
{
    struct values gates = values_of(c);
    gates.scale = gate_scales[case_get(c, "gates")];
    if (c->dist == CASE_DIST_OUTLIERS || c->dist == CASE_DIST_MASSIVE ||
        c->dist == CASE_DIST_CANCEL)
        gates.scale /= 64;
    return gates;
}

/* Infinite factors beside gates whose sigmoid is below every number, in a vector and in a tail. */
static void put_lost(struct trial *trial, int64_t count, bool one_gate)
{
    const struct assay_sigmoid_mul_args *a = trial->args;
    if (count < 2)
        return;
    trial_put(trial, &a->x, 0, INFINITY);
    trial_put(trial, &a->x, count - 1, -INFINITY);
    trial_put(trial, &a->gate, 0, -200);
    trial_put(trial, &a->gate, one_gate ? a->gate.extent[0] - 1 : count - 1, -300);
}

static bool build(struct trial *trial)
{
    struct assay_sigmoid_mul_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t extent[] = {case_get(c, "T"), case_get(c, "I")};
    int64_t gate_extent[] = {extent[0], case_get(c, "one_gate") ? 1 : extent[1]};
    struct values gates = gate_values(c);
    a->x = trial_input(trial, "x", (enum assay_dtype)case_get(c, "x"), 2, extent, values_of(c));
    a->gate =
        trial_input(trial, "gate", (enum assay_dtype)case_get(c, "gate"), 2, gate_extent, gates);
    if (c->dist == CASE_DIST_NONFINITE)
        put_lost(trial, extent[0] * extent[1], gate_extent[1] == 1);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, extent);
    return true;
}

const struct case_spec case_spec_sigmoid_mul = {
    .op = &assay_op_sigmoid_mul,
    .oracle_name = "sigmoid_mul",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .adjust = adjust,
    .build = build,
    .mutants = sigmoid_mul_mutants,
    .num_mutants = SIGMOID_MUL_NUM_MUTANTS,
    .row_fields = "x gate y",
};
