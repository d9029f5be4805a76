/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu's laws and its bad calls. Clauses tested here or by the sweep
 * (linear_swiglu.route.cpu): [LINEARSWIGLU-1] theory, integers and sweep; [LINEARSWIGLU-2] sweep
 * (formats, strides) and the empty call here; [LINEARSWIGLU-3] sweep against the oracle;
 * [LINEARSWIGLU-4] sweep (guards, padding=garbage) and errors; [LINEARSWIGLU-5] row_bits;
 * [LINEARSWIGLU-6] nonfinite and the sweep's distribution nonfinite; [LINEARSWIGLU-7] errors;
 * [LINEARSWIGLU-8] unfused and unfused_kernels.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "product_laws.h"
#include "words.h"
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/silu_mul.h>

/* One call's memory, and a gate's and an up's own product. */
struct operands {
    struct assay_linear_swiglu_args args;
    struct assay_tensor sums[2];
};

static struct operands new_operands(enum assay_weight_format gate, enum assay_weight_format up,
                                    int64_t rows, int64_t columns, int64_t inner)
{
    struct operands o = {.args = {.x = noise_tensor(rows, inner, 0),
                                  .gate = noise_matrix(gate, columns, inner, 1),
                                  .up = noise_matrix(up, columns, inner, 2),
                                  .y = noise_tensor(rows, columns, 3)},
                         .sums = {noise_tensor(rows, columns, 4), noise_tensor(rows, columns, 5)}};
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->args.x.data);
    free(o->args.gate.base.data);
    free(o->args.up.base.data);
    free(o->args.y.data);
    free(o->sums[0].data);
    free(o->sums[1].data);
}

