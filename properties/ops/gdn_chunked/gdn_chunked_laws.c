/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked's laws and its bad calls. Clauses tested here or by the sweep
 * (gdn_chunked.route.cpu): [GDNCHUNK-1] against gdn_recurrent here and the sweep; [GDNCHUNK-2]
 * sweep (the ratio r); [GDNCHUNK-3] sweep and errors; [GDNCHUNK-4] every chunk length here and in
 * the sweep, errors; [GDNCHUNK-5] splits and sweep (state=f16); [GDNCHUNK-6] [GDNCHUNK-7] here and
 * sweep; [GDNCHUNK-8] sweep (in place, guards) and errors; [GDNCHUNK-9] isolation and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "gdn_laws.h"
#include "laws.h"
#include "oracle.h"
#include "words.h"
#include <assay/ops/gdn_chunked.h>
#include <assay/ops/gdn_recurrent.h>

enum { T = 130, HK = 1, HV = 3, DK = 12, DV = 10, CELLS = HV * DK * DV, OUTPUTS = T * HV * DV };

/* Inputs of a sequence, its outputs, and a state in either format. */
struct run {
    float q[T][HK][DK], k[T][HK][DK], v[T][HV][DV], g[T][HV], beta[T][HV], o[T][HV][DV];
    float state32[CELLS];
    uint16_t state16[CELLS];
};

/* Keys are at most unit vectors, so that the recurrence contracts. Strong: decays of 0, e^-100, and
 * 1 among ordinary ones. */
static void fill(struct run *r, bool strong)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < T * HK * DK; i++) {
        (&r->q[0][0][0])[i] = wave(i, 101);
        (&r->k[0][0][0])[i] = wave(i + 7, 89) * 0.57f;
    }
    for (int i = 0; i < T * HV * DV; i++)
        (&r->v[0][0][0])[i] = 2 * wave(i, 113);
    const float decays[] = {-INFINITY, -100, 0, -1e30f};
    for (int i = 0; i < T * HV; i++) {
        (&r->g[0][0])[i] = strong && i % 5 == 0 ? decays[i / 5 % 4] : -0.3f * (wave(i, 61) + 0.5f);
        (&r->beta[0][0])[i] = wave(i + 3, 53) + 0.5f;
    }
    for (int i = 0; i < CELLS; i++) {
        r->state32[i] = wave(i, 127);
        r->state16[i] = oracle_f16_word((double)r->state32[i]);
    }
}

static struct assay_gdn_chunked_args tokens(struct run *r, enum assay_dtype state, int first,
                                            int count, int chunk)
{
    void *memory = state == ASSAY_F32 ? (void *)r->state32 : (void *)r->state16;
    return (struct assay_gdn_chunked_args){
        .q = assay_tensor_3d(r->q[first], ASSAY_F32, count, HK, DK),
        .k = assay_tensor_3d(r->k[first], ASSAY_F32, count, HK, DK),
        .v = assay_tensor_3d(r->v[first], ASSAY_F32, count, HV, DV),
        .g = assay_tensor_2d(r->g[first], ASSAY_F32, count, HV),
        .beta = assay_tensor_2d(r->beta[first], ASSAY_F32, count, HV),
        .state = assay_tensor_3d(memory, state, HV, DK, DV),
        .o = assay_tensor_3d(r->o[first], ASSAY_F32, count, HV, DV),
        .scale = 0.25,
        .chunk = chunk};
}

static void advance(assay_context *context, struct run *r, enum assay_dtype state, int first,
                    int count, int chunk)
{
    struct assay_gdn_chunked_args args = tokens(r, state, first, count, chunk);
    cr_assert_eq(assay_gdn_chunked(context, &args), ASSAY_OK);
}

/* Bounds of a call about to be made: |result - exact| of o and of the state, from the oracle. */
struct bounds {
    double o[OUTPUTS], state[CELLS];
};

static void oracle_bounds(const char *op, const void *args, enum assay_dtype state, int count,
                          struct bounds *bounds)
{
    struct oracle_output outputs[2];
    struct oracle_route route = {.profile = state == ASSAY_F32 ? ASSAY_PROFILE_F32
                                                               : ASSAY_PROFILE_STATE16};
    bool used_mpfr;
    cr_assert(oracle_output_create(&outputs[0], "o", ASSAY_F32, count * HV * DV));
    cr_assert(oracle_output_create(&outputs[1], "state", state, CELLS));
    cr_assert_eq(oracle_evaluate(oracle_find(op), args, &route, outputs, &used_mpfr), ASSAY_OK);
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < outputs[k].count; i++) {
            double *bound = k == 0 ? &bounds->o[i] : &bounds->state[i];
            *bound = outputs[k].own[i];
            for (int t = 0; t < ORACLE_NUM_TERMS; t++)
                *bound += outputs[k].term[t][i];
            cr_assert(isfinite(*bound));
        }
    oracle_output_destroy(&outputs[0]);
    oracle_output_destroy(&outputs[1]);
}

