/* SPDX-License-Identifier: MIT
 *
 * linear_topk's oracle on selections as a route may leave them: two logits that differ by less than
 * their bounds may stand either way round, anything else that is wrong is found, and the reference
 * names an id that must stand there.
 */
#include <criterion/criterion.h>

#include <assay/ops/linear_topk.h>

#include "oracle.h"
#include "verdict.h"
#include "words.h"

enum { V = 6, K = 3, KEPT = 4 };

/* Logits w0 + 2^-16 w1 + 2^-22 w2; a bound of 4 roundings and half an ulp, 3.0e-7 at 1. */
static const float x[K] = {1, 0x1p-16f, 0x1p-22f};
static const double weights[V * K] = {1, 0, 0, 1, 0, 1, 2, 0, 0, 1, 1, 0, 0.5, 0, 0, -1, 0, 0};
#define ABOVE (1 + 0x1p-16f)
#define NEAR  (1 + 0x1p-22f)

static int64_t depth(int64_t inner_length)
{
    return inner_length;
}

/* What the route left, and whether it is right; else the place and the id that it expects, -1
 * where the value is what is wrong. */
static const struct selection {
    const char *what;
    int k;
    int32_t ids[KEPT];
    float values[KEPT];
    bool is_right;
    int place, expected;
} selections[] = {
    {"exact", 4, {2, 3, 1, 0}, {2, ABOVE, NEAR, 1}, true, 0, 0},
    {"exact, cut between near ones", 3, {2, 3, 1}, {2, ABOVE, NEAR}, true, 0, 0},
    {"the other of two near ones", 3, {2, 3, 0}, {2, ABOVE, 1}, true, 0, 0},
    {"near ones changed, as their values say", 4, {2, 3, 0, 1}, {2, ABOVE, NEAR, 1}, true, 0, 0},
    {"near ones equal, lower id first", 4, {2, 3, 0, 1}, {2, ABOVE, 1, 1}, true, 0, 0},
    {"near ones equal, higher id first", 4, {2, 3, 1, 0}, {2, ABOVE, 1, 1}, false, 2, 0},
    {"a smaller one instead", 3, {2, 3, 4}, {2, ABOVE, 0.5f}, false, 2, 0},
    {"the largest is lost", 3, {3, 1, 0}, {ABOVE, NEAR, 1}, false, 2, 2},
    {"rising", 2, {3, 2}, {ABOVE, 2}, false, 0, 2},
    {"twice the same", 3, {2, 3, 3}, {2, ABOVE, ABOVE}, false, 2, 0},
    {"beyond limit", 3, {2, 3, 5}, {2, ABOVE, NEAR}, false, 2, 0},
    {"no id", 3, {2, 3, -1}, {2, ABOVE, NEAR}, false, 2, 0},
    {"values beside other ids", 3, {2, 1, 3}, {2, ABOVE, NEAR}, false, 1, -1},
    {"a value beyond its bound", 2, {2, 3}, {2, 1 + 0x1p-15f}, false, 1, -1},
};

static void check(const struct selection *s)
{
    uint16_t words[V * K];
    float row[K], values[KEPT];
    int32_t ids[KEPT];
    struct assay_linear_topk_args a = {.x = assay_tensor_2d(row, ASSAY_F32, 1, K),
                                       .w = {.format = ASSAY_WEIGHT_BF16, .rows = V, .columns = K},
                                       .values = assay_tensor_2d(values, ASSAY_F32, 1, s->k),
                                       .ids = assay_tensor_2d(ids, ASSAY_I32, 1, s->k),
                                       .limit = V - 1};
    a.w.base = assay_tensor_2d(words, ASSAY_BF16, V, K);
    for (int i = 0; i < V * K; i++)
        oracle_put(&a.w.base, i, weights[i]);
    for (int i = 0; i < K; i++)
        row[i] = x[i];
    const struct oracle_op *op = oracle_find("linear_topk");
    const struct oracle_route route = {ASSAY_PROFILE_F32, depth};
    struct oracle_output outputs[2];
    cr_assert(oracle_output_create(&outputs[0], "values", ASSAY_F32, s->k) &&
              oracle_output_create(&outputs[1], "ids", ASSAY_I32, s->k));
    bool used_mpfr;
    cr_assert_eq(oracle_evaluate(op, &a, &route, outputs, &used_mpfr), ASSAY_OK);
    for (int i = 0; i < s->k; i++) {
        values[i] = s->values[i];
        ids[i] = s->ids[i];
    }
    cr_assert_eq(op->settle(&a, &route, outputs), ASSAY_OK);
    struct verdict by_value, by_id;
    verdict_compare(&a.values, &outputs[0], 1, false, &by_value);
    verdict_compare(&a.ids, &outputs[1], 1, false, &by_id);
    bool passes = by_value.finding == VERDICT_PASS && by_id.finding == VERDICT_PASS;
    cr_assert_eq(passes, s->is_right, "%s: %s%s", s->what, by_value.message, by_id.message);
    if (!s->is_right && s->expected >= 0)
        cr_assert(by_id.worst_index == s->place && by_id.worst_reference == s->expected, "%s: %s",
                  s->what, by_id.message);
    if (!s->is_right && s->expected < 0)
        cr_assert(by_id.finding == VERDICT_PASS && by_value.worst_index == s->place, "%s: %s",
                  s->what, by_value.message);
    oracle_output_destroy(&outputs[0]);
    oracle_output_destroy(&outputs[1]);
}

Test(linear_topk_settle, selections)
{
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++)
        check(&selections[i]);
}
