/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent's laws and its bad calls. Clauses tested here or by the sweep
 * (gdn_recurrent.route.cpu): [GDNREC-1] [GDNREC-5] sweep against the oracle; [GDNREC-2] sweep (the
 * ratio r); [GDNREC-3] sweep and errors; [GDNREC-4] splits, and gdn_recurrent.drift; [GDNREC-6]
 * laws; [GDNREC-7] sweep (in place, guards) and errors; [GDNREC-8] isolation, sweep and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "gdn_laws.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/gdn_recurrent.h>

enum { T = 130, HK = 2, HV = 6, DK = 20, DV = 18, CELLS = HV * DK * DV };

/* Inputs of a sequence, its outputs, and a state in either format. */
struct run {
    float q[T][HK][DK], k[T][HK][DK], v[T][HV][DV], g[T][HV], beta[T][HV], o[T][HV][DV];
    float state32[CELLS];
    uint16_t state16[CELLS];
};

static void fill(struct run *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < T * HK * DK; i++) {
        (&r->q[0][0][0])[i] = wave(i, 101);
        (&r->k[0][0][0])[i] = wave(i + 7, 89) * 0.75f; /* about a unit vector */
    }
    for (int i = 0; i < T * HV * DV; i++)
        (&r->v[0][0][0])[i] = 2 * wave(i, 113);
    for (int i = 0; i < T * HV; i++) {
        (&r->g[0][0])[i] = -0.6f * (wave(i, 61) + 0.5f);
        (&r->beta[0][0])[i] = wave(i + 3, 53) + 0.5f;
    }
    for (int i = 0; i < CELLS; i++) {
        r->state32[i] = wave(i, 127);
        r->state16[i] = oracle_f16_word((double)r->state32[i]);
    }
}

static struct assay_gdn_recurrent_args tokens(struct run *r, enum assay_dtype state, int first,
                                              int count)
{
    void *memory = state == ASSAY_F32 ? (void *)r->state32 : (void *)r->state16;
    return (struct assay_gdn_recurrent_args){
        .q = assay_tensor_3d(r->q[first], ASSAY_F32, count, HK, DK),
        .k = assay_tensor_3d(r->k[first], ASSAY_F32, count, HK, DK),
        .v = assay_tensor_3d(r->v[first], ASSAY_F32, count, HV, DV),
        .g = assay_tensor_2d(r->g[first], ASSAY_F32, count, HV),
        .beta = assay_tensor_2d(r->beta[first], ASSAY_F32, count, HV),
        .state = assay_tensor_3d(memory, state, HV, DK, DV),
        .o = assay_tensor_3d(r->o[first], ASSAY_F32, count, HV, DV),
        .scale = 0.25};
}

static void advance(assay_context *context, struct run *r, enum assay_dtype state, int first,
                    int count)
{
    struct assay_gdn_recurrent_args args = tokens(r, state, first, count);
    cr_assert_eq(assay_gdn_recurrent(context, &args), ASSAY_OK);
}

/* One call of n tokens, and n calls of one, have the same bits in outputs and state, for every n of
 * 1 to 130; and any number of threads [GDNREC-4]. */
Test(gdn_recurrent, splits)
{
    assay_context *context = new_context(1), *threaded = new_context(3);
    static struct run start, single, whole;
    const struct assay_route *route;
    fill(&start);
    EACH_ROUTE(context, &assay_op_gdn_recurrent, route)
    {
        enum assay_dtype state = state_of(route);
        single = start;
        for (int n = 1; n <= T; n++) {
            advance(context, &single, state, n - 1, 1);
            whole = start;
            advance(context, &whole, state, 0, n);
            cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: %d tokens", route->name, n);
        }
        for (int split = 0; split <= T; split += 13) {
            whole = start;
            advance(context, &whole, state, 0, split);
            advance(context, &whole, state, split, T - split);
            cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: split at %d", route->name,
                      split);
        }
        cr_assert_eq(assay_context_force_route(threaded, route->name), ASSAY_OK);
        whole = start;
        advance(threaded, &whole, state, 0, T);
        cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: threads", route->name);
    }
    assay_context_destroy(context);
    assay_context_destroy(threaded);
}

/* beta = 0 leaves the decay, g = 0 decays nothing, exp(g) = 0 forgets everything, no token changes
 * nothing [GDNREC-6]. */
