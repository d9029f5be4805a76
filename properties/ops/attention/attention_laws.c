/* SPDX-License-Identifier: MIT
 *
 * attention's laws and its bad calls. Clauses tested here or by the sweep (attention.route.cpu):
 * [ATTENTION-1] heads, single key and sweep; [ATTENTION-2] sweep; [ATTENTION-3] errors and sweep;
 * [ATTENTION-4] causality law, NaN in unowned slots of the sweep; [ATTENTION-5] shift law, scores
 * `sunk` and `huge` of the sweep; [ATTENTION-6] errors and the distribution nonfinite of the sweep;
 * [ATTENTION-7] sweep (in place, guards) and errors; [ATTENTION-8] chunks law and errors;
 * [ATTENTION-9] start_at law, sweep and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/attention.h>

/* Sizes that fill no vector, block or tile exactly. */
enum { T = 21, START = 14, S = START + T + 3, G = 2, RATIO = 3, HQ = G * RATIO, D = 37, DV = 21 };

struct inputs {
    float q[T * HQ * D], k[S * G * D], v[S * G * DV], gate[T * HQ * DV];
};

static struct inputs *new_inputs(void)
{
    struct inputs *in = malloc(sizeof *in);
    cr_assert_not_null(in);
    fill_floats(in->q, T * HQ * D, 1);
    fill_floats(in->k, S * G * D, 2);
    fill_floats(in->v, S * G * DV, 3);
    fill_floats(in->gate, T * HQ * DV, 4);
    return in;
}

/* Tokens [first, first + count) of the inputs; y holds their rows. */
static void attend(assay_context *context, struct inputs *in, int first, int count, float *y)
{
    struct assay_attention_args args = {
        .q = assay_tensor_3d(in->q + first * HQ * D, ASSAY_F32, count, HQ, D),
        .k_cache = assay_tensor_3d(in->k, ASSAY_F32, S, G, D),
        .v_cache = assay_tensor_3d(in->v, ASSAY_F32, S, G, DV),
        .gate = assay_tensor_3d(in->gate + first * HQ * DV, ASSAY_F32, count, HQ, DV),
        .y = assay_tensor_3d(y, ASSAY_F32, count, HQ, DV),
        .start = START + first,
        .scale = 0.125};
    cr_assert_eq(assay_attention(context, &args), ASSAY_OK);
}

/* All tokens at once, cut in two at every place, one by one, and on three threads: the same bits
 * [ATTENTION-8]. */
Test(attention, chunks_and_threads)
{
    assay_context *one = new_context(1), *three = new_context(3);
    struct inputs *in = new_inputs();
    static float whole[T * HQ * DV], cut[T * HQ * DV];
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(one, &assay_op_attention, route) ||
            !take_route(three, &assay_op_attention, route))
            continue;
        attend(one, in, 0, T, whole);
        for (int at = 1; at < T; at++) {
            memset(cut, 0, sizeof cut);
            attend(one, in, 0, at, cut);
            attend(one, in, at, T - at, cut + at * HQ * DV);
            cr_assert(memcmp(whole, cut, sizeof whole) == 0, "route %d, cut at %d", route, at);
        }
        for (int t = 0; t < T; t++)
            attend(three, in, t, 1, cut + t * HQ * DV);
        cr_assert(memcmp(whole, cut, sizeof whole) == 0);
        memset(cut, 0, sizeof cut);
        attend(three, in, 0, T, cut);
        cr_assert(memcmp(whole, cut, sizeof whole) == 0);
    }
    free(in);
    assay_context_destroy(one);
    assay_context_destroy(three);
}

/* What stands at a later position changes no earlier output; its own output changes
 * [ATTENTION-4]. */
Test(attention, causality)
{
    assay_context *context = new_context(1);
    struct inputs *in = new_inputs();
    static float before[T * HQ * DV], after[T * HQ * DV];
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(context, &assay_op_attention, route))
            continue;
        for (int changed = 0; changed < T; changed += 5) {
            attend(context, in, 0, T, before);
            int slot = START + changed;
            struct inputs *other = new_inputs();
            for (int i = slot * G * D; i < S * G * D; i++)
                other->k[i] = NAN;
            for (int i = slot * G * DV; i < S * G * DV; i++)
                other->v[i] = -1e30f;
            for (int i = changed * HQ * D; i < T * HQ * D; i++)
                other->q[i] = INFINITY;
            attend(context, other, 0, T, after);
            size_t kept = (size_t)(changed * HQ * DV) * sizeof *before;
            cr_assert(memcmp(before, after, kept) == 0, "route %d, slot %d", route, slot);
            cr_assert(isnan(after[changed * HQ * DV]));
            free(other);
        }
    }
    free(in);
    assay_context_destroy(context);
}

/* A number added to every score changes nothing but rounding [ATTENTION-5]: here through element
 * 0, whose product is a power of two, exact at this scale. */
