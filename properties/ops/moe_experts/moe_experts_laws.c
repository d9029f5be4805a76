/* SPDX-License-Identifier: MIT
 *
 * moe_experts' laws and its bad calls. Clauses tested here or by the sweep (moe_experts.route.cpu):
 * [MOEEXPERTS-1] unfused, relabelled, integers and sweep; [MOEEXPERTS-2] sweep (formats, strides,
 * T = 0); [MOEEXPERTS-3] sweep against the oracle; [MOEEXPERTS-4] slots and sweep (repeated,
 * invalid); [MOEEXPERTS-5] row_bits; [MOEEXPERTS-6] sweep (nonfinite, zeros, unused experts of
 * NaN) and slots; [MOEEXPERTS-7] sweep (guards) and errors; [MOEEXPERTS-8] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "product_laws.h"
#include "words.h"
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/moe_experts.h>

enum { T = 13, E = 5, K = 3, H = 37, F = 29 };

/* Operands in bf16 and binary32, packed. */
struct memory {
    float x[T * H], weights[T * K], y[T * H];
    int32_t ids[T * K];
    uint16_t gate_up[E * 2 * F * H], down[E * H * F];
};

static struct assay_tensor bank_of(uint16_t *words, int64_t rows, int64_t columns)
{
    return assay_tensor_3d(words, ASSAY_BF16, E, rows, columns);
}

static struct assay_moe_experts_args args_of(struct memory *m, int tokens, int k)
{
    return (struct assay_moe_experts_args){.x = assay_tensor_2d(m->x, ASSAY_F32, tokens, H),
                                           .ids = assay_tensor_2d(m->ids, ASSAY_I32, tokens, k),
                                           .weights =
                                               assay_tensor_2d(m->weights, ASSAY_F32, tokens, k),
                                           .gate_up = bank_of(m->gate_up, 2 * F, H),
                                           .down = bank_of(m->down, H, F),
                                           .y = assay_tensor_2d(m->y, ASSAY_F32, tokens, H)};
}

static void fill_bank(struct assay_tensor bank, int seed)
{
    for (int64_t i = 0; i < assay_tensor_count(&bank); i++)
        oracle_put(&bank, i, (double)((i * 37 + seed * 11) % 61 - 30) * 0x1p-5);
}

/* Three different experts a token. */
static void fill(struct memory *m)
{
    fill_floats(m->x, T * H, 1);
    fill_floats(m->weights, T * K, 2);
    for (int i = 0; i < T * K; i++)
        m->ids[i] = (int32_t)((i / K * 2 + i % K * (1 + i / K % 2)) % E);
    fill_bank(bank_of(m->gate_up, 2 * F, H), 3);
    fill_bank(bank_of(m->down, H, F), 4);
}

