/* SPDX-License-Identifier: MIT
 *
 * gdn_gating's laws and its bad calls. Clauses tested here or by the sweep (gdn_gating.route.cpu):
 * [GDNGATE-1] [GDNGATE-2] [GDNGATE-5] sweep and all_words; [GDNGATE-3] sweep and errors;
 * [GDNGATE-4] laws, sweep and all_words; [GDNGATE-6] sweep (in place, guards) and errors;
 * [GDNGATE-7] laws and the distribution nonfinite of the sweep; [GDNGATE-8] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "oracle.h"
#include "verdict.h"
#include <assay/ops/gdn_gating.h>

/* All 65,536 bf16 words as a and as b, by every route, against the oracle. */
Test(gdn_gating, all_words)
{
    enum { N = 256 };
    static uint16_t words[N * N];
    static float g[N * N], beta[N * N], a_log[N], dt_bias[N];
    for (int i = 0; i < N * N; i++)
        words[i] = (uint16_t)i;
    for (int h = 0; h < N; h++) {
        a_log[h] = (float)(h % 9 - 4) * 0.7f;
        dt_bias[h] = (float)(h % 5) * 0.25f;
    }
    struct assay_gdn_gating_args args = {.a = assay_tensor_2d(words, ASSAY_BF16, N, N),
                                         .b = assay_tensor_2d(words, ASSAY_BF16, N, N),
                                         .a_log = assay_tensor_1d(a_log, ASSAY_F32, N),
                                         .dt_bias = assay_tensor_1d(dt_bias, ASSAY_F32, N),
                                         .g = assay_tensor_2d(g, ASSAY_F32, N, N),
                                         .beta = assay_tensor_2d(beta, ASSAY_F32, N, N)};
    const struct oracle_op *oracle = oracle_find("gdn_gating");
    struct oracle_output outputs[2];
    cr_assert(oracle_output_create(&outputs[0], "g", ASSAY_F32, N * N));
    cr_assert(oracle_output_create(&outputs[1], "beta", ASSAY_F32, N * N));
    assay_context *context = new_context(0);
    const struct assay_route *route;
    cr_assert_eq(oracle->ref(&args, outputs), ASSAY_OK);
    EACH_ROUTE(context, &assay_op_gdn_gating, route)
    {
        struct oracle_route how = {.profile = route->profile};
        oracle->bound(&args, &how, outputs);
        cr_assert_eq(assay_gdn_gating(context, &args), ASSAY_OK);
        struct verdict verdict;
        verdict_compare(&args.g, &outputs[0], 1, false, &verdict);
        cr_assert_eq(verdict.finding, VERDICT_PASS, "%s: %s", route->name, verdict.message);
        verdict_compare(&args.beta, &outputs[1], 1, false, &verdict);
        cr_assert_eq(verdict.finding, VERDICT_PASS, "%s: %s", route->name, verdict.message);
        for (int i = 0; i < N * N; i++)
            cr_assert(!(g[i] > 0));
    }
    oracle_output_destroy(&outputs[0]);
    oracle_output_destroy(&outputs[1]);
    assay_context_destroy(context);
}

/* Theory: softplus(0) = ln 2; softplus(x) - softplus(-x) = x; sigmoid(b) + sigmoid(-b) = 1; and
 * below -20 softplus is exp, never zero before that is [GDNGATE-1] [GDNGATE-2] [GDNGATE-4]. */
Test(gdn_gating, theory)
{
    enum { H = 203 };
    float a[2][H], a_log[H] = {0}, dt_bias[H] = {0}, g[2][H], beta[2][H];
    for (int i = 0; i < H; i++) {
        a[0][i] = (float)i * 0.5f;
        a[1][i] = -a[0][i];
    }
    struct assay_gdn_gating_args args = {.a = assay_tensor_2d(a, ASSAY_F32, 2, H),
                                         .b = assay_tensor_2d(a, ASSAY_F32, 2, H),
                                         .a_log = assay_tensor_1d(a_log, ASSAY_F32, H),
                                         .dt_bias = assay_tensor_1d(dt_bias, ASSAY_F32, H),
                                         .g = assay_tensor_2d(g, ASSAY_F32, 2, H),
                                         .beta = assay_tensor_2d(beta, ASSAY_F32, 2, H)};
    assay_context *context = new_context(0);
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_gating, route)
    {
        cr_assert_eq(assay_gdn_gating(context, &args), ASSAY_OK);
        cr_assert(fabs((double)g[0][0] + log(2)) <= 0x1p-22);
        cr_assert_eq(beta[0][0], 0.5f);
        for (int i = 0; i < H; i++) {
            double x = (double)a[0][i], up = -(double)g[0][i], down = -(double)g[1][i];
            cr_assert(fabs(up - down - x) <= 0x1p-21 * (1 + x), "%s: %g", route->name, x);
            cr_assert(fabs((double)beta[0][i] + (double)beta[1][i] - 1) <= 0x1p-21);
            if (x >= 20)
                cr_assert(fabs(down - exp(-x)) <= 0x1p-20 * exp(-x) + 0x1p-148, "%s: %g",
                          route->name, x);
        }
    }
    assay_context_destroy(context);
}

