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
#include "words.h"
#include <assay/ops/gdn_recurrent.h>

enum { T = 130, HK = 2, HV = 6, DK = 20, DV = 18, CELLS = HV * DK * DV };

/* Inputs of a sequence, its outputs, and a state in either format. */
struct run {
    float q[T][HK][DK], k[T][HK][DK], v[T][HV][DV], g[T][HV], beta[T][HV], o[T][HV][DV];
    float state32[CELLS];
    uint16_t state16[CELLS];
};

static assay_status call(assay_context *context, const void *args)
{
    return assay_gdn_recurrent(context, args);
}

static assay_context *new_context(int threads)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = threads;
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    return context;
}

static float wave(int i, int period)
{
    return (float)(i * 37 % period - period / 2) / (float)period;
}

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

/* Every row of the table that this processor can run; `state` is the format that it takes. */
#define EACH_ROUTE(context, name, state)                                                         \
    for (int i_ = 0; i_ < assay_op_gdn_recurrent.num_routes; i_++)                               \
        if (assay_op_gdn_recurrent.routes[i_].isa <= assay_isa_detect() &&                       \
            assay_context_force_route(context, name = assay_op_gdn_recurrent.routes[i_].name) == \
                ASSAY_OK &&                                                                      \
            ((state = strstr(name, ".state16.") != NULL ? ASSAY_F16 : ASSAY_F32), true))

/* One call of n tokens, and n calls of one, have the same bits in outputs and state, for every n of
 * 1 to 130; and any number of threads [GDNREC-4]. */
