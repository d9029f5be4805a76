/* SPDX-License-Identifier: MIT
 *
 * linear_grouped's laws and its bad calls. Clauses tested here or by the sweep
 * (linear_grouped.route.cpu): [LINEARGROUPED-1] theory, every_code and sweep; [LINEARGROUPED-2]
 * sweep (formats, strides) and the empty call here; [LINEARGROUPED-3] sweep against the oracle;
 * [LINEARGROUPED-4] in_place, sweep (guards, layout inplace) and errors; [LINEARGROUPED-5]
 * row_bits; [LINEARGROUPED-6] nonfinite and the sweep's distribution nonfinite; [LINEARGROUPED-7]
 * padding and the sweep's padding=garbage; [LINEARGROUPED-8] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "oracle_formats.h"
#include "words.h"
#include <assay/ops/linear_grouped.h>

static uint64_t hash(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* Values with many significant bits, so that any change of the order of a sum changes its bits. */
static double noise(int64_t i)
{
    return (double)(int64_t)hash(i) * 0x1p-62;
}

/* One call's memory: x and the residual are noise, the planes any bytes. */
struct operands {
    struct assay_linear_grouped_args args;
    void *memory[4];
};

static struct operands new_operands(enum assay_weight_format format, int64_t rows, int64_t columns,
                                    int64_t inner)
{
    struct operands o = {0};
    struct assay_linear_grouped_args *a = &o.args;
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(format, columns, inner, &layout, NULL), ASSAY_OK);
    const size_t bytes[4] = {4 * (size_t)(rows * inner), layout.total, 4 * (size_t)(rows * columns),
                             4 * (size_t)(rows * columns)};
    for (int i = 0; i < 4; i++) {
        o.memory[i] = malloc(bytes[i] + 1);
        cr_assert_not_null(o.memory[i]);
    }
    a->x = assay_tensor_2d(o.memory[0], ASSAY_F32, rows, inner);
    cr_assert_eq(assay_weights_at(o.memory[1], format, columns, inner, &a->w, NULL), ASSAY_OK);
    a->residual = assay_tensor_2d(o.memory[2], ASSAY_F32, rows, columns);
    a->y = assay_tensor_2d(o.memory[3], ASSAY_F32, rows, columns);
    for (size_t i = 0; i < layout.total; i++)
        ((uint8_t *)o.memory[1])[i] = (uint8_t)hash((int64_t)i);
    for (int64_t i = 0; i < assay_tensor_count(&a->w.scales); i++)
        oracle_put(&a->w.scales, i, noise(~i) / 64);
    for (int64_t i = 0; i < rows * inner; i++)
        oracle_put(&a->x, i, noise(i));
    for (int64_t i = 0; i < rows * columns; i++)
        oracle_put(&a->residual, i, noise(i ^ 0x55555555));
    return o;
}

static void free_operands(struct operands *o)
{
    for (int i = 0; i < 4; i++)
        free(o->memory[i]);
}

static void call(assay_context *context, const struct assay_linear_grouped_args *a)
{
    cr_assert_eq(assay_linear_grouped(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

#define EACH_FORMAT(format)                                                                       \
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64; format < ASSAY_NUM_WEIGHT_FORMATS; \
         format = (enum assay_weight_format)(format + 1))

/* A row has the same bits at every T from 1 to 23, in every place of the batch and with 1, 2 and 3
 * threads [LINEARGROUPED-5]. N is several ranges of the thread pool long. */
Test(linear_grouped, row_bits)
{
    enum { T = 23, N = 517, K = 331 };
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    float *y = malloc(sizeof *y * T * N);
    cr_assert_not_null(y);
    EACH_FORMAT(format)
    {
        struct operands full = new_operands(format, T, N, K);
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_grouped); r++) {
            const struct assay_route *route = take_route(contexts[0], &assay_op_linear_grouped, r);
            if (route == NULL)
                continue;
            call(contexts[0], &full.args);
            for (int64_t rows = 1; rows <= T; rows++) {
                int64_t first = (int64_t)(hash(rows) % (uint64_t)(T - rows + 1));
                assay_context *context = contexts[rows % 3];
                cr_assert_eq(take_route(context, &assay_op_linear_grouped, r), route);
                struct assay_linear_grouped_args a = full.args;
                a.x.data = assay_tensor_row(&full.args.x, first);
                a.residual.data = assay_tensor_row(&full.args.residual, first);
                a.y.data = y;
                a.x.extent[0] = a.residual.extent[0] = a.y.extent[0] = rows;
                call(context, &a);
                cr_assert(memcmp(y, assay_tensor_row(&full.args.y, first),
                                 (size_t)(rows * N) * sizeof *y) == 0,
                          "%s, %s: %lld rows from %lld on have other bits than among all",
                          route->name, assay_weight_format_name(format), (long long)rows,
                          (long long)first);
            }
        }
        free_operands(&full);
    }
    free(y);
    for (int c = 0; c < 3; c++)
        assay_context_destroy(contexts[c]);
}