Test(attention, shift_invariance)
{
    assay_context *context = new_context(1);
    struct inputs *in = new_inputs();
    static float plain[T * HQ * DV], shifted[T * HQ * DV];
    const float shifts[] = {-64, -4096, 512};
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(context, &assay_op_attention, route))
            continue;
        for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
            for (int i = 0; i < T * HQ * D; i += D)
                in->q[i] = 8;
            for (int i = 0; i < S * G * D; i += D)
                in->k[i] = 0;
            attend(context, in, 0, T, plain);
            for (int i = 0; i < S * G * D; i += D)
                in->k[i] = shifts[s]; /* scores move by shift: 8 * 0.125 */
            attend(context, in, 0, T, shifted);
            /* each score moves by less than gamma(D) of its products, 1.01 D 2^-24 (|shift| + 20);
             * a weight by twice that, and an output by |v| < 2 times it */
            double bound = 4 * 1.01 * D * 0x1p-24 * (fabs((double)shifts[s]) + 20) + 1e-6;
            for (int i = 0; i < T * HQ * DV; i++)
                cr_assert(fabs((double)plain[i] - (double)shifted[i]) <= bound);
        }
    }
    free(in);
    assay_context_destroy(context);
}

/* Key heads with their queries exchanged: outputs exchanged, to the bit [ATTENTION-1]. */
Test(attention, head_permutation)
{
    assay_context *context = new_context(1);
    struct inputs *in = new_inputs(), *swapped = new_inputs();
    static float y[T * HQ * DV], y_swapped[T * HQ * DV];
    for (int t = 0; t < T; t++) {
        for (int h = 0; h < HQ; h++) {
            int other = (h + RATIO) % HQ; /* the same place in the other group */
            memcpy(swapped->q + (t * HQ + h) * D, in->q + (t * HQ + other) * D, D * sizeof(float));
            memcpy(swapped->gate + (t * HQ + h) * DV, in->gate + (t * HQ + other) * DV,
                   DV * sizeof(float));
        }
    }
    for (int j = 0; j < S; j++) {
        for (int g = 0; g < G; g++) {
            memcpy(swapped->k + (j * G + g) * D, in->k + (j * G + 1 - g) * D, D * sizeof(float));
            memcpy(swapped->v + (j * G + g) * DV, in->v + (j * G + 1 - g) * DV, DV * sizeof(float));
        }
    }
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(context, &assay_op_attention, route))
            continue;
        attend(context, in, 0, T, y);
        attend(context, swapped, 0, T, y_swapped);
        for (int t = 0; t < T; t++)
            for (int h = 0; h < HQ; h++)
                cr_assert(memcmp(y + (t * HQ + h) * DV,
                                 y_swapped + (t * HQ + (h + RATIO) % HQ) * DV,
                                 DV * sizeof *y) == 0);
    }
    free(in);
    free(swapped);
    assay_context_destroy(context);
}

/* One key: its value. A key that dwarfs all others: its value. Equal scores: the mean. To the bit,
 * for values that are small integers [ATTENTION-1]. */
Test(attention, theory)
{
    assay_context *context = new_context(1);
    enum { KEYS = 64 };
    float q[D], k[KEYS * D], v[KEYS * DV], y[DV];
    for (int i = 0; i < KEYS * DV; i++)
        v[i] = (float)((i * 37) % 17 - 8);
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(context, &assay_op_attention, route))
            continue;
        for (int keys = 1; keys <= KEYS; keys *= 2) {
            struct assay_attention_args args = {
                .q = assay_tensor_3d(q, ASSAY_F32, 1, 1, D),
                .k_cache = assay_tensor_3d(k, ASSAY_F32, KEYS, 1, D),
                .v_cache = assay_tensor_3d(v, ASSAY_F32, KEYS, 1, DV),
                .y = assay_tensor_3d(y, ASSAY_F32, 1, 1, DV),
                .start = keys - 1,
                .scale = 1};
            fill_floats(q, D, 5);
            memset(k, 0, sizeof k); /* all scores 0 */
            cr_assert_eq(assay_attention(context, &args), ASSAY_OK);
            for (int d = 0; d < DV; d++) {
                double sum = 0;
                for (int j = 0; j < keys; j++)
                    sum += (double)v[j * DV + d];
                cr_assert_eq((double)y[d], sum / keys);
            }
            int chosen = keys / 2;
            for (int d = 0; d < D; d++) /* 200 |q|^2 above the others */
                k[chosen * D + d] = 200 * q[d];
            cr_assert_eq(assay_attention(context, &args), ASSAY_OK);
            for (int d = 0; d < DV; d++)
                cr_assert_eq(y[d], v[chosen * DV + d]);
        }
    }
    assay_context_destroy(context);
}

/* A start below the bound gives the bits of a call that has it for its start, with no slot from
 * start + T on read; beyond the ends it is held to them [ATTENTION-9]. */