static void call(assay_context *context, const struct assay_moe_experts_args *a)
{
    cr_assert_eq(assay_moe_experts(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

static struct assay_weights matrix(uint16_t *words, int64_t rows, int64_t columns)
{
    return (struct assay_weights){.format = ASSAY_WEIGHT_BF16,
                                  .rows = rows,
                                  .columns = columns,
                                  .base = assay_tensor_2d(words, ASSAY_BF16, rows, columns)};
}

/* One slot of weight 1: linear_swiglu and linear with its expert's matrices. Vector routes have
 * their bits; the plain one keeps h in binary64 [MOEEXPERTS-1]. */
Test(moe_experts, unfused)
{
    static const char *const methods[] = {"plain", "avx2", "avx512"};
    static struct memory m;
    assay_context *context = new_context(2);
    fill(&m);
    for (int t = 0; t < T; t++) {
        m.weights[t] = 1;
        m.ids[t] = t * 3 % E;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!force_method(context, "moe_experts", methods[i]))
            continue;
        force_method(context, "linear_swiglu", methods[i]);
        force_products(context, methods[i]);
        struct assay_moe_experts_args a = args_of(&m, T, 1);
        call(context, &a);
        for (int t = 0; t < T; t++) {
            float h[F], y[H];
            uint16_t *const bank = m.gate_up + m.ids[t] * 2 * F * H;
            const struct assay_weights down = matrix(m.down + m.ids[t] * H * F, H, F);
            const struct assay_tensor h_row = assay_tensor_2d(h, ASSAY_F32, 1, F);
            const struct assay_tensor y_row = assay_tensor_2d(y, ASSAY_F32, 1, H);
            const struct assay_linear_swiglu_args first = {
                .x = assay_tensor_2d(m.x + t * H, ASSAY_F32, 1, H),
                .gate = matrix(bank, F, H),
                .up = matrix(bank + F * H, F, H),
                .y = h_row};
            cr_assert_eq(assay_linear_swiglu(context, &first), ASSAY_OK);
            product_alone(context, &h_row, &down, &y_row);
            for (int n = 0; n < H; n++) {
                double bound = i == 0 ? 0x1p-18 * (1 + fabs((double)y[n])) : 0;
                cr_assert(fabs((double)m.y[t * H + n] - (double)y[n]) <= bound,
                          "%s: y[%d,%d] is %a, not %a", methods[i], t, n, (double)m.y[t * H + n],
                          (double)y[n]);
            }
        }
    }
    assay_context_destroy(context);
}

/* Experts under other numbers: the same bits [MOEEXPERTS-1]. */
static void relabelled_body(assay_context *context, const char *route)
{
    static struct memory m, other;
    fill(&m);
    other = m;
    for (int i = 0; i < T * K; i++)
        other.ids[i] = (m.ids[i] * 2 + 1) % E;
    for (int e = 0; e < E; e++) {
        memcpy(other.gate_up + (e * 2 + 1) % E * 2 * F * H, m.gate_up + e * 2 * F * H,
               sizeof *m.gate_up * 2 * F * H);
        memcpy(other.down + (e * 2 + 1) % E * H * F, m.down + e * H * F, sizeof *m.down * H * F);
    }
    struct assay_moe_experts_args a = args_of(&m, T, K), b = args_of(&other, T, K);
    if (strstr(route, ".pairs.") != NULL)
        a.x.extent[0] = a.ids.extent[0] = a.weights.extent[0] = a.y.extent[0] = b.x.extent[0] =
            b.ids.extent[0] = b.weights.extent[0] = b.y.extent[0] = 8;
    call(context, &a);
    call(context, &b);
    cr_assert(memcmp(m.y, other.y, (size_t)(a.y.extent[0] * H) * sizeof *m.y) == 0, "%s", route);
}

Test(moe_experts, relabelled)
{
    each_route(&assay_op_moe_experts, relabelled_body);
}

/* A weight divided over two slots of one expert, and a slot of weight 0: the bits of the call
 * without. A negated weight negates. An id that is no expert makes its row NaN, and no other
 * [MOEEXPERTS-4]; a weight of 0 keeps a NaN [MOEEXPERTS-6]. */
static void slots_body(assay_context *context, const char *route)
{
    enum { N = 4 };
    static struct memory m, other;
    fill(&m);
    other = m;
    for (int t = 0; t < N; t++) {
        m.ids[t] = t;
        m.weights[t] = (float)(1 << t) * 0.5f; /* exact products */
        for (int i = 0; i < 3; i++) {
            other.ids[t * 3 + i] = i == 1 ? (t + 1) % E : t;
            other.weights[t * 3 + i] = i == 1 ? 0 : m.weights[t] / 2;
        }
    }
    struct assay_moe_experts_args a = args_of(&m, N, 1), b = args_of(&other, N, 3);
    call(context, &a);
    call(context, &b);
    for (int i = 0; i < N * H; i++)
        cr_assert(m.y[i] == other.y[i], "%s: y[%d] is %a, not %a", route, i, (double)other.y[i],
                  (double)m.y[i]);
    for (int t = 0; t < N; t++)
        other.weights[t * 3] *= -1;
    call(context, &b);
    for (int i = 0; i < N * H; i++)
        cr_assert(fabs((double)other.y[i]) < 0x1p-18, "%s: %a", route, (double)other.y[i]);
    other.ids[3 + 1] = -1; /* of weight 0 */
    other.ids[9 + 2] = E;
    call(context, &b);
    for (int i = 0; i < N * H; i++)
        cr_assert((isnan(other.y[i]) != 0) == (i / H == 1 || i / H == 3), "%s: y[%d]", route, i);
    m.down[H * F - 1] = 0x7fc0;
    m.weights[0] = 0;
    call(context, &a);
    cr_assert(isnan(m.y[H - 1]) && !isnan(m.y[H - 2]) && !isnan(m.y[2 * H - 1]), "%s", route);
}

Test(moe_experts, slots)
{
    each_route(&assay_op_moe_experts, slots_body);
}

/* Integers with gates that are 0 or large, whose silu is the gate: y counted here
 * [MOEEXPERTS-1]. */
static void integers_body(assay_context *context, const char *route)
{
    enum { N = 5 };
    static struct memory m;
    int64_t expected[N * H] = {0};
    for (int i = 0; i < N * H; i++)
        m.x[i] = (float)(1 + i * 7 % 2);
    for (int i = 0; i < N * K; i++) {
        m.ids[i] = i * 3 % E;
        m.weights[i] = (float)(i % 3 - 1);
    }
    const struct assay_tensor gate_up = bank_of(m.gate_up, 2 * F, H), down = bank_of(m.down, H, F);
    for (int i = 0; i < E * 2 * F * H; i++)
        oracle_put(&gate_up, i, i / H % (2 * F) < F ? i / H % 5 : i * 5 % 3 - 1);
    for (int i = 0; i < E * H * F; i++)
        oracle_put(&down, i, i * 11 % 3 - 1);
    for (int p = 0; p < N * K; p++)
        for (int f = 0; f < F; f++) {
            int64_t g = 0, u = 0;
            for (int i = 0; i < H; i++) {
                int64_t row = ((int64_t)m.ids[p] * 2 * F + f) * H + i;
                int64_t x = (int64_t)m.x[p / K * H + i];
                g += x * (int64_t)oracle_get(&gate_up, row);
                u += x * (int64_t)oracle_get(&gate_up, row + F * H);
            }
            for (int n = 0; n < H; n++)
                expected[p / K * H + n] +=
                    (int64_t)m.weights[p] * g * u *
                    (int64_t)oracle_get(&down, ((int64_t)m.ids[p] * H + n) * F + f);
        }
    struct assay_moe_experts_args a = args_of(&m, N, K);
    call(context, &a);
    for (int i = 0; i < N * H; i++)
        cr_assert_eq((double)m.y[i], (double)expected[i], "%s: y[%d] is %g, not %lld", route, i,
                     (double)m.y[i], (long long)expected[i]);
}

Test(moe_experts, integers)
{
    each_route(&assay_op_moe_experts, integers_body);
}

/* A row has the same bits at every T, in every place, whatever experts the others have, and with 1
 * and 3 threads [MOEEXPERTS-5]; on the executor both kernels have the same bits. */
static void row_bits_of(assay_context *const *contexts, const struct memory *m, int route)
{
    static struct memory part;
    for (int first = 0; first < T; first++) {
        int tokens = 1 + first * 5 % (T - first);
        assay_context *context = contexts[first % 2];
        if (route >= 0)
            cr_assert(take_route(context, &assay_op_moe_experts, route) != NULL);
        part = *m;
        struct assay_moe_experts_args a = args_of(&part, tokens, K);
        memcpy(part.x, m->x + first * H, sizeof *m->x * (size_t)(tokens * H));
        memcpy(part.ids, m->ids + first * K, sizeof *m->ids * (size_t)(tokens * K));
        memcpy(part.weights, m->weights + first * K, sizeof *m->weights * (size_t)(tokens * K));
        for (int i = K; i < tokens * K; i++) /* the first token stays, others go elsewhere */
            part.ids[i] = (int32_t)((part.ids[i] + 1 + first % 3) % E);
        call(context, &a);
        cr_assert(memcmp(part.y, m->y + first * H, sizeof *m->y * H) == 0, "row %d of %d", first,
                  tokens);
    }
}

Test(moe_experts, row_bits)
{
    static struct memory m;
    assay_context *contexts[2] = {new_context(1), new_context(3)};
    assay_context *simt = new_simt_context();
    fill(&m);
    struct assay_moe_experts_args a = args_of(&m, T, K);
    for (int r = 0; r < assay_op_num_routes(&assay_op_moe_experts); r++) {
        if (take_route(contexts[0], &assay_op_moe_experts, r) == NULL)
            continue;
        call(contexts[0], &a);
        row_bits_of(contexts, &m, r);
    }
    if (simt != NULL) {
        assay_context *const both[2] = {simt, simt};
        call(simt, &a);
        row_bits_of(both, &m, -1);
    }
    assay_context_destroy(contexts[0]);
    assay_context_destroy(contexts[1]);
    assay_context_destroy(simt);
}

/* Every documented error [MOEEXPERTS-7] [MOEEXPERTS-8]. */
Test(moe_experts, errors)
{
    static struct memory m;
    fill(&m);
    struct assay_moe_experts_args good = args_of(&m, T, K);
    struct bad_calls *calls = bad_calls_new(&assay_op_moe_experts, &good, m.y, sizeof m.y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_moe_experts_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "weights", a.weights.data = NULL);
    BAD(ASSAY_E_ARG, "gate_up", a.gate_up.data = NULL);
    BAD(ASSAY_E_ARG, "down", a.down.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x",
        (a.x.extent[1] = a.y.extent[1] = a.gate_up.extent[2] = a.down.extent[1] = 0));
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = a.ids.stride[0] = 65);
    BAD(ASSAY_E_SHAPE, "weights", a.weights.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.rank = 2);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.extent[0] = 65536);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.extent[1] = 2 * F - 1);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.extent[2] = H - 1);
    BAD(ASSAY_E_SHAPE, "down", a.down.extent[0] = E - 1);
    BAD(ASSAY_E_SHAPE, "down", a.down.extent[1] = H - 1);
    BAD(ASSAY_E_SHAPE, "down", a.down.extent[2] = 0);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "weights", a.weights.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "gate_up", a.gate_up.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "down", a.down.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_I32);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "gate_up", a.gate_up.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "down", a.down.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = m.y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.ids.data = m.y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.weights.data = m.y + 3);
    BAD(ASSAY_E_ALIAS, "y", a.gate_up.data = m.y);
    BAD(ASSAY_E_ALIAS, "y", a.down.data = m.y);
#undef BAD
    bad_calls_finish(calls);
}