static void call(assay_context *context, const struct assay_linear_swiglu_args *a)
{
    cr_assert_eq(assay_linear_swiglu(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

/* The three calls; their result stands in sums[0]. */
static void unfused(assay_context *context, const struct operands *o)
{
    product_alone(context, &o->args.x, &o->args.gate, &o->sums[0]);
    product_alone(context, &o->args.x, &o->args.up, &o->sums[1]);
    const struct assay_silu_mul_args a = {.gate = o->sums[0], .up = o->sums[1], .y = o->sums[0]};
    cr_assert_eq(assay_silu_mul(context, &a), ASSAY_OK);
}

/* Vector routes have the bits of the three calls. The plain route keeps its sums in binary64: each
 * is rounded to binary32 once more in the three calls [LINEARSWIGLU-8]. */
static void compare_unfused(assay_context *context, const struct operands *o, const char *method)
{
    bool is_plain = strcmp(method, "plain") == 0;
    int64_t count = assay_tensor_count(&o->args.y);
    call(context, &o->args);
    unfused(context, o);
    for (int64_t i = 0; i < count; i++) {
        double fused = oracle_get(&o->args.y, i), separate = oracle_get(&o->sums[0], i);
        double up = oracle_get(&o->sums[1], i);
        double bound = is_plain ? 0x1p-22 * (fabs(separate) + 40 * fabs(up)) : 0;
        cr_assert(fabs(fused - separate) <= bound, "%s, %s and %s: y[%lld] is %a, not %a", method,
                  assay_weight_format_name(o->args.gate.format),
                  assay_weight_format_name(o->args.up.format), (long long)i, fused, separate);
    }
}

Test(linear_swiglu, unfused)
{
    static const char *const methods[] = {"plain", "avx2", "avx512"};
    static const int64_t rows[] = {1, 2, 7, 24, 25, 53};
    enum { N = 83, K = 203 };
    assay_context *context = new_context(2);
    EACH_FORMAT(gate) EACH_FORMAT(up)
    {
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            if (gate != up && rows[r] != 25)
                continue;
            struct operands o = new_operands(gate, up, rows[r], N, K);
            for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
                if (!force_method(context, "linear_swiglu", methods[m]))
                    continue;
                force_products(context, methods[m]);
                compare_unfused(context, &o, methods[m]);
            }
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* The same of the kernels, on the executor: what dispatch takes has the bits of what dispatch takes
 * of the three ops, for one row, few and many [LINEARSWIGLU-8]. K is long enough for several warps
 * to share a row. */
Test(linear_swiglu, unfused_kernels)
{
    static const int64_t rows[] = {1, 3, 40};
    static const int64_t inner[] = {200, 4100};
    assay_context *context = new_simt_context();
    if (context == NULL)
        return;
    for (size_t k = 0; k < 2; k++) {
        for (size_t r = 0; r < 3; r++) {
            int64_t columns = rows[r] == 1 ? 7 : 21;
            EACH_FORMAT(gate) EACH_FORMAT(up)
            {
                if ((gate != up && (gate + 1) % 5 != up) || (inner[k] > 1000 && rows[r] > 1))
                    continue;
                struct operands o = new_operands(gate, up, rows[r], columns, inner[k]);
                call(context, &o.args);
                unfused(context, &o);
                cr_assert(memcmp(o.args.y.data, o.sums[0].data,
                                 sizeof(float) * (size_t)(rows[r] * columns)) == 0,
                          "%s and %s, T = %lld, K = %lld: other bits than the three calls have",
                          assay_weight_format_name(gate), assay_weight_format_name(up),
                          (long long)rows[r], (long long)inner[k]);
                free_operands(&o);
            }
        }
    }
    assay_context_destroy(context);
}

/* A row has the same bits at every T from 1 to 31, in every place of the batch and with 1, 2 and 3
 * threads [LINEARSWIGLU-5]. N is several ranges of the thread pool long. */
Test(linear_swiglu, row_bits)
{
    enum { T = 31, N = 131, K = 131 };
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    EACH_FORMAT(format)
    {
        struct operands full = new_operands(format, format, T, N, K);
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_swiglu); r++) {
            const struct assay_route *route = take_route(contexts[0], &assay_op_linear_swiglu, r);
            if (route == NULL)
                continue;
            call(contexts[0], &full.args);
            for (int64_t rows = 1; rows <= T; rows++) {
                int64_t first = (int64_t)(noise_bits(rows) % (uint64_t)(T - rows + 1));
                assay_context *context = contexts[rows % 3];
                cr_assert_eq(take_route(context, &assay_op_linear_swiglu, r), route);
                struct assay_linear_swiglu_args a = full.args;
                a.x.data = assay_tensor_row(&full.args.x, first);
                a.y.data = full.sums[0].data;
                a.x.extent[0] = a.y.extent[0] = rows;
                call(context, &a);
                cr_assert(memcmp(full.sums[0].data, assay_tensor_row(&full.args.y, first),
                                 (size_t)(rows * N) * sizeof(float)) == 0,
                          "%s, %s: %lld rows from %lld on have other bits than among all",
                          route->name, assay_weight_format_name(format), (long long)rows,
                          (long long)first);
            }
        }
        free_operands(&full);
    }
    for (int c = 0; c < 3; c++)
        assay_context_destroy(contexts[c]);
}

/* Theory [LINEARSWIGLU-1]: up doubled doubles y, up negated negates it, a gate of zeros makes it 0:
 * to the bit. And silu(g) - silu(-g) = g, so that the y of a gate and of its negative differ by the
 * product of g and u. */
Test(linear_swiglu, theory)
{
    enum { T = 5, N = 37, K = 70 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_swiglu, route)
    {
        struct operands o = new_operands(ASSAY_WEIGHT_BF16, ASSAY_WEIGHT_BF16, T, N, K);
        float first[T * N], negated[T * N], *y = o.args.y.data;
        const float *g = o.sums[0].data, *u = o.sums[1].data;
        call(context, &o.args);
        memcpy(first, y, sizeof first);
        for (int i = 0; i < N * K; i++)
            oracle_put(&o.args.gate.base, i, -oracle_get(&o.args.gate.base, i));
        call(context, &o.args);
        memcpy(negated, y, sizeof negated);
        product_alone(context, &o.args.x, &o.args.gate, &o.sums[0]);
        product_alone(context, &o.args.x, &o.args.up, &o.sums[1]);
        for (int i = 0; i < T * N; i++) {
            double expected = -(double)g[i] * (double)u[i];
            double bound = 0x1p-18 * (fabs(expected) + fabs((double)u[i]) + fabs((double)g[i]));
            cr_assert(fabs((double)first[i] - (double)negated[i] - expected) <= bound,
                      "%s: silu(g) u - silu(-g) u of y[%d] is not g u", route->name, i);
        }
        for (int i = 0; i < N * K; i++)
            oracle_put(&o.args.up.base, i, -2 * oracle_get(&o.args.up.base, i));
        call(context, &o.args);
        for (int i = 0; i < T * N; i++)
            cr_assert_eq(y[i], -2 * negated[i], "%s: up times -2, y[%d]", route->name, i);
        memset(o.args.gate.base.data, 0, (size_t)N * K * 2);
        call(context, &o.args);
        for (int i = 0; i < T * N; i++)
            cr_assert_eq(y[i], 0, "%s: a gate of zeros, y[%d]", route->name, i);
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Integers with gates of 64 and more, whose silu is the gate in any arithmetic, or of 0: y is the
 * product of two integers, counted here [LINEARSWIGLU-1]. */
Test(linear_swiglu, integers)
{
    enum { T = 6, N = 29, K = 77 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(ASSAY_WEIGHT_BF16, ASSAY_WEIGHT_BF16, T, N, K);
    int x[T * K], gate[N * K], up[N * K];
    for (int i = 0; i < T * K; i++)
        oracle_put(&o.args.x, i, x[i] = 1 + (int)(noise_bits(i) % 2));
    for (int i = 0; i < N * K; i++) {
        gate[i] = i / K == 3 ? 0 : 1 + (int)(noise_bits(~i) % 3);
        up[i] = (int)(noise_bits(i ^ 0x5555) % 3) - 1;
        oracle_put(&o.args.gate.base, i, gate[i]);
        oracle_put(&o.args.up.base, i, up[i]);
    }
    EACH_ROUTE(context, &assay_op_linear_swiglu, route)
    {
        call(context, &o.args);
        for (int i = 0; i < T * N; i++) {
            int g = 0, u = 0, t = i / N, n = i % N;
            for (int k = 0; k < K; k++) {
                g += x[t * K + k] * gate[n * K + k];
                u += x[t * K + k] * up[n * K + k];
            }
            cr_assert_eq(oracle_get(&o.args.y, i), g * u, "%s: y[%d]", route->name, i);
        }
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* A NaN stays in its row or column; an infinite up gives an infinity for every finite gate, however
 * small its silu; silu(-infinity) is NaN [LINEARSWIGLU-6]. One weight of each row is not zero. */
Test(linear_swiglu, nonfinite)
{
    enum { T = 1, N = 7, K = 3 };
    static const double gates[N] = {-200, 200, 1, NAN, INFINITY, -INFINITY, 2};
    static const double ups[N] = {INFINITY, -INFINITY, NAN, 1, -2, 1, 3};
    static const double expected[N] = {-INFINITY, -INFINITY, NAN, NAN, -INFINITY, NAN, 5};
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(ASSAY_WEIGHT_BF16, ASSAY_WEIGHT_BF16, T, N, K);
    for (int i = 0; i < K; i++)
        oracle_put(&o.args.x, i, 1);
    for (int i = 0; i < N * K; i++) {
        oracle_put(&o.args.gate.base, i, i % K == 1 ? gates[i / K] : 0);
        oracle_put(&o.args.up.base, i, i % K == 1 ? ups[i / K] : 0);
    }
    EACH_ROUTE(context, &assay_op_linear_swiglu, route)
    {
        call(context, &o.args);
        for (int i = 0; i < N; i++) {
            double y = oracle_get(&o.args.y, i);
            cr_assert(isnan(expected[i])   ? isnan(y)
                      : isinf(expected[i]) ? y == expected[i]
                                           : isfinite(y),
                      "%s: y[%d] is %g", route->name, i, y);
        }
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARSWIGLU-2]. */
Test(linear_swiglu, empty)
{
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(ASSAY_WEIGHT_Q6G64, ASSAY_WEIGHT_BF16, 1, 2, 3);
    o.args.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3);
    o.args.y = assay_tensor_2d(NULL, ASSAY_F32, 0, 2);
    EACH_ROUTE(context, &assay_op_linear_swiglu, route)
    call(context, &o.args);
    free_operands(&o);
    assay_context_destroy(context);
}

/* Every documented error [LINEARSWIGLU-4] [LINEARSWIGLU-7]. */
Test(linear_swiglu, errors)
{
    enum { T = 2, N = 3, K = 8 };
    float x[T * K] = {0}, y[256];
    uint16_t planes[1024] = {0}, matrix[N * K] = {0};
    struct assay_linear_swiglu_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                            .y = assay_tensor_2d(y, ASSAY_F32, T, N)};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, N, K, &good.gate, NULL), ASSAY_OK);
    cr_assert_eq(assay_weights_at(matrix, ASSAY_WEIGHT_BF16, N, K, &good.up, NULL), ASSAY_OK);
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_swiglu, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_swiglu_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "gate.base", a.gate.base.data = NULL);
    BAD(ASSAY_E_ARG, "gate.high", a.gate.high.data = NULL);
    BAD(ASSAY_E_ARG, "gate.scales", a.gate.scales.data = NULL);
    BAD(ASSAY_E_ARG, "gate.high", a.gate.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_ARG, "up.base", a.up.base.data = NULL);
    BAD(ASSAY_E_ARG, "up.high", a.up.high = a.gate.high);
    BAD(ASSAY_E_ARG, "up.scales", a.up.scales = a.gate.scales);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.rows = 0);
    BAD(ASSAY_E_SHAPE, "gate.base", a.gate.rows = N + 1);
    BAD(ASSAY_E_SHAPE, "gate.scales", a.gate.scales.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "up", a.up.rows = 0);
    BAD(ASSAY_E_SHAPE, "up", a.up.columns = -1);
    BAD(ASSAY_E_SHAPE, "up.base", a.up.rows = N + 1);
    BAD(ASSAY_E_SHAPE, "up.base", a.up.base.extent[1] = K + 1);
    BAD(ASSAY_E_SHAPE, "up", (a.up.rows = a.up.base.extent[0] = N - 1));
    BAD(ASSAY_E_SHAPE, "up", (a.up.columns = a.up.base.extent[1] = K - 1));
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 3);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "gate", a.gate.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "gate.base", a.gate.base.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "up.base", a.up.base.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "up", a.up.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "gate.base", a.gate.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "up.base", a.up.base.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.gate.base.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.gate.high.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.gate.scales.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.up.base.data = y + 1);
#undef BAD
    bad_calls_finish(calls);
}