Test(gdn_recurrent, splits)
{
    assay_context *context = new_context(1), *threaded = new_context(3);
    static struct run start, single, whole;
    const char *name;
    enum assay_dtype state;
    fill(&start);
    EACH_ROUTE(context, name, state)
    {
        single = start;
        for (int n = 1; n <= T; n++) {
            advance(context, &single, state, n - 1, 1);
            whole = start;
            advance(context, &whole, state, 0, n);
            cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: %d tokens", name, n);
        }
        for (int split = 0; split <= T; split += 13) {
            whole = start;
            advance(context, &whole, state, 0, split);
            advance(context, &whole, state, split, T - split);
            cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: split at %d", name, split);
        }
        cr_assert_eq(assay_context_force_route(threaded, name), ASSAY_OK);
        whole = start;
        advance(threaded, &whole, state, 0, T);
        cr_assert(memcmp(&whole, &single, sizeof whole) == 0, "%s: threads", name);
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
    const char *name;
    enum assay_dtype state;
    fill(&start);
    EACH_ROUTE(context, name, state)
    {
        r = start;
        advance(context, &r, state, 0, 0);
        cr_assert(memcmp(&r, &start, sizeof r) == 0, "%s: no token", name);

        memset(r.beta, 0, sizeof r.beta);
        memset(r.g, 0, sizeof r.g);
        advance(context, &r, state, 0, T);
        cr_assert(memcmp(r.state32, start.state32, sizeof r.state32) == 0 &&
                      memcmp(r.state16, start.state16, sizeof r.state16) == 0,
                  "%s: g = 0, beta = 0", name);

        for (int h = 0; h < HV; h++)
            r.g[0][h] = -INFINITY;
        advance(context, &r, state, 0, 1);
        for (int i = 0; i < CELLS; i++) {
            double s = state == ASSAY_F32 ? (double)r.state32[i] : oracle_f16_value(r.state16[i]);
            cr_assert(s <= 0 && s >= 0, "%s: g = -inf, beta = 0", name);
        }

        r = start; /* what came before a token with exp(g) = 0 does not matter */
        fresh = start;
        memset(fresh.state32, 0, sizeof fresh.state32);
        memset(fresh.state16, 0, sizeof fresh.state16);
        for (int h = 0; h < HV; h++)
            r.g[2][h] = fresh.g[2][h] = h % 2 != 0 ? -INFINITY : -1000;
        advance(context, &r, state, 0, 9);
        advance(context, &fresh, state, 2, 7);
        cr_assert(memcmp(r.o[2], fresh.o[2], 7 * sizeof r.o[2]) == 0, "%s: outputs", name);
        bool same = state == ASSAY_F32 ? memcmp(r.state32, fresh.state32, sizeof r.state32) == 0
                                       : memcmp(r.state16, fresh.state16, sizeof r.state16) == 0;
        cr_assert(same, "%s: state", name);
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
    const char *name;
    enum assay_dtype state;
    EACH_ROUTE(context, name, state)
    {
        fill(&clean);
        fill(&r);
        r.v[1][HEAD][3] = r.g[3][HEAD] = r.beta[2][HEAD] = NAN;
        advance(context, &clean, state, 0, TOKENS);
        advance(context, &r, state, 0, TOKENS);
        for (int t = 0; t < TOKENS; t++)
            for (int h = 0; h < HV; h++)
                if (h != HEAD)
                    cr_assert(memcmp(r.o[t][h], clean.o[t][h], sizeof r.o[t][h]) == 0, "%s", name);
                else if (t > 0)
                    cr_assert(isnan(r.o[t][h][3]), "%s", name);
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
                              "%s: o[%d,%d,%d]", name, t, h, n);
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
    struct bad_calls *calls = bad_calls_new("gdn_recurrent", call, &good, outputs, sizeof outputs);
#define BAD(status, argument, change)                   \
    do {                                                \
        struct assay_gdn_recurrent_args a = good;       \
        change;                                         \
        bad_call(calls, &a, status, argument, #change); \
    } while (0)
    BAD(ASSAY_E_ARG, "q", a.q.data = NULL);
    BAD(ASSAY_E_ARG, "k", a.k.data = NULL);
    BAD(ASSAY_E_ARG, "v", a.v.data = NULL);
    BAD(ASSAY_E_ARG, "g", a.g.data = NULL);
    BAD(ASSAY_E_ARG, "beta", a.beta.data = NULL);
    BAD(ASSAY_E_ARG, "state", a.state.data = NULL);
    BAD(ASSAY_E_ARG, "o", a.o.data = NULL);
    BAD(ASSAY_E_ARG, "scale", a.scale = NAN);
    BAD(ASSAY_E_ARG, "scale", a.scale = INFINITY);
    BAD(ASSAY_E_SHAPE, "q", a.q.rank = 2);
    BAD(ASSAY_E_SHAPE, "g", a.g.rank = 1);
    BAD(ASSAY_E_SHAPE, "state", a.state.rank = 4);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[2] = 0);
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[2] = 2);
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[1] = 3);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[2] = 0);
    BAD(ASSAY_E_SHAPE, "g", a.g.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "g", a.g.extent[1] = 3);
    BAD(ASSAY_E_SHAPE, "beta", a.beta.extent[1] = 3);
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[0] = 2);
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[1] = 2);
    BAD(ASSAY_E_SHAPE, "state", a.state.extent[2] = 1);
    BAD(ASSAY_E_SHAPE, "o", a.o.extent[2] = 1);
    BAD(ASSAY_E_FORMAT, "q", a.q.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "k", a.k.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "v", a.v.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "g", a.g.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "beta", a.beta.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "state", a.state.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "o", a.o.dtype = ASSAY_F16);
    BAD(ASSAY_E_LAYOUT, "q", a.q.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "state", a.state.stride[1] = 1);
    BAD(ASSAY_E_LAYOUT, "state", a.state.stride[0] = 5);
    BAD(ASSAY_E_LAYOUT, "o", a.o.stride[0] = 7);
    BAD(ASSAY_E_LAYOUT, "beta", a.beta.data = (char *)beta + 1);
    BAD(ASSAY_E_ALIAS, "o", a.v.data = o + 1);
    BAD(ASSAY_E_ALIAS, "o", a.q.data = o);
    BAD(ASSAY_E_ALIAS, "o", a.k.data = o + 2);
    BAD(ASSAY_E_ALIAS, "o", a.g.data = o);
    BAD(ASSAY_E_ALIAS, "o", a.beta.data = o);
    BAD(ASSAY_E_ALIAS, "o", a.state.data = o + 4);
    BAD(ASSAY_E_ALIAS, "state", a.q.data = state);
    BAD(ASSAY_E_ALIAS, "state", a.k.data = state + 3);
    BAD(ASSAY_E_ALIAS, "state", a.v.data = state);
    BAD(ASSAY_E_ALIAS, "state", a.g.data = state + 20);
    BAD(ASSAY_E_ALIAS, "state", a.beta.data = state);
#undef BAD
    bad_calls_finish(calls);
}
