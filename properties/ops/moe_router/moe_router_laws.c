/* SPDX-License-Identifier: MIT
 *
 * moe_router's laws and its bad calls. Clauses tested here or by the sweep (moe_router.route.cpu):
 * [MOEROUTER-1] ties, permuted and sweep; [MOEROUTER-2] weights, permuted and sweep; [MOEROUTER-3]
 * sweep (formats, strides, T = 0); [MOEROUTER-4] specials; [MOEROUTER-5] sweep
 * (guards) and errors; [MOEROUTER-6] row_bits; [MOEROUTER-7] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/moe_router.h>

enum { ROWS = 7, E = 45, K = 6 };

struct memory {
    float logits[ROWS * E], weights[ROWS * K];
    int32_t ids[ROWS * K];
};

static struct assay_moe_router_args args_of(struct memory *m, int rows, int experts, int k)
{
    return (struct assay_moe_router_args){
        .logits = assay_tensor_2d(m->logits, ASSAY_F32, rows, experts),
        .ids = assay_tensor_2d(m->ids, ASSAY_I32, rows, k),
        .weights = assay_tensor_2d(m->weights, ASSAY_F32, rows, k)};
}

static void call(assay_context *context, const struct assay_moe_router_args *args)
{
    cr_assert_eq(assay_moe_router(context, args), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

/* Equal logits: the lowest indices in order, and equal weights of 1 / k; -0 equals +0
 * [MOEROUTER-1]. */
static void ties_body(assay_context *context, const char *route)
{
    struct memory m;
    for (int i = 0; i < ROWS * E; i++)
        m.logits[i] = i % 3 == 0 ? 0.0f : -0.0f;
    m.logits[E + 40] = m.logits[E + 7] = 2; /* row 1: these two first */
    struct assay_moe_router_args args = args_of(&m, ROWS, E, 4);
    call(context, &args);
    for (int i = 0; i < ROWS * 4; i++) {
        static const int32_t second[] = {7, 40, 0, 1};
        int32_t expected = i / 4 == 1 ? second[i % 4] : i % 4;
        cr_assert_eq(m.ids[i], expected, "%s: ids[%d] is %d", route, i, m.ids[i]);
        if (i / 4 != 1)
            cr_assert_eq(m.weights[i], 0.25f, "%s: weights[%d]", route, i);
    }
}

Test(moe_router, ties)
{
    each_route(&assay_op_moe_router, ties_body);
}

/* Weights are in [0, 1], fall, sum to 1, and do not change, to the bit, with a power of two added
 * to multiples of 2^-9 [MOEROUTER-2]; their quotients are the logits' exponentials. */
static void weights_body(assay_context *context, const char *route)
{
    struct memory m, shifted;
    fill_floats(m.logits, ROWS * E, 3);
    for (int i = 0; i < ROWS * E; i++)
        shifted.logits[i] = m.logits[i] + 64;
    struct assay_moe_router_args args = args_of(&m, ROWS, E, K);
    struct assay_moe_router_args other = args_of(&shifted, ROWS, E, K);
    call(context, &args);
    call(context, &other);
    cr_assert(memcmp(m.ids, shifted.ids, sizeof m.ids) == 0, "%s: shifted ids", route);
    cr_assert(memcmp(m.weights, shifted.weights, sizeof m.weights) == 0, "%s: shifted", route);
    for (int t = 0; t < ROWS; t++) {
        const float *w = m.weights + t * K;
        const int32_t *ids = m.ids + t * K;
        double sum = 0;
        for (int i = 0; i < K; i++) {
            double ratio = exp((double)m.logits[t * E + ids[i]] - (double)m.logits[t * E + ids[0]]);
            sum += (double)w[i];
            cr_assert(w[i] > 0 && w[i] <= 1 && (i == 0 || w[i] <= w[i - 1]), "%s", route);
            cr_assert(fabs((double)w[i] - ratio * (double)w[0]) < 0x1p-20, "%s: ratio", route);
        }
        cr_assert(fabs(sum - 1) < 0x1p-20, "%s: row %d sums to %g", route, t, sum);
    }
}

Test(moe_router, weights)
{
    each_route(&assay_op_moe_router, weights_body);
}

/* Experts in another order: the same weights to the bit, and ids that follow, where no two logits
 * are equal [MOEROUTER-1]. k = E takes all, in falling order [MOEROUTER-2]. */
static void permuted_body(assay_context *context, const char *route)
{
    struct memory m, other;
    for (int i = 0; i < ROWS * E; i++)
        m.logits[i] = (float)((i % E * 19 + i / E * 5) % E) * 0.25f;
    for (int i = 0; i < ROWS * E; i++) /* expert e becomes (7 e + 3) % 45 */
        other.logits[i / E * E + (i % E * 7 + 3) % E] = m.logits[i];
    struct assay_moe_router_args args = args_of(&m, ROWS, E, K);
    struct assay_moe_router_args moved = args_of(&other, ROWS, E, K);
    call(context, &args);
    call(context, &moved);
    for (int i = 0; i < ROWS * K; i++)
        cr_assert_eq(other.ids[i], (m.ids[i] * 7 + 3) % E, "%s: ids[%d]", route, i);
    cr_assert(memcmp(m.weights, other.weights, sizeof m.weights) == 0, "%s", route);
    args = args_of(&m, ROWS, K, K);
    call(context, &args);
    for (int t = 0; t < ROWS; t++) {
        unsigned seen = 0;
        for (int i = 0; i < K; i++) {
            const float *row = m.logits + t * K;
            seen |= 1u << m.ids[t * K + i];
            cr_assert(i == 0 || row[m.ids[t * K + i]] <= row[m.ids[t * K + i - 1]], "%s", route);
        }
        cr_assert_eq(seen, (1u << K) - 1, "%s: k = E", route);
    }
}