Test(gdn_recurrent, limits)
{
    assay_context *context = new_context(1);
    static struct run start, r, fresh;
    const struct assay_route *route;
    fill(&start);
    EACH_ROUTE(context, &assay_op_gdn_recurrent, route)
    {
        enum assay_dtype state = state_of(route);
        r = start;
        advance(context, &r, state, 0, 0);
        cr_assert(memcmp(&r, &start, sizeof r) == 0, "%s: no token", route->name);

        memset(r.beta, 0, sizeof r.beta);
        memset(r.g, 0, sizeof r.g);
        advance(context, &r, state, 0, T);
        cr_assert(memcmp(r.state32, start.state32, sizeof r.state32) == 0 &&
                      memcmp(r.state16, start.state16, sizeof r.state16) == 0,
                  "%s: g = 0, beta = 0", route->name);

        for (int h = 0; h < HV; h++)
            r.g[0][h] = -INFINITY;
        advance(context, &r, state, 0, 1);
        for (int i = 0; i < CELLS; i++) {
            double s = state == ASSAY_F32 ? (double)r.state32[i] : oracle_f16_value(r.state16[i]);
            cr_assert(s <= 0 && s >= 0, "%s: g = -inf, beta = 0", route->name);
        }

        r = start; /* what came before a token with exp(g) = 0 does not matter */
        fresh = start;
        memset(fresh.state32, 0, sizeof fresh.state32);
        memset(fresh.state16, 0, sizeof fresh.state16);
        for (int h = 0; h < HV; h++)
            r.g[2][h] = fresh.g[2][h] = h % 2 != 0 ? -INFINITY : -1000;
        advance(context, &r, state, 0, 9);
        advance(context, &fresh, state, 2, 7);
        cr_assert(memcmp(r.o[2], fresh.o[2], 7 * sizeof r.o[2]) == 0, "%s: outputs", route->name);
        bool same = state == ASSAY_F32 ? memcmp(r.state32, fresh.state32, sizeof r.state32) == 0
                                       : memcmp(r.state16, fresh.state16, sizeof r.state16) == 0;
        cr_assert(same, "%s: state", route->name);
    }
    assay_context_destroy(context);
}

/* NaN in one value head stays there; NaN in a key head's q reaches one token of its own value heads
 * and no state [GDNREC-8]. */
Test(gdn_recurrent, isolation)
{
    enum { TOKENS = 7, HEAD = 4, KEY_HEAD = 1 };
    assay_context *context = new_context(1);
    static struct run clean, r;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_recurrent, route)
    {
        enum assay_dtype state = state_of(route);
        fill(&clean);
        fill(&r);
        r.v[1][HEAD][3] = r.g[3][HEAD] = r.beta[2][HEAD] = NAN;
        advance(context, &clean, state, 0, TOKENS);
        advance(context, &r, state, 0, TOKENS);
        for (int t = 0; t < TOKENS; t++)
            for (int h = 0; h < HV; h++)
                if (h != HEAD)
                    cr_assert(memcmp(r.o[t][h], clean.o[t][h], sizeof r.o[t][h]) == 0, "%s",
                              route->name);
                else if (t > 0)
                    cr_assert(isnan(r.o[t][h][3]), "%s", route->name);
        for (int i = 0; i < CELLS; i++)
            if (i / (DK * DV) != HEAD)
                cr_assert(r.state32[i] == clean.state32[i] && r.state16[i] == clean.state16[i]);

        fill(&r);
        r.q[2][KEY_HEAD][5] = NAN;
        advance(context, &r, state, 0, TOKENS);
        for (int t = 0; t < TOKENS; t++)
            for (int h = 0; h < HV; h++)
                for (int n = 0; n < DV; n++)
                    cr_assert(t == 2 && h / (HV / HK) == KEY_HEAD
                                  ? isnan(r.o[t][h][n])
                                  : r.o[t][h][n] == clean.o[t][h][n],
                              "%s: o[%d,%d,%d]", route->name, t, h, n);
        cr_assert(memcmp(r.state32, clean.state32, sizeof r.state32) == 0);
        cr_assert(memcmp(r.state16, clean.state16, sizeof r.state16) == 0);
    }
    assay_context_destroy(context);
}

/* Every documented error [GDNREC-3] [GDNREC-7] [GDNREC-8]. */
Test(gdn_recurrent, errors)
{
    static float q[64], k[64], v[64], g[16], beta[16], outputs[128];
    float *o = outputs, *state = outputs + 32;
    const struct assay_gdn_recurrent_args good = {.q = assay_tensor_3d(q, ASSAY_F32, 2, 2, 3),
                                                  .k = assay_tensor_3d(k, ASSAY_F32, 2, 2, 3),
                                                  .v = assay_tensor_3d(v, ASSAY_F32, 2, 4, 2),
                                                  .g = assay_tensor_2d(g, ASSAY_F32, 2, 4),
                                                  .beta = assay_tensor_2d(beta, ASSAY_F32, 2, 4),
                                                  .state =
                                                      assay_tensor_3d(state, ASSAY_F32, 4, 3, 2),
                                                  .o = assay_tensor_3d(o, ASSAY_F32, 2, 4, 2),
                                                  .scale = 0.5};
    struct bad_calls *calls =
        bad_calls_new(&assay_op_gdn_recurrent, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_gdn_recurrent_args, a, status, argument, change, #change)
    GDN_BAD_CALLS(BAD)
#undef BAD
    bad_calls_finish(calls);
}