/* The chunk form gives what the recurrence gives, within the sum of both bounds: for every length
 * around chunks, every chunk length, and decays down to 0 [GDNCHUNK-1] [GDNCHUNK-4] [GDNCHUNK-6]
 * [GDNCHUNK-7]. */
Test(gdn_chunked, equals_recurrence)
{
    assay_context *context = new_context(1);
    static struct run chunked, recurrent;
    static struct bounds a, b;
    const int lengths[] = {1, 2, 63, 64, 65, 130}, chunks[] = {1, 7, 64, 256};
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_chunked, route)
    {
        enum assay_dtype state = state_of(route);
        for (int i = 0; i < 2 * 6 * 4; i++) {
            int count = lengths[i / 2 % 6], chunk = chunks[i / 12];
            if (state != ASSAY_F32)
                continue; /* rounded at other places */
            fill(&chunked, i % 2 != 0);
            fill(&recurrent, i % 2 != 0);
            struct assay_gdn_chunked_args args = tokens(&chunked, state, 0, count, chunk);
            struct assay_gdn_recurrent_args other = {args.q,    args.k,     args.v, args.g,
                                                     args.beta, args.state, args.o, args.scale};
            oracle_bounds("gdn_chunked", &args, state, count, &a);
            oracle_bounds("gdn_recurrent", &other, state, count, &b);
            other.state.data = recurrent.state32;
            other.o.data = recurrent.o;
            cr_assert_eq(assay_gdn_chunked(context, &args), ASSAY_OK);
            cr_assert_eq(assay_gdn_recurrent(context, &other), ASSAY_OK);
            for (int n = 0; n < count * HV * DV; n++)
                cr_assert(fabs((double)(&chunked.o[0][0][0])[n] -
                               (double)(&recurrent.o[0][0][0])[n]) <= a.o[n] + b.o[n],
                          "%s: T=%d chunk=%d: o[%d]", route->name, count, chunk, n);
            for (int n = 0; n < CELLS; n++)
                cr_assert(fabs((double)chunked.state32[n] - (double)recurrent.state32[n]) <=
                              a.state[n] + b.state[n],
                          "%s: T=%d chunk=%d: state[%d]", route->name, count, chunk, n);
        }
    }
    assay_context_destroy(context);
}

static double state_value(const struct run *r, enum assay_dtype state, int i)
{
    return state == ASSAY_F32 ? (double)r->state32[i] : oracle_f16_value(r->state16[i]);
}

/* Every split of 130 tokens into two calls gives the same state: to the bit between chunks, else
 * within bounds. The second call starts from a state that is off by the first call's bound; the
 * recurrence carries that on with a 2-norm that does not grow [GDNCHUNK-4] [GDNCHUNK-5]. */
Test(gdn_chunked, splits)
{
    enum { CHUNK = 16 };
    assay_context *context = new_context(1), *threaded = new_context(3);
    static struct run whole, split;
    static struct bounds all, first, second;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_chunked, route)
    {
        enum assay_dtype state = state_of(route);
        fill(&whole, false);
        struct assay_gdn_chunked_args args = tokens(&whole, state, 0, T, CHUNK);
        oracle_bounds("gdn_chunked", &args, state, T, &all);
        advance(context, &whole, state, 0, T, CHUNK);
        for (int s = 1; s < T; s++) {
            fill(&split, false);
            args = tokens(&split, state, 0, s, CHUNK);
            oracle_bounds("gdn_chunked", &args, state, s, &first);
            advance(context, &split, state, 0, s, CHUNK);
            args = tokens(&split, state, s, T - s, CHUNK);
            oracle_bounds("gdn_chunked", &args, state, T - s, &second);
            advance(context, &split, state, s, T - s, CHUNK);
            for (int i = 0; i < CELLS; i++) {
                double squares = 0; /* of the first call's bounds in this column */
                for (int d = 0; d < DK; d++)
                    squares += pow(first.state[(i / (DK * DV) * DK + d) * DV + i % DV], 2);
                double bound = s % CHUNK == 0 ? 0 : all.state[i] + second.state[i] + sqrt(squares);
                double off = state_value(&whole, state, i) - state_value(&split, state, i);
                cr_assert(fabs(off) <= bound, "%s: split at %d: state[%d]", route->name, s, i);
            }
        }
        cr_assert_eq(assay_context_force_route(threaded, route->name), ASSAY_OK);
        fill(&split, false);
        advance(threaded, &split, state, 0, T, CHUNK);
        cr_assert(memcmp(&whole, &split, sizeof whole) == 0, "%s: threads", route->name);
    }
    assay_context_destroy(context);
    assay_context_destroy(threaded);
}

/* No token changes nothing; beta = 0 and g = 0 change nothing; a decay of 0 forgets; strong decays
 * give finite results [GDNCHUNK-6] [GDNCHUNK-7]. */
