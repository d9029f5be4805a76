/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d's laws and its bad calls. Clauses tested here or by the sweep
 * (causal_conv1d.route.cpu): [CONV1D-1] [CONV1D-5] sweep against the oracle; [CONV1D-2] [CONV1D-3]
 * splits and sweep; [CONV1D-4] errors and sweep; [CONV1D-6] sweep (in place, guards) and errors;
 * [CONV1D-7] laws and the distributions large and nonfinite of the sweep; [CONV1D-8] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/causal_conv1d.h>

enum { T = 40, C = 37, TAPS = 4 };

struct run {
    float x[T][C], w[C][TAPS], y[T][C], state[TAPS - 1][C];
};

static void fill(struct run *r)
{
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++)
            r->x[t][c] = (float)((t * 71 + c * 29) % 97 - 48) * 0.05f;
    for (int c = 0; c < C; c++)
        for (int j = 0; j < TAPS; j++)
            r->w[c][j] = (float)((c * 13 + j * 41) % 19 - 9) * 0.11f;
    for (int i = 0; i < TAPS - 1; i++)
        for (int c = 0; c < C; c++)
            r->state[i][c] = (float)((i * 17 + c * 5) % 23 - 11) * 0.2f;
}

/* Tokens [first, first + count). */
static void advance(assay_context *context, struct run *r, int first, int count)
{
    struct assay_causal_conv1d_args args = {.x = assay_tensor_2d(r->x[first], ASSAY_F32, count, C),
                                            .w = assay_tensor_2d(r->w, ASSAY_F32, C, TAPS),
                                            .state =
                                                assay_tensor_2d(r->state, ASSAY_F32, TAPS - 1, C),
                                            .y = assay_tensor_2d(r->y[first], ASSAY_F32, count, C),
                                            .silu = true};
    cr_assert_eq(assay_causal_conv1d(context, &args), ASSAY_OK);
}

/* Any split of a sequence into calls gives the same bits, state included: calls shorter than the
 * state, and empty ones, too [CONV1D-2] [CONV1D-3]. */
Test(causal_conv1d, splits)
{
    assay_context *context = new_context(0);
    static struct run whole, split;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_causal_conv1d, route)
    {
        fill(&whole);
        advance(context, &whole, 0, T);
        for (int first = 0; first <= T; first++) {
            for (int step = 1; step <= 5; step += 2) {
                fill(&split);
                advance(context, &split, 0, first);
                for (int t = first; t < T; t += step)
                    advance(context, &split, t, T - t < step ? T - t : step);
                cr_assert(memcmp(&whole, &split, sizeof whole) == 0, "%s: split at %d, then by %d",
                          route->name, first, step);
            }
        }
    }
    assay_context_destroy(context);
}

/* NaN stays in its channel, reaches `taps` outputs and has left the state after taps - 1 more
 * tokens; an infinity too [CONV1D-7]. */
Test(causal_conv1d, isolation)
{
    assay_context *context = new_context(0);
    static struct run clean, poisoned;
    const struct assay_route *route;
    const float poisons[] = {NAN, INFINITY};
    EACH_ROUTE(context, &assay_op_causal_conv1d, route)
    {
        for (int p = 0; p < 2; p++) {
            fill(&clean);
            fill(&poisoned);
            poisoned.x[10][5] = poisons[p];
            advance(context, &clean, 0, T);
            advance(context, &poisoned, 0, T);
            for (int t = 0; t < T; t++)
                for (int c = 0; c < C; c++) {
                    bool touched = c == 5 && t >= 10 && t < 10 + TAPS;
                    bool same = memcmp(&clean.y[t][c], &poisoned.y[t][c], sizeof(float)) == 0;
                    cr_assert(touched ? !isfinite(poisoned.y[t][c]) || poisons[p] > 0 : same,
                              "%s: y[%d,%d]", route->name, t, c);
                }
            cr_assert(memcmp(clean.state, poisoned.state, sizeof clean.state) == 0);
        }
    }
    assay_context_destroy(context);
}

/* A constant channel c with taps summing to s gives silu(c s) once the state is full: theory. A sum
 * below the range of binary32 gives zero, not NaN [CONV1D-1] [CONV1D-7]. */
Test(causal_conv1d, theory)
{
    assay_context *context = new_context(0);
    static struct run r;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_causal_conv1d, route)
    {
        fill(&r);
        memset(r.state, 0, sizeof r.state);
        for (int t = 0; t < T; t++)
            for (int c = 0; c < C; c++)
                r.x[t][c] = c == 0 ? 3e38f : (float)(c - 18) * 0.25f;
        for (int j = 0; j < TAPS; j++)
            r.w[0][j] = -2;
        advance(context, &r, 0, T);
        for (int c = 0; c < C; c++) {
            double sum = 0;
            for (int j = 0; j < TAPS; j++)
                sum += (double)r.w[c][j] * (double)r.x[0][c];
            double expected = sum < -700 ? 0 : sum / (1 + exp(-sum));
            for (int t = TAPS - 1; t < T; t++)
                cr_assert(fabs((double)r.y[t][c] - expected) <= 1e-6 * (1 + fabs(expected)),
                          "%s: y[%d,%d] = %g, theory %g", route->name, t, c, (double)r.y[t][c],
                          expected);
        }
    }
    assay_context_destroy(context);
}

/* Every documented error [CONV1D-4] [CONV1D-6] [CONV1D-8]. */
Test(causal_conv1d, errors)
{
    static float x[2 * 8 + 16], w[8 * 9], outputs[64];
    float *y = outputs, *state = outputs + 24;
    const struct assay_causal_conv1d_args good = {
        .x = assay_tensor_2d(x, ASSAY_F32, 2, 8),
        .w = assay_tensor_2d(w, ASSAY_F32, 8, TAPS),
        .state = assay_tensor_2d(state, ASSAY_F32, TAPS - 1, 8),
        .y = assay_tensor_2d(y, ASSAY_F32, 2, 8),
        .silu = true};
    struct bad_calls *calls =
        bad_calls_new(&assay_op_causal_conv1d, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_causal_conv1d_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w", a.w.data = NULL);
    BAD(ASSAY_E_ARG, "state", a.state.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 3);
    BAD(ASSAY_E_SHAPE, "w", a.w.rank = 1);
    BAD(ASSAY_E_SHAPE, "state", a.state.rank = 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[1] = 9; a.w.stride[0] = 9);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = 7);
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[0] = 2);
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[1] = 7);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "state", a.state.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = 7);
    BAD(ASSAY_E_LAYOUT, "state", a.state.stride[0] = 0);
    BAD(ASSAY_E_LAYOUT, "w", a.w.data = (char *)w + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.data = y);
    BAD(ASSAY_E_ALIAS, "y", a.state.data = y + 8);
    BAD(ASSAY_E_ALIAS, "state", a.x.data = state);
    BAD(ASSAY_E_ALIAS, "state", a.w.data = state);
#undef BAD
    bad_calls_finish(calls);
}