Test(moe_router, permuted)
{
    each_route(&assay_op_moe_router, permuted_body);
}

/* Whatever the logits hold, ids are distinct and in range; and the limits [MOEROUTER-4]. */
static void specials_body(assay_context *context, const char *route)
{
    static const float words[] = {NAN, INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 0, 1};
    struct memory m;
    for (int pass = 0; pass < 49; pass++) {
        for (int i = 0; i < ROWS * E; i++) /* one of the words, or two by turns */
            m.logits[i] = words[i * 13 % 5 < 2 ? pass % 7 : pass / 7];
        struct assay_moe_router_args args = args_of(&m, ROWS, E, K);
        call(context, &args);
        bool has_nan = pass % 7 == 0 || pass / 7 == 0;
        for (int t = 0; t < ROWS; t++) {
            uint64_t seen = 0;
            for (int i = 0; i < K; i++) {
                int32_t id = m.ids[t * K + i];
                cr_assert(id >= 0 && id < E && (seen >> id & 1) == 0, "%s: id %d", route, id);
                cr_assert(!has_nan || (id == i && isnan(m.weights[t * K + i])), "%s: NaN", route);
                seen |= (uint64_t)1 << id;
            }
        }
    }
    for (int i = 0; i < E; i++)
        m.logits[i] = -INFINITY;
    m.logits[9] = 5;
    struct assay_moe_router_args args = args_of(&m, 1, E, 3);
    call(context, &args);
    cr_assert(m.ids[0] == 9 && m.ids[1] == 0 && m.ids[2] == 1, "%s", route);
    cr_assert(m.weights[0] == 1 && m.weights[1] == 0 && m.weights[2] == 0, "%s", route);
    m.logits[9] = INFINITY;
    call(context, &args);
    cr_assert(m.ids[0] == 9 && isnan(m.weights[0]) && isnan(m.weights[2]), "%s: +inf", route);
}

Test(moe_router, specials)
{
    each_route(&assay_op_moe_router, specials_body);
}

/* A row alone, in any place and with any number of threads has the bits that it has among others
 * [MOEROUTER-6]. */
Test(moe_router, row_bits)
{
    assay_context *contexts[2] = {new_context(1), new_context(3)};
    struct memory m, part;
    fill_floats(m.logits, ROWS * E, 8);
    for (int r = 0; r < assay_op_num_routes(&assay_op_moe_router); r++) {
        if (take_route(contexts[0], &assay_op_moe_router, r) == NULL)
            continue;
        struct assay_moe_router_args args = args_of(&m, ROWS, E, K);
        call(contexts[0], &args);
        for (int first = 0; first < ROWS; first++) {
            int rows = 1 + first % (ROWS - first);
            cr_assert(take_route(contexts[first % 2], &assay_op_moe_router, r) != NULL);
            args = args_of(&part, rows, E, K);
            args.logits.data = m.logits + first * E;
            call(contexts[first % 2], &args);
            size_t count = (size_t)(rows * K);
            cr_assert(memcmp(part.ids, m.ids + first * K, count * sizeof *m.ids) == 0);
            cr_assert(memcmp(part.weights, m.weights + first * K, count * sizeof *m.weights) == 0);
        }
    }
    assay_context_destroy(contexts[0]);
    assay_context_destroy(contexts[1]);
}

/* Every documented error [MOEROUTER-5] [MOEROUTER-7]. */
Test(moe_router, errors)
{
    enum { T = 2, N = 8 };
    float logits[T * N] = {0};
    union {
        float weights[64];
        int32_t ids[64];
    } out;
    const struct assay_moe_router_args good = {
        .logits = assay_tensor_2d(logits, ASSAY_F32, T, N),
        .ids = assay_tensor_2d(out.ids, ASSAY_I32, T, 3),
        .weights = assay_tensor_2d(out.weights + 16, ASSAY_F32, T, 3)};
    struct bad_calls *calls = bad_calls_new(&assay_op_moe_router, &good, &out, sizeof out);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_moe_router_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "logits", a.logits.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "weights", a.weights.data = NULL);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.rank = 1);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.extent[1] = a.logits.stride[0] = 65536);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 3);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = a.ids.stride[0] = N + 1);
    BAD(ASSAY_E_SHAPE, "ids",
        (a.logits.extent[1] = a.logits.stride[0] = 100, a.ids.extent[1] = a.ids.stride[0] = 65));
    BAD(ASSAY_E_SHAPE, "weights", a.weights.extent[1] = 2);
    BAD(ASSAY_E_FORMAT, "logits", a.logits.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_FORMAT, "weights", a.weights.dtype = ASSAY_BF16);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[0] = 2);
    BAD(ASSAY_E_LAYOUT, "weights", a.weights.stride[0] = -3);
    BAD(ASSAY_E_ALIAS, "ids", a.logits.data = out.weights + 1);
    BAD(ASSAY_E_ALIAS, "weights", a.logits.data = out.weights + 17);
    BAD(ASSAY_E_ALIAS, "weights", a.weights.data = out.weights + 2);
#undef BAD
    bad_calls_finish(calls);
}
