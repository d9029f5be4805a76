/* SPDX-License-Identifier: MIT
 *
 * linear_pair's laws and its bad calls. Clauses tested here or by the sweep
 * (linear_pair.route.cpu): [LINEARPAIR-1] alone, integers and sweep; [LINEARPAIR-2] sweep
 * (formats, strides) and the empty call here; [LINEARPAIR-3] sweep against the oracle;
 * [LINEARPAIR-4] sweep (guards, padding=garbage) and errors; [LINEARPAIR-5] alone, alone_kernels,
 * row_bits; [LINEARPAIR-6] alone on NaN and the sweep's distribution nonfinite; [LINEARPAIR-7]
 * errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "product_laws.h"
#include "words.h"
#include <assay/ops/linear_pair.h>

enum { MAX = ASSAY_LINEAR_PAIR_MAX };

/* One call's memory, and each product's own. */
struct operands {
    struct assay_linear_pair_args args;
    struct assay_tensor alone[MAX];
};

/* Product i has format (first + i step) of the five. */
static struct operands new_operands(int num_products, int first, int step, int64_t tokens,
                                    const int64_t *rows, int64_t inner)
{
    struct operands o = {
        .args = {.x = noise_tensor(tokens, inner, 0), .num_products = num_products}};
    for (int i = 0; i < num_products; i++) {
        enum assay_weight_format format =
            (enum assay_weight_format)((first + i * step) % ASSAY_NUM_WEIGHT_FORMATS);
        o.args.w[i] = noise_matrix(format, rows[i], inner, i + 1);
        o.args.y[i] = noise_tensor(tokens, rows[i], 9);
        o.alone[i] = noise_tensor(tokens, rows[i], 10);
    }
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->args.x.data);
    for (int i = 0; i < o->args.num_products; i++) {
        free(o->args.w[i].base.data);
        free(o->args.y[i].data);
        free(o->alone[i].data);
    }
}