Test(gdn_chunked, limits)
{
    assay_context *context = new_context(1);
    static struct run start, r, fresh;
    const struct assay_route *route;
    fill(&start, false);
    EACH_ROUTE(context, &assay_op_gdn_chunked, route)
    {
        enum assay_dtype state = state_of(route);
        r = start;
        advance(context, &r, state, 0, 0, 64);
        cr_assert(memcmp(&r, &start, sizeof r) == 0, "%s: no token", route->name);

        memset(r.beta, 0, sizeof r.beta);
        memset(r.g, 0, sizeof r.g);
        advance(context, &r, state, 0, T, 64);
        for (int i = 0; i < CELLS; i++)
            cr_assert(state_value(&r, state, i) == state_value(&start, state, i),
                      "%s: g = 0, beta = 0", route->name);

        fill(&r, true);
        fill(&fresh, true);
        memset(fresh.state32, 0, sizeof fresh.state32);
        memset(fresh.state16, 0, sizeof fresh.state16);
        for (int h = 0; h < HV; h++)
            r.g[0][h] = fresh.g[0][h] = h % 2 != 0 ? -INFINITY : -1e6f;
        advance(context, &r, state, 0, T, 64);
        advance(context, &fresh, state, 0, T, 64);
        for (int i = 0; i < OUTPUTS; i++)
            cr_assert(isfinite((&r.o[0][0][0])[i]) && (&r.o[0][0][0])[i] == (&fresh.o[0][0][0])[i],
                      "%s: forgotten state", route->name);
        for (int i = 0; i < CELLS; i++)
            cr_assert(isfinite(state_value(&r, state, i)) &&
                          state_value(&r, state, i) == state_value(&fresh, state, i),
                      "%s: forgotten state", route->name);
    }
    assay_context_destroy(context);
}

/* NaN in one head stays there, and out of the chunks before it; from its token on it is seen
 * [GDNCHUNK-9]. */
Test(gdn_chunked, isolation)
{
    enum { TOKENS = 40, CHUNK = 8, TOKEN = 19, HEAD = 1 };
    assay_context *context = new_context(1);
    static struct run clean, r;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_gdn_chunked, route)
    {
        enum assay_dtype state = state_of(route);
        for (int kind = 0; kind < 3; kind++) {
            fill(&clean, false);
            fill(&r, false);
            *(kind == 0   ? &r.v[TOKEN][HEAD][3]
              : kind == 1 ? &r.g[TOKEN][HEAD]
                          : &r.beta[TOKEN][HEAD]) = NAN;
            advance(context, &clean, state, 0, TOKENS, CHUNK);
            advance(context, &r, state, 0, TOKENS, CHUNK);
            for (int t = 0; t < TOKENS; t++)
                for (int h = 0; h < HV; h++)
                    if (h != HEAD || t < TOKEN / CHUNK * CHUNK)
                        cr_assert(memcmp(r.o[t][h], clean.o[t][h], sizeof r.o[t][h]) == 0,
                                  "%s: kind %d, token %d, head %d", route->name, kind, t, h);
                    else if (t >= TOKEN)
                        cr_assert(!isfinite(r.o[t][h][3]), "%s: kind %d, token %d", route->name,
                                  kind, t);
            for (int i = 0; i < CELLS; i++)
                if (i / (DK * DV) != HEAD)
                    cr_assert(state_value(&r, state, i) == state_value(&clean, state, i));
                else if (i % DV == 3)
                    cr_assert(!isfinite(state_value(&r, state, i)));
        }
    }
    assay_context_destroy(context);
}

/* Every documented error [GDNCHUNK-3] [GDNCHUNK-4] [GDNCHUNK-8] [GDNCHUNK-9]. */
Test(gdn_chunked, errors)
{
    static float q[64], k[64], v[64], g[16], beta[16], outputs[128];
    float *o = outputs, *state = outputs + 32;
    const struct assay_gdn_chunked_args good = {.q = assay_tensor_3d(q, ASSAY_F32, 2, 2, 3),
                                                .k = assay_tensor_3d(k, ASSAY_F32, 2, 2, 3),
                                                .v = assay_tensor_3d(v, ASSAY_F32, 2, 4, 2),
                                                .g = assay_tensor_2d(g, ASSAY_F32, 2, 4),
                                                .beta = assay_tensor_2d(beta, ASSAY_F32, 2, 4),
                                                .state = assay_tensor_3d(state, ASSAY_F32, 4, 3, 2),
                                                .o = assay_tensor_3d(o, ASSAY_F32, 2, 4, 2),
                                                .scale = 0.5,
                                                .chunk = 64};
    struct bad_calls *calls = bad_calls_new(&assay_op_gdn_chunked, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_gdn_chunked_args, a, status, argument, change, #change)
    GDN_BAD_CALLS(BAD)
    BAD(ASSAY_E_ARG, "chunk", a.chunk = 0);
    BAD(ASSAY_E_ARG, "chunk", a.chunk = -1);
    BAD(ASSAY_E_ARG, "chunk", a.chunk = 257);
#undef BAD
    bad_calls_finish(calls);
}
