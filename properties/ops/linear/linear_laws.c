/* SPDX-License-Identifier: MIT
 *
 * linear's laws and its bad calls. Clauses tested here or by the sweep (linear.route.cpu):
 * [LINEAR-1] laws and sweep; [LINEAR-2] sweep (formats, strides) and the empty call here;
 * [LINEAR-3] sweep against the oracle; [LINEAR-4] sweep (guards, NaN between rows) and errors;
 * [LINEAR-5] row_bits and row_bits_by_threads; [LINEAR-6] nonfinite and the sweep's distribution
 * nonfinite; [LINEAR-7] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "linear_mutants.h"
#include "verify.h"
#include "words.h"
#include <assay/ops/linear.h>

/* Values with many significant bits, so that any change of the order of a sum changes its bits. */
static double noise(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(int64_t)(h ^ h >> 32) * 0x1p-62;
}

/* One call's memory: x and w filled with noise. */
struct operands {
    struct assay_linear_args args;
    size_t y_row_bytes;
};

static struct operands new_operands(enum assay_dtype x, enum assay_dtype y, int64_t rows,
                                    int64_t columns, int64_t inner)
{
    struct operands o;
    void *memory[3] = {malloc((size_t)(rows * inner) * 4), malloc((size_t)(columns * inner) * 2),
                       malloc((size_t)(rows * columns) * 4)};
    cr_assert(memory[0] != NULL && memory[1] != NULL && memory[2] != NULL);
    o.args.x = assay_tensor_2d(memory[0], x, rows, inner);
    o.args.w = assay_tensor_2d(memory[1], ASSAY_BF16, columns, inner);
    o.args.y = assay_tensor_2d(memory[2], y, rows, columns);
    o.y_row_bytes = (size_t)columns * assay_dtype_bytes(y);
    for (int64_t i = 0; i < rows * inner; i++)
        oracle_put(&o.args.x, i, noise(i));
    for (int64_t i = 0; i < columns * inner; i++)
        oracle_put(&o.args.w, i, noise(~i));
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->args.x.data);
    free(o->args.w.data);
    free(o->args.y.data);
}

/* Rows first .. first + rows - 1 of the full call, into y. */
static struct assay_linear_args part(const struct operands *full, int64_t first, int64_t rows,
                                     void *y)
{
    struct assay_linear_args a = full->args;
    a.x.data = assay_tensor_row(&full->args.x, first);
    a.x.extent[0] = a.y.extent[0] = rows;
    a.y.data = y;
    return a;
}

static void expect_rows(const struct operands *full, int64_t first, int64_t rows, const void *y,
                        const char *what)
{
    const char *expected = (const char *)full->args.y.data + (size_t)first * full->y_row_bytes;
    cr_assert(memcmp(y, expected, (size_t)rows * full->y_row_bytes) == 0,
              "%s: rows %lld to %lld have other bits than among all", what, (long long)first,
              (long long)(first + rows - 1));
}

/* A row has the same bits at every T from 1 to 64 and in every place of the batch [LINEAR-5]. */
Test(linear, row_bits)
{
    enum { T = 64, N = 21, K = 203 };
    assay_context *context = new_context(1);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear); r++) {
        const struct assay_route *route = take_route(context, &assay_op_linear, r);
        if (route == NULL)
            continue;
        for (int format = 0; format < 4; format++) {
            struct operands full = new_operands(format & 1 ? ASSAY_BF16 : ASSAY_F32,
                                                format & 2 ? ASSAY_BF16 : ASSAY_F32, T, N, K);
            cr_assert_eq(assay_linear(context, &full.args), ASSAY_OK);
            float y[T * N];
            for (int64_t rows = 1; rows <= T; rows++) {
                for (int64_t first = 0; first + rows <= T; first += rows % 5 + 1) {
                    struct assay_linear_args a = part(&full, first, rows, y);
                    cr_assert_eq(assay_linear(context, &a), ASSAY_OK);
                    expect_rows(&full, first, rows, y, route->name);
                }
            }
            free_operands(&full);
        }
    }
    assay_context_destroy(context);
}

/* ... and with 1, 2 and 3 threads [LINEAR-5]. N is several ranges of the thread pool long. */
Test(linear, row_bits_by_threads)
{
    enum { T = 9, N = 4099, K = 203 };
    const int64_t row_counts[] = {1, 2, T};
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    float *y = malloc(sizeof *y * T * N);
    cr_assert_not_null(y);
    struct operands full = new_operands(ASSAY_F32, ASSAY_F32, T, N, K);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear); r++) {
        const struct assay_route *route = take_route(contexts[0], &assay_op_linear, r);
        if (route == NULL)
            continue;
        cr_assert_eq(assay_linear(contexts[0], &full.args), ASSAY_OK);
        for (int c = 0; c < 3; c++) {
            cr_assert_eq(take_route(contexts[c], &assay_op_linear, r), route);
            for (size_t i = 0; i < sizeof row_counts / sizeof row_counts[0]; i++) {
                struct assay_linear_args a = part(&full, 0, row_counts[i], y);
                cr_assert_eq(assay_linear(contexts[c], &a), ASSAY_OK);
                expect_rows(&full, 0, row_counts[i], y, route->name);
            }
        }
    }
    free_operands(&full);
    free(y);
    for (int c = 0; c < 3; c++)
        assay_context_destroy(contexts[c]);
}

/* Theory [LINEAR-1]: the identity gives x back; a scale of two is exact; rows of w in another order
 * give columns of y in that order, to the bit. */