/* Unit vectors give each weight exactly, and with a scale of 1 each code: the stored bytes are read
 * as docs/formats.md has them [LINEARGROUPED-1]. */
Test(linear_grouped, every_code)
{
    enum { N = 9, K = 257 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, K, N, K);
        o.args.residual.data = NULL;
        for (int64_t i = 0; i < (int64_t)K * K; i++)
            oracle_put(&o.args.x, i, i / K == i % K);
        EACH_ROUTE(context, &assay_op_linear_grouped, route)
        {
            call(context, &o.args);
            for (int64_t i = 0; i < (int64_t)K * N; i++)
                cr_assert_eq(oracle_get(&o.args.y, i), oracle_weight_value(&o.args.w, i % N, i / N),
                             "%s, %s: weight (%lld, %lld)", route->name,
                             assay_weight_format_name(format), (long long)(i % N),
                             (long long)(i / N));
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Theory [LINEARGROUPED-1]: x and the residual doubled double y; all scales negated negate it; an x
 * of zeros leaves the residual. To the bit. */
Test(linear_grouped, theory)
{
    enum { T = 5, N = 37, K = 203 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        EACH_ROUTE(context, &assay_op_linear_grouped, route)
        {
            struct operands o = new_operands(format, T, N, K);
            float first[T * N], *y = o.memory[3], *x = o.memory[0], *residual = o.memory[2];
            call(context, &o.args);
            memcpy(first, y, sizeof first);
            for (int i = 0; i < T * K; i++)
                x[i] *= 2;
            for (int i = 0; i < T * N; i++)
                residual[i] *= 2;
            call(context, &o.args);
            for (int i = 0; i < T * N; i++)
                cr_assert_eq(y[i], 2 * first[i], "%s: doubled, y[%d]", route->name, i);
            uint16_t *scale = o.args.w.scales.data;
            for (int64_t i = 0; i < assay_tensor_count(&o.args.w.scales); i++)
                scale[i] ^= 0x8000;
            for (int i = 0; i < T * N; i++)
                residual[i] *= -1;
            call(context, &o.args);
            for (int i = 0; i < T * N; i++)
                cr_assert_eq(y[i], -2 * first[i], "%s: negated, y[%d]", route->name, i);
            memset(x, 0, sizeof *x * T * K);
            call(context, &o.args);
            for (int i = 0; i < T * N; i++)
                cr_assert_eq(y[i], residual[i], "%s: residual, y[%d]", route->name, i);
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* y += x W^T in place has the bits of the call with a y of its own [LINEARGROUPED-4]. */
Test(linear_grouped, in_place)
{
    enum { T = 7, N = 131, K = 130 };
    assay_context *context = new_context(2);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        EACH_ROUTE(context, &assay_op_linear_grouped, route)
        {
            struct operands o = new_operands(format, T, N, K);
            call(context, &o.args);
            struct assay_linear_grouped_args a = o.args;
            a.y = a.residual;
            call(context, &a);
            cr_assert(memcmp(o.memory[2], o.memory[3], sizeof(float) * T * N) == 0, "%s",
                      route->name);
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* Another code in every format, nothing else. */
static void change_code(const struct assay_weights *w, int64_t n, int64_t k)
{
    int bits = assay_weight_bits(w->format), low = bits == 8 ? 8 : 4;
    ((uint8_t *)assay_tensor_row(&w->base, n))[low * k / 8] ^= (uint8_t)(5 << low * k % 8);
    if (bits != low)
        ((uint8_t *)assay_tensor_row(&w->high, n))[(bits - low) * k / 8] ^=
            (uint8_t)(1 << (bits - low) * k % 8);
}

/* Codes of the padding, and NaN scales of groups that hold nothing else, change no bit
 * [LINEARGROUPED-7]. */
Test(linear_grouped, padding)
{
    static const int64_t inner_lengths[] = {1, 31, 33, 63, 64, 65, 96, 127, 129, 161, 193};
    enum { T = 9, N = 10 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        for (size_t i = 0; i < sizeof inner_lengths / sizeof inner_lengths[0]; i++) {
            int64_t inner = inner_lengths[i], group = assay_weight_group(format);
            struct operands o = new_operands(format, T, N, inner);
            struct assay_weights *w = &o.args.w;
            EACH_ROUTE(context, &assay_op_linear_grouped, route)
            {
                float first[T * N];
                int64_t groups = w->scales.extent[1], used = (inner + group - 1) / group;
                call(context, &o.args);
                memcpy(first, o.memory[3], sizeof first);
                for (int64_t n = 0; n < N; n++) {
                    for (int64_t k = inner; k < groups * group; k++)
                        change_code(w, n, k);
                    for (int64_t g = used; g < groups; g++)
                        oracle_put(&w->scales, n * groups + g, NAN);
                }
                call(context, &o.args);
                cr_assert(memcmp(first, o.memory[3], sizeof first) == 0, "%s, %s, K=%lld",
                          route->name, assay_weight_format_name(format), (long long)inner);
            }
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* A NaN in row 2 of x makes that row NaN, one in a scale of row 5 of w that column; an infinity
 * makes its row infinite, or NaN where it meets a weight of zero; residuals carry theirs
 * [LINEARGROUPED-6]. Nothing else changes. */
Test(linear_grouped, nonfinite)
{
    enum { T = 8, N = 9, K = 163 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, T, N, K);
        float *x = o.memory[0], *residual = o.memory[2], *y = o.memory[3];
        int64_t groups = o.args.w.scales.extent[1], group = assay_weight_group(format);
        oracle_put(&o.args.w.scales, 5 * groups + (K - 1) / group, NAN);
        oracle_put(&o.args.w.scales, 6 * groups + (K - 1) / group, 0);
        x[2 * K + 7] = NAN;
        x[4 * K + K - 1] = -INFINITY;
        residual[6 * N + 3] = NAN;
        residual[7 * N + 3] = INFINITY;
        EACH_ROUTE(context, &assay_op_linear_grouped, route)
        {
            call(context, &o.args);
            for (int i = 0; i < T * N; i++) {
                int t = i / N, n = i % N;
                double weight = oracle_weight_value(&o.args.w, n, K - 1);
                double expected = t == 2 || n == 5 || i == 6 * N + 3 ? NAN
                                  : t == 4                           ? -INFINITY * weight
                                  : i == 7 * N + 3                   ? INFINITY
                                                                     : 0;
                cr_assert(isnan(expected)   ? isnan(y[i])
                          : isinf(expected) ? (double)y[i] == expected
                                            : isfinite(y[i]),
                          "%s, %s: y[%d] is %g", route->name, assay_weight_format_name(format), i,
                          (double)y[i]);
            }
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARGROUPED-2]. */
Test(linear_grouped, empty)
{
    assay_context *context = new_context(1);
    const struct assay_route *route;
    struct operands o = new_operands(ASSAY_WEIGHT_Q6G64, 1, 2, 3);
    o.args.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3);
    o.args.residual = o.args.y = assay_tensor_2d(NULL, ASSAY_F32, 0, 2);
    EACH_ROUTE(context, &assay_op_linear_grouped, route)
    call(context, &o.args);
    free_operands(&o);
    assay_context_destroy(context);
}

/* Every documented error [LINEARGROUPED-4] [LINEARGROUPED-8]. */
Test(linear_grouped, errors)
{
    enum { T = 2, N = 3, K = 8 };
    float x[T * K] = {0}, residual[T * N] = {0}, y[256];
    uint16_t planes[1024] = {0};
    struct assay_linear_grouped_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                             .residual = assay_tensor_2d(residual, ASSAY_F32, T, N),
                                             .y = assay_tensor_2d(y, ASSAY_F32, T, N)};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, N, K, &good.w, NULL), ASSAY_OK);
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_grouped, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_grouped_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w.base", a.w.base.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.high.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", a.w.scales.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 3);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = -1);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = INT64_MAX);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.columns = 129);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.rows = N + 1);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.base.rank = 1);
    BAD(ASSAY_E_SHAPE, "w.high", a.w.high.extent[0] = N - 1);
    BAD(ASSAY_E_SHAPE, "w.high", a.w.format = ASSAY_WEIGHT_Q6G64);
    BAD(ASSAY_E_SHAPE, "w.scales", a.w.scales.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_WEIGHT_BF16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w.base", a.w.base.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "w.high", a.w.high.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "w.scales", a.w.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "residual", a.residual.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", a.w.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.high", a.w.high.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "w.scales", a.w.scales.stride[1] = 0);
    BAD(ASSAY_E_LAYOUT, "w.scales", a.w.scales.data = (char *)a.w.scales.data + 1);
    BAD(ASSAY_E_LAYOUT, "residual", a.residual.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.base.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.w.high.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.w.scales.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.residual.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.residual.data = y, a.y.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