Test(attention, start_at)
{
    assay_context *context = new_context(1);
    struct inputs *in = new_inputs();
    enum { COUNT = 2 };
    static float direct[COUNT * HQ * DV], y[COUNT * HQ * DV];
    const struct {
        int32_t at;
        int start;
    } starts[] = {{0, 0},  {5, 5},        {START, START}, {START + 1, START}, {INT32_MAX, START},
                  {-1, 0}, {INT32_MIN, 0}};
    for (int route = 0; route < assay_op_num_routes(&assay_op_attention); route++) {
        if (!take_route(context, &assay_op_attention, route))
            continue;
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
            int32_t at = starts[i].at;
            int used = starts[i].start + COUNT;
            struct inputs *cut = new_inputs();
            for (int j = used * G * D; j < S * G * D; j++)
                cut->k[j] = NAN;
            for (int j = used * G * DV; j < S * G * DV; j++)
                cut->v[j] = NAN;
            struct assay_attention_args args = {
                .q = assay_tensor_3d(in->q, ASSAY_F32, COUNT, HQ, D),
                .k_cache = assay_tensor_3d(in->k, ASSAY_F32, S, G, D),
                .v_cache = assay_tensor_3d(in->v, ASSAY_F32, S, G, DV),
                .y = assay_tensor_3d(direct, ASSAY_F32, COUNT, HQ, DV),
                .start = starts[i].start,
                .scale = 0.125};
            cr_assert_eq(assay_attention(context, &args), ASSAY_OK);
            args.k_cache.data = cut->k;
            args.v_cache.data = cut->v;
            args.y.data = y;
            args.start = START;
            args.start_at = assay_tensor_1d(&at, ASSAY_I32, 1);
            cr_assert_eq(assay_attention(context, &args), ASSAY_OK);
            cr_assert(memcmp(direct, y, sizeof y) == 0, "route %d, start_at %d", route, (int)at);
            free(cut);
        }
    }
    free(in);
    assay_context_destroy(context);
}

/* Every documented error [ATTENTION-3] [ATTENTION-6] [ATTENTION-7] [ATTENTION-8] [ATTENTION-9]. */
Test(attention, errors)
{
    enum { N = 2, SLOTS = 6, W = 8, OUT = N * HQ * W };
    float q[OUT] = {0}, k[SLOTS * G * W] = {0}, v[SLOTS * G * W] = {0}, gate[OUT] = {0};
    float y[OUT + SLOTS * G * W];
    const struct assay_attention_args good = {.q = assay_tensor_3d(q, ASSAY_F32, N, HQ, W),
                                              .k_cache = assay_tensor_3d(k, ASSAY_F32, SLOTS, G, W),
                                              .v_cache = assay_tensor_3d(v, ASSAY_F32, SLOTS, G, W),
                                              .gate = assay_tensor_3d(gate, ASSAY_F32, N, HQ, W),
                                              .y = assay_tensor_3d(y, ASSAY_F32, N, HQ, W),
                                              .start = SLOTS - N,
                                              .scale = 0.25};
    struct bad_calls *calls = bad_calls_new(&assay_op_attention, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_attention_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "q", a.q.data = NULL);
    BAD(ASSAY_E_ARG, "k_cache", a.k_cache.data = NULL);
    BAD(ASSAY_E_ARG, "v_cache", a.v_cache.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "scale", a.scale = NAN);
    BAD(ASSAY_E_ARG, "scale", a.scale = -INFINITY);
    BAD(ASSAY_E_SHAPE, "start", a.start = -1);
    BAD(ASSAY_E_SHAPE, "start", a.start = SLOTS - N + 1);
    BAD(ASSAY_E_SHAPE, "start", a.start = INT64_MAX);
    BAD(ASSAY_E_SHAPE, "q", a.q.rank = 2);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[1] = HQ - 1);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "q", a.k_cache.extent[1] = 4);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.rank = 4);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.extent[2] = W - 1);
    BAD(ASSAY_E_SHAPE, "v_cache", a.v_cache.extent[0] = SLOTS - 1);
    BAD(ASSAY_E_SHAPE, "v_cache", a.v_cache.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "y", a.v_cache.extent[2] = W - 1);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.rank = 2);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.extent[2] = W - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = G);
    BAD(ASSAY_E_FORMAT, "q", a.q.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "k_cache", a.k_cache.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "v_cache", a.v_cache.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "gate", a.gate.dtype = ASSAY_F64);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "q", a.q.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "k_cache", a.k_cache.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "gate", a.gate.data = (char *)gate + 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[1] = W - 1);
    BAD(ASSAY_E_ALIAS, "y", a.q.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.gate.data = y);
    BAD(ASSAY_E_ALIAS, "y", a.start_at = assay_tensor_1d(y, ASSAY_I32, 1));
    BAD(ASSAY_E_FORMAT, "start_at", a.start_at = assay_tensor_1d(q, ASSAY_F32, 1));
    BAD(ASSAY_E_SHAPE, "start_at", a.start_at = assay_tensor_1d(q, ASSAY_I32, 2));
    BAD(ASSAY_E_SHAPE, "start_at", a.start_at = assay_tensor_2d(q, ASSAY_I32, 1, 1));
    BAD(ASSAY_E_ALIAS, "y", a.k_cache.data = y);
    BAD(ASSAY_E_ALIAS, "y", a.v_cache.data = y + 1);
#undef BAD
    bad_calls_finish(calls);
}