static void call(assay_context *context, const struct assay_linear_pair_args *a)
{
    cr_assert_eq(assay_linear_pair(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

/* The call and the separate ones: the same bits. */
static void compare_alone(assay_context *context, const struct operands *o, const char *method)
{
    call(context, &o->args);
    for (int i = 0; i < o->args.num_products; i++) {
        const struct assay_tensor *y = &o->args.y[i];
        product_alone(context, &o->args.x, &o->args.w[i], &o->alone[i]);
        cr_assert(memcmp(y->data, o->alone[i].data, 4 * (size_t)assay_tensor_count(y)) == 0,
                  "%s: y[%d] of %d, %s, T = %lld, K = %lld has other bits than alone", method, i,
                  o->args.num_products, assay_weight_format_name(o->args.w[i].format),
                  (long long)y->extent[0], (long long)o->args.w[i].columns);
    }
}

/* Each y has the bits of its product alone, on every method, whatever the formats beside it, NaN
 * among the inputs included [LINEARPAIR-1] [LINEARPAIR-5] [LINEARPAIR-6]. */
Test(linear_pair, alone)
{
    static const char *const methods[] = {"plain", "avx2", "avx512"};
    static const int64_t tokens[] = {1, 2, 7, 25, 50};
    static const int64_t rows[MAX] = {83, 35, 97, 3};
    enum { K = 203 };
    assay_context *context = new_context(2);
    for (int first = 0; first < ASSAY_NUM_WEIGHT_FORMATS; first++) {
        for (int step = 0; step < ASSAY_NUM_WEIGHT_FORMATS; step++) {
            struct operands o = new_operands(2 + (first + step) % 3, first, step,
                                             tokens[(first + step) % 5], rows, K);
            oracle_put(&o.args.x, 17, NAN);
            for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
                if (!force_method(context, "linear_pair", methods[m]))
                    continue;
                force_products(context, methods[m]);
                compare_alone(context, &o, methods[m]);
            }
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* The same of the kernels, on the executor: what dispatch takes has the bits of what dispatch takes
 * of the products, for one row, few and many [LINEARPAIR-5]. */
Test(linear_pair, alone_kernels)
{
    static const int64_t tokens[] = {1, 3, 40};
    static const int64_t rows[MAX] = {37, 3, 50, 2};
    assay_context *context = new_simt_context();
    if (context == NULL)
        return;
    for (int t = 0; t < 3; t++) {
        for (int first = 0; first < ASSAY_NUM_WEIGHT_FORMATS; first++) {
            for (int step = 0; step < 3; step++) {
                if (t > 0 && step != 1)
                    continue;
                int64_t inner = t == 0 && step == 2 ? 4100 : 200;
                struct operands o =
                    new_operands(2 + (first + step) % 3, first, step, tokens[t], rows, inner);
                compare_alone(context, &o, "simt");
                free_operands(&o);
            }
        }
    }
    assay_context_destroy(context);
}

/* A row has the same bits at every T from 1 to 23, in every place of the batch and with 1, 2 and 3
 * threads [LINEARPAIR-5]. */
Test(linear_pair, row_bits)
{
    static const int64_t sizes[MAX] = {131, 70, 33, 5};
    enum { T = 23, K = 131 };
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    struct operands full = new_operands(MAX, 0, 1, T, sizes, K);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear_pair); r++) {
        const struct assay_route *route = take_route(contexts[0], &assay_op_linear_pair, r);
        if (route == NULL)
            continue;
        call(contexts[0], &full.args);
        for (int64_t rows = 1; rows <= T; rows++) {
            int64_t first = (int64_t)(noise_bits(rows) % (uint64_t)(T - rows + 1));
            assay_context *context = contexts[rows % 3];
            cr_assert_eq(take_route(context, &assay_op_linear_pair, r), route);
            struct assay_linear_pair_args a = full.args;
            a.x.data = assay_tensor_row(&full.args.x, first);
            a.x.extent[0] = rows;
            for (int i = 0; i < MAX; i++) {
                a.y[i].data = full.alone[i].data;
                a.y[i].extent[0] = rows;
            }
            call(context, &a);
            for (int i = 0; i < MAX; i++)
                cr_assert(memcmp(a.y[i].data, assay_tensor_row(&full.args.y[i], first),
                                 (size_t)(rows * sizes[i]) * sizeof(float)) == 0,
                          "%s: y[%d]: %lld rows from %lld on have other bits than among all",
                          route->name, i, (long long)rows, (long long)first);
        }
    }
    free_operands(&full);
    for (int c = 0; c < 3; c++)
        assay_context_destroy(contexts[c]);
}

/* Integers: every sum is exact and counted here, each matrix on its own [LINEARPAIR-1]. */
Test(linear_pair, integers)
{
    static const int64_t rows[MAX] = {9, 4, 2, 5};
    enum { T = 3, K = 77 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(MAX, 0, 0, T, rows, K);
    for (int i = 0; i < T * K; i++)
        oracle_put(&o.args.x, i, (double)(noise_bits(i) % 9) - 4);
    for (int p = 0; p < MAX; p++)
        for (int i = 0; i < rows[p] * K; i++)
            oracle_put(&o.args.w[p].base, i, (double)(noise_bits(~i * (p + 1)) % 7) - 3);
    EACH_ROUTE(context, &assay_op_linear_pair, route)
    {
        call(context, &o.args);
        for (int p = 0; p < MAX; p++) {
            for (int64_t i = 0; i < T * rows[p]; i++) {
                double sum = 0;
                for (int64_t k = 0; k < K; k++)
                    sum += oracle_get(&o.args.x, i / rows[p] * K + k) *
                           oracle_get(&o.args.w[p].base, i % rows[p] * K + k);
                cr_assert_eq(oracle_get(&o.args.y[p], i), sum, "%s: y[%d][%lld]", route->name, p,
                             (long long)i);
            }
        }
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARPAIR-2]. */
Test(linear_pair, empty)
{
    static const int64_t rows[MAX] = {2, 3, 1, 1};
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(3, 0, 1, 1, rows, 5);
    struct assay_linear_pair_args a = o.args;
    a.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 5);
    for (int i = 0; i < 3; i++)
        a.y[i] = assay_tensor_2d(NULL, ASSAY_F32, 0, rows[i]);
    EACH_ROUTE(context, &assay_op_linear_pair, route)
    call(context, &a);
    free_operands(&o);
    assay_context_destroy(context);
}

/* Every documented error [LINEARPAIR-4] [LINEARPAIR-7]. */
Test(linear_pair, errors)
{
    enum { T = 2, N = 3, K = 8 };
    float x[T * K] = {0}, y[3][64];
    uint16_t planes[1024] = {0}, matrix[N * K] = {0};
    struct assay_linear_pair_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                          .num_products = 3};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, N, K, &good.w[0], NULL), ASSAY_OK);
    cr_assert_eq(assay_weights_at(matrix, ASSAY_WEIGHT_BF16, N, K, &good.w[1], NULL), ASSAY_OK);
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, N, K, &good.w[2], NULL), ASSAY_OK);
    for (int i = 0; i < 3; i++)
        good.y[i] = assay_tensor_2d(y[i], ASSAY_F32, T, N);
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_pair, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_pair_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "num_products", a.num_products = 1);
    BAD(ASSAY_E_ARG, "num_products", a.num_products = 5);
    BAD(ASSAY_E_ARG, "w[2]", (a.num_products = 2, a.y[2].data = NULL));
    BAD(ASSAY_E_ARG, "y[2]", a.num_products = 2);
    BAD(ASSAY_E_ARG, "w[3]", a.w[3] = a.w[2]);
    BAD(ASSAY_E_ARG, "y[3]", a.y[3] = a.y[2]);
    BAD(ASSAY_E_SHAPE, "w[3]", a.num_products = 4);
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w[0].high", a.w[0].high.data = NULL);
    BAD(ASSAY_E_ARG, "w[1].base", a.w[1].base.data = NULL);
    BAD(ASSAY_E_ARG, "w[1].scales", a.w[1].scales = a.w[0].scales);
    BAD(ASSAY_E_ARG, "y[1]", a.y[1].data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "w[0]", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w[1]", a.w[1].columns = a.w[1].base.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w[1].base", a.w[1].rows = N + 1);
    BAD(ASSAY_E_SHAPE, "w[2]", a.w[2].rows = 0);
    BAD(ASSAY_E_SHAPE, "y[0]", a.y[0].rank = 1);
    BAD(ASSAY_E_SHAPE, "y[2]", a.y[2].extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y[2]", a.y[2].extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w[0]", a.w[0].format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w[1].base", a.w[1].base.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "y[1]", a.y[1].dtype = ASSAY_F64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w[1].base", a.w[1].base.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y[2]", a.y[2].stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y[0]", a.x.data = y[0] + 1);
    BAD(ASSAY_E_ALIAS, "y[1]", a.y[1].data = y[0] + 2);
    BAD(ASSAY_E_ALIAS, "y[2]", a.y[2].data = y[0]);
    BAD(ASSAY_E_ALIAS, "y[0]", a.w[1].base.data = y[0] + 1);
    BAD(ASSAY_E_ALIAS, "y[1]", a.w[0].scales.data = y[1] + 1);
#undef BAD
    bad_calls_finish(calls);
}