/* NaN in one head or token stays there [GDNGATE-7]. */
Test(gdn_gating, isolation)
{
    enum { ROWS = 3, H = 33 };
    float a[ROWS][H], b[ROWS][H], a_log[H], dt_bias[H], g[2][ROWS][H], beta[2][ROWS][H];
    assay_context *context = new_context(0);
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_gating, route)
    {
        for (int run = 0; run < 2; run++) {
            for (int i = 0; i < ROWS * H; i++) {
                a[i / H][i % H] = (float)(i % 13) - 6;
                b[i / H][i % H] = (float)(i % 7) - 3;
                a_log[i % H] = (float)(i % H % 5) * 0.5f;
                dt_bias[i % H] = (float)(i % H % 3);
            }
            if (run == 1) {
                a[1][4] = b[2][20] = a_log[7] = NAN;
                dt_bias[32] = INFINITY;
            }
            struct assay_gdn_gating_args args = {
                .a = assay_tensor_2d(a, ASSAY_F32, ROWS, H),
                .b = assay_tensor_2d(b, ASSAY_F32, ROWS, H),
                .a_log = assay_tensor_1d(a_log, ASSAY_F32, H),
                .dt_bias = assay_tensor_1d(dt_bias, ASSAY_F32, H),
                .g = assay_tensor_2d(g[run], ASSAY_F32, ROWS, H),
                .beta = assay_tensor_2d(beta[run], ASSAY_F32, ROWS, H)};
            cr_assert_eq(assay_gdn_gating(context, &args), ASSAY_OK);
        }
        for (int t = 0; t < ROWS; t++) {
            for (int h = 0; h < H; h++) {
                bool bad_g = (t == 1 && h == 4) || h == 7, bad_beta = t == 2 && h == 20;
                cr_assert(bad_g ? isnan(g[1][t][h])
                          : h == 32
                              ? isinf(g[1][t][h])
                              : fabsf(g[1][t][h] - g[0][t][h]) <= 0x1p-20f * fabsf(g[0][t][h]));
                cr_assert(bad_beta ? isnan(beta[1][t][h]) : beta[1][t][h] == beta[0][t][h]);
            }
        }
    }
    assay_context_destroy(context);
}

/* Every documented error [GDNGATE-3] [GDNGATE-6] [GDNGATE-8]. */
Test(gdn_gating, errors)
{
    static float a[24], b[24], a_log[8], dt_bias[8], outputs[64];
    float *g = outputs, *beta = outputs + 32;
    const struct assay_gdn_gating_args good = {.a = assay_tensor_2d(a, ASSAY_F32, 2, 8),
                                               .b = assay_tensor_2d(b, ASSAY_F32, 2, 8),
                                               .a_log = assay_tensor_1d(a_log, ASSAY_F32, 8),
                                               .dt_bias = assay_tensor_1d(dt_bias, ASSAY_F32, 8),
                                               .g = assay_tensor_2d(g, ASSAY_F32, 2, 8),
                                               .beta = assay_tensor_2d(beta, ASSAY_F32, 2, 8)};
    struct bad_calls *calls = bad_calls_new(&assay_op_gdn_gating, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_gdn_gating_args, x, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "a", x.a.data = NULL);
    BAD(ASSAY_E_ARG, "b", x.b.data = NULL);
    BAD(ASSAY_E_ARG, "a_log", x.a_log.data = NULL);
    BAD(ASSAY_E_ARG, "dt_bias", x.dt_bias.data = NULL);
    BAD(ASSAY_E_ARG, "g", x.g.data = NULL);
    BAD(ASSAY_E_ARG, "beta", x.beta.data = NULL);
    BAD(ASSAY_E_SHAPE, "a", x.a.rank = 1);
    BAD(ASSAY_E_SHAPE, "a_log", x.a_log.rank = 2);
    BAD(ASSAY_E_SHAPE, "a_log", x.a_log.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "dt_bias", x.dt_bias.extent[0] = 7);
    BAD(ASSAY_E_SHAPE, "a", x.a.extent[1] = 7);
    BAD(ASSAY_E_SHAPE, "b", x.b.extent[0] = 3);
    BAD(ASSAY_E_SHAPE, "g", x.g.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "beta", x.beta.extent[0] = 1);
    BAD(ASSAY_E_FORMAT, "a", x.a.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "b", x.b.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "a_log", x.a_log.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "dt_bias", x.dt_bias.dtype = ASSAY_U8);
    BAD(ASSAY_E_FORMAT, "g", x.g.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "beta", x.beta.dtype = ASSAY_BF16);
    BAD(ASSAY_E_LAYOUT, "a", x.a.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "g", x.g.stride[0] = 7);
    BAD(ASSAY_E_LAYOUT, "beta", x.beta.stride[0] = 0);
    BAD(ASSAY_E_ALIAS, "g", x.beta.data = g + 4);
    BAD(ASSAY_E_ALIAS, "g", x.a.data = g + 1);
    BAD(ASSAY_E_ALIAS, "g", x.b.data = g);
    BAD(ASSAY_E_ALIAS, "g", x.a_log.data = g);
    BAD(ASSAY_E_ALIAS, "g", x.dt_bias.data = g + 8);
    BAD(ASSAY_E_ALIAS, "beta", x.a.data = beta);
    BAD(ASSAY_E_ALIAS, "beta", x.b.data = beta + 1);
    BAD(ASSAY_E_ALIAS, "beta", x.a_log.data = beta);
    BAD(ASSAY_E_ALIAS, "beta", x.dt_bias.data = beta + 2);
#undef BAD
    bad_calls_finish(calls);
}