Test(linear, theory)
{
    enum { T = 7, N = 37, K = 37 };
    assay_context *context = new_context(1);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear); r++) {
        const struct assay_route *route = take_route(context, &assay_op_linear, r);
        if (route == NULL)
            continue;
        struct operands o = new_operands(ASSAY_F32, ASSAY_F32, T, N, K);
        float first[T * N], *y = o.args.y.data, *x = o.args.x.data;
        cr_assert_eq(assay_linear(context, &o.args), ASSAY_OK);
        memcpy(first, y, sizeof first);

        uint16_t w[N * K];
        memcpy(w, o.args.w.data, sizeof w);
        for (int n = 0; n < N; n++) /* reversed */
            memcpy((uint16_t *)o.args.w.data + n * K, w + (N - 1 - n) * K, K * sizeof *w);
        for (int i = 0; i < T * K; i++)
            x[i] *= 2;
        cr_assert_eq(assay_linear(context, &o.args), ASSAY_OK);
        for (int i = 0; i < T * N; i++)
            cr_assert(y[i] == 2 * first[i / N * N + (N - 1 - i % N)], "%s: y[%d]", route->name, i);

        for (int i = 0; i < N * K; i++)
            oracle_put(&o.args.w, i, i / K == i % K);
        cr_assert_eq(assay_linear(context, &o.args), ASSAY_OK);
        for (int i = 0; i < T * N; i++)
            cr_assert(y[i] == x[i], "%s: identity, y[%d]", route->name, i);
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* A NaN in row 2 of x makes that row NaN, one in row 5 of w that column; an infinity meets zeros,
 * which is NaN, and ones, which is an infinity [LINEAR-6]. Nothing else changes: [LINEAR-4] asks
 * that no other row is read. */
Test(linear, nonfinite)
{
    enum { T = 8, N = 9, K = 33 };
    assay_context *context = new_context(1);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear); r++) {
        const struct assay_route *route = take_route(context, &assay_op_linear, r);
        if (route == NULL)
            continue;
        struct operands o = new_operands(ASSAY_F32, ASSAY_F32, T, N, K);
        float *x = o.args.x.data, *y = o.args.y.data;
        oracle_put(&o.args.w, 5 * K + K - 1, NAN);
        x[2 * K + 7] = NAN;
        x[4 * K + K - 1] = -INFINITY;
        for (int n = 0; n < N; n++)
            if (n != 5)
                oracle_put(&o.args.w, n * K + K - 1, n % 3 - 1);
        cr_assert_eq(assay_linear(context, &o.args), ASSAY_OK);
        for (int i = 0; i < T * N; i++) {
            int t = i / N, n = i % N;
            bool nan = t == 2 || n == 5 || (t == 4 && n % 3 == 1);
            cr_assert(nan ? isnan(y[i]) : !isnan(y[i]), "%s: y[%d]", route->name, i);
            if (t == 4 && !nan)
                cr_assert(y[i] == (n % 3 == 0 ? INFINITY : -INFINITY), "%s: y[%d]", route->name, i);
            else if (!nan)
                cr_assert(isfinite(y[i]), "%s: y[%d]", route->name, i);
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEAR-2]. */
Test(linear, empty)
{
    assay_context *context = new_context(1);
    uint16_t w[6] = {0};
    struct assay_linear_args args = {.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3),
                                     .w = assay_tensor_2d(w, ASSAY_BF16, 2, 3),
                                     .y = assay_tensor_2d(NULL, ASSAY_BF16, 0, 2)};
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear); r++) {
        if (!take_route(context, &assay_op_linear, r))
            continue;
        cr_assert_eq(assay_linear(context, &args), ASSAY_OK);
    }
    assay_context_destroy(context);
}

/* One wrong element among a million right ones is found, and by the element's own bound: the
 * relative L2 error of the whole output stays inside its allowance. */
Test(linear, one_wrong_in_a_million)
{
    struct assay_error error;
    assay_context *context = new_context(1);
    for (int m = 0; m < 2; m++) {
        const struct assay_route *route = &linear_mutants[m].route;
        cr_assert_eq(assay_route_add(route, &error), ASSAY_OK);
        char text[CASE_TEXT_BYTES], message[256];
        snprintf(text, sizeof text, "linear T=32 N=32768 K=7 x=bf16 y=bf16 dist=normal route=%s",
                 route->name);
        struct assay_case c;
        cr_assert(case_parse(text, &c, message, sizeof message), "%s", message);
        struct verify_outcome outcome;
        verify_case(context, &c, &outcome);
        const struct verdict *v = &outcome.verdict;
        cr_assert_geq(v->count, 1000000);
        cr_assert_eq(v->finding, m == 0 ? VERDICT_PASS : VERDICT_ELEMENT, "%s: %s", text,
                     v->message);
        cr_assert(v->relative_l2 <= v->allowance);
    }
    assay_context_destroy(context);
}

/* Every documented error [LINEAR-4] [LINEAR-7]. */
Test(linear, errors)
{
    enum { T = 2, N = 3, K = 8 };
    float x[T * K] = {0}, y[T * N + 8];
    uint16_t w[N * K] = {0};
    const struct assay_linear_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                           .w = assay_tensor_2d(w, ASSAY_BF16, N, K),
                                           .y = assay_tensor_2d(y, ASSAY_F32, T, N)};
    struct bad_calls *calls = bad_calls_new(&assay_op_linear, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w", a.w.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 3);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rank = 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F64);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w", a.w.stride[1] = 0);
    BAD(ASSAY_E_LAYOUT, "w", a.w.stride[0] = -K);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_LAYOUT, "x", a.x.data = (char *)x + 2);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.data = y + 2);
#undef BAD
    bad_calls_finish(calls);
}
