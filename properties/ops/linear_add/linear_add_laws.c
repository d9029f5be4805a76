/* SPDX-License-Identifier: MIT
 *
 * linear_add's laws and its bad calls. Clauses tested here or by the sweep (linear_add.route.cpu):
 * [LINEARADD-1] parts and sweep; [LINEARADD-2] sweep (formats, strides) and the empty call here;
 * [LINEARADD-3] sweep against the oracle; [LINEARADD-4] in_place, sweep (guards, layout inplace)
 * and errors; [LINEARADD-5] row_bits; [LINEARADD-6] nonfinite and the sweep's distribution
 * nonfinite; [LINEARADD-7] padding and the sweep's padding=garbage; [LINEARADD-8] parts;
 * [LINEARADD-9] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "oracle_formats.h"
#include "words.h"
#include <assay/ops/add.h>
#include <assay/ops/linear.h>
#include <assay/ops/linear_add.h>
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

/* One call's memory: x, r and the weights are noise. */
struct operands {
    struct assay_linear_add_args args;
    void *memory[4];
};

enum { X, W, R, Y };

static struct operands new_operands(enum assay_weight_format format, int64_t rows, int64_t columns,
                                    int64_t inner)
{
    struct operands o = {0};
    struct assay_linear_add_args *a = &o.args;
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(format, columns, inner, &layout, NULL), ASSAY_OK);
    const size_t bytes[4] = {4 * (size_t)(rows * inner), layout.total, 4 * (size_t)(rows * columns),
                             4 * (size_t)(rows * columns)};
    for (int i = 0; i < 4; i++) {
        o.memory[i] = malloc(bytes[i] + 1);
        cr_assert_not_null(o.memory[i]);
    }
    a->x = assay_tensor_2d(o.memory[X], ASSAY_F32, rows, inner);
    cr_assert_eq(assay_weights_at(o.memory[W], format, columns, inner, &a->w, NULL), ASSAY_OK);
    a->r = assay_tensor_2d(o.memory[R], ASSAY_F32, rows, columns);
    a->y = assay_tensor_2d(o.memory[Y], ASSAY_F32, rows, columns);
    for (size_t i = 0; i < layout.total; i++)
        ((uint8_t *)o.memory[W])[i] = (uint8_t)hash((int64_t)i);
    struct assay_tensor *numbers = format == ASSAY_WEIGHT_BF16 ? &a->w.base : &a->w.scales;
    for (int64_t i = 0; i < assay_tensor_count(numbers); i++)
        oracle_put(numbers, i, noise(~i) / (format == ASSAY_WEIGHT_BF16 ? 1 : 64));
    for (int64_t i = 0; i < rows * inner; i++)
        oracle_put(&a->x, i, noise(i));
    for (int64_t i = 0; i < rows * columns; i++)
        oracle_put(&a->r, i, noise(i ^ 0x55555555));
    return o;
}

static void free_operands(struct operands *o)
{
    for (int i = 0; i < 4; i++)
        free(o->memory[i]);
}

static void call(assay_context *context, const struct assay_linear_add_args *a)
{
    cr_assert_eq(assay_linear_add(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

static bool takes(const struct assay_route *route, const struct assay_linear_add_args *a)
{
    return route->accepts == NULL || route->accepts(a);
}

#define EACH_FORMAT(format)                                                                      \
    for (enum assay_weight_format format = ASSAY_WEIGHT_BF16; format < ASSAY_NUM_WEIGHT_FORMATS; \
         format = (enum assay_weight_format)(format + 1))

/* ---- parts ---------------------------------------------------------------------------------- */

/* "linear_add.grouped.small.simt" is made of "linear_grouped.small.simt",
 * "linear_add.bf16.avx2.cpu" of "linear.bf16.avx2.cpu" and add. False: of neither. */
static bool force_product(assay_context *context, const struct assay_route *route, bool is_bf16)
{
    const char *rest = route->name + strlen("linear_add.");
    char name[64];
    if (!is_bf16) {
        const char *method = strncmp(rest, "grouped.", 8) == 0 ? rest + 8 : rest;
        snprintf(name, sizeof name, "linear_grouped.%s", method);
    } else if (strncmp(rest, "plain", 5) == 0) { /* adds in binary64 */
        return false;
    } else {
        snprintf(name, sizeof name, "linear.%s",
                 route->backend == ASSAY_CPU ? rest : rest + strlen("bf16."));
    }
    cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK, "%s", name);
    return true;
}

/* What [LINEARADD-1] says is composed of, into `expected`. */
static bool by_parts(assay_context *context, const struct assay_route *route,
                     const struct assay_linear_add_args *a, float *expected)
{
    bool is_bf16 = a->w.format == ASSAY_WEIGHT_BF16;
    struct assay_tensor y = assay_tensor_2d(expected, ASSAY_F32, a->y.extent[0], a->y.extent[1]);
    if (!force_product(context, route, is_bf16))
        return false;
    if (!is_bf16) {
        struct assay_linear_grouped_args product = {.x = a->x, .w = a->w, .residual = a->r, .y = y};
        cr_assert_eq(assay_linear_grouped(context, &product), ASSAY_OK, "%s", route->name);
        return true;
    }
    struct assay_linear_args product = {.x = a->x, .w = a->w.base, .y = y};
    struct assay_add_args sum = {.a = y, .b = a->r, .y = y};
    cr_assert_eq(assay_linear(context, &product), ASSAY_OK, "%s", route->name);
    cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
    cr_assert_eq(assay_add(context, &sum), ASSAY_OK, "%s", route->name);
    return true;
}

static int check_parts(assay_context *context, enum assay_weight_format format, int64_t rows)
{
    enum { N = 69, K = 203 };
    float expected[40 * N];
    int compared = 0;
    struct operands o = new_operands(format, rows, N, K);
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear_add); r++) {
        const struct assay_route *route = take_route(context, &assay_op_linear_add, r);
        if (route == NULL || !takes(route, &o.args))
            continue;
        call(context, &o.args);
        if (!by_parts(context, route, &o.args, expected))
            continue;
        cr_assert(memcmp(expected, o.memory[Y], sizeof(float) * (size_t)(rows * N)) == 0,
                  "%s, %s, %lld rows: other bits than its parts give", route->name,
                  assay_weight_format_name(format), (long long)rows);
        compared++;
    }
    free_operands(&o);
    return compared;
}

/* Grouped formats: the bits of linear_grouped with r as its residual; bf16: those of linear into
 * binary32 and add [LINEARADD-1] [LINEARADD-8]. */
Test(linear_add, parts)
{
    static const int64_t row_counts[] = {1, 2, 7, 25, 33};
    enum { NUM = sizeof row_counts / sizeof *row_counts };
    assay_context *context = new_context(2);
    EACH_FORMAT(format)
    for (int i = 0; i < NUM; i++)
        cr_assert_gt(check_parts(context, format, row_counts[i]), 0);
    assay_context_destroy(context);
}

/* The same of the device's kernels on the executor. */
Test(linear_add, parts_simt)
{
    static const int64_t row_counts[] = {1, 2, 33};
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    assay_context *context;
    if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
        return; /* a build without the executor */
    EACH_FORMAT(format)
    for (size_t i = 0; i < sizeof row_counts / sizeof *row_counts; i++)
        cr_assert_gt(check_parts(context, format, row_counts[i]), 0);
    assay_context_destroy(context);
}

/* ---- laws of one route ----------------------------------------------------------------------- */

/* A row has the same bits at every T from 1 to 26, in every place of the batch and with 1, 2 and 3
 * threads [LINEARADD-5]. N is several ranges of the thread pool long. */
Test(linear_add, row_bits)
{
    enum { T = 26, N = 517, K = 203 };
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    float *y = malloc(sizeof *y * T * N);
    cr_assert_not_null(y);
    EACH_FORMAT(format)
    {
        struct operands full = new_operands(format, T, N, K);
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_add); r++) {
            const struct assay_route *route = take_route(contexts[0], &assay_op_linear_add, r);
            if (route == NULL || !takes(route, &full.args))
                continue;
            call(contexts[0], &full.args);
            for (int64_t rows = 1; rows <= T; rows++) {
                int64_t first = (int64_t)(hash(rows) % (uint64_t)(T - rows + 1));
                assay_context *context = contexts[rows % 3];
                cr_assert_eq(take_route(context, &assay_op_linear_add, r), route);
                struct assay_linear_add_args a = full.args;
                a.x.data = assay_tensor_row(&full.args.x, first);
                a.r.data = assay_tensor_row(&full.args.r, first);
                a.y.data = y;
                a.x.extent[0] = a.r.extent[0] = a.y.extent[0] = rows;
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

/* y += x W^T in place has the bits of the call with a y of its own [LINEARADD-4]. */
Test(linear_add, in_place)
{
    enum { T = 27, N = 131, K = 130 };
    assay_context *context = new_context(2);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        EACH_ROUTE(context, &assay_op_linear_add, route)
        {
            struct operands o = new_operands(format, T, N, K);
            if (takes(route, &o.args)) {
                call(context, &o.args);
                struct assay_linear_add_args a = o.args;
                a.y = a.r;
                call(context, &a);
                cr_assert(memcmp(o.memory[R], o.memory[Y], sizeof(float) * T * N) == 0, "%s",
                          route->name);
            }
            free_operands(&o);
        }
    }
    assay_context_destroy(context);
}

/* Codes of the padding and NaN scales of groups that hold nothing else change no bit
 * [LINEARADD-7]. */
Test(linear_add, padding)
{
    enum { T = 5, N = 10, K = 33 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    for (int f = ASSAY_WEIGHT_Q4G64; f < ASSAY_NUM_WEIGHT_FORMATS; f++) {
        struct operands o = new_operands((enum assay_weight_format)f, T, N, K);
        struct assay_weights *w = &o.args.w;
        int64_t group = assay_weight_group(w->format), groups = w->scales.extent[1];
        EACH_ROUTE(context, &assay_op_linear_add, route)
        {
            float first[T * N];
            if (!takes(route, &o.args))
                continue;
            call(context, &o.args);
            memcpy(first, o.memory[Y], sizeof first);
            for (int64_t n = 0; n < N; n++) {
                uint8_t *base = assay_tensor_row(&w->base, n);
                for (int64_t i = 40; i < w->base.extent[1]; i++) /* codes from 40 on at least */
                    base[i] ^= 0x5a;
                for (int64_t g = (K + group - 1) / group; g < groups; g++)
                    oracle_put(&w->scales, n * groups + g, NAN);
            }
            call(context, &o.args);
            cr_assert(memcmp(first, o.memory[Y], sizeof first) == 0, "%s, %s", route->name,
                      assay_weight_format_name(w->format));
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* A NaN in row 2 of x makes that row NaN, one in row 5 of w that column, an infinity of r its
 * element [LINEARADD-6]. Nothing else changes. */
Test(linear_add, nonfinite)
{
    enum { T = 8, N = 9, K = 163 };
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, T, N, K);
        float *y = o.memory[Y];
        struct assay_tensor *numbers =
            format == ASSAY_WEIGHT_BF16 ? &o.args.w.base : &o.args.w.scales;
        oracle_put(numbers, 5 * numbers->extent[1], NAN);
        oracle_put(&o.args.x, 2 * K + 7, NAN);
        oracle_put(&o.args.r, 6 * N + 3, NAN);
        oracle_put(&o.args.r, 7 * N + 3, -INFINITY);
        EACH_ROUTE(context, &assay_op_linear_add, route)
        {
            if (!takes(route, &o.args))
                continue;
            call(context, &o.args);
            for (int i = 0; i < T * N; i++) {
                bool is_nan = i / N == 2 || i % N == 5 || i == 6 * N + 3;
                bool good = is_nan           ? isnan(y[i])
                            : i == 7 * N + 3 ? (double)y[i] == -INFINITY
                                             : isfinite(y[i]);
                cr_assert(good, "%s, %s: y[%d] is %g", route->name,
                          assay_weight_format_name(format), i, (double)y[i]);
            }
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARADD-2]. */
Test(linear_add, empty)
{
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, 1, 2, 3);
        o.args.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3);
        o.args.r = o.args.y = assay_tensor_2d(NULL, ASSAY_F32, 0, 2);
        EACH_ROUTE(context, &assay_op_linear_add, route)
        if (takes(route, &o.args))
            call(context, &o.args);
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Every documented error [LINEARADD-4] [LINEARADD-9]. */
Test(linear_add, errors)
{
    enum { T = 2, N = 3, K = 8 };
    float x[T * K] = {0}, r[T * N] = {0}, y[256];
    uint16_t planes[1024] = {0}, numbers[N * K] = {0};
    struct assay_linear_add_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                         .r = assay_tensor_2d(r, ASSAY_F32, T, N),
                                         .y = assay_tensor_2d(y, ASSAY_F32, T, N)};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, N, K, &good.w, NULL), ASSAY_OK);
    struct assay_weights bf16;
    cr_assert_eq(assay_weights_at(numbers, ASSAY_WEIGHT_BF16, N, K, &bf16, NULL), ASSAY_OK);
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_add, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_add_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w.base", a.w.base.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.high.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", a.w.scales.data = NULL);
    BAD(ASSAY_E_ARG, "r", a.r.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_ARG, "w.base", (a.w = bf16, a.w.base.data = NULL));
    BAD(ASSAY_E_ARG, "w.high", (a.w = bf16, a.w.high = good.w.high));
    BAD(ASSAY_E_ARG, "w.scales", (a.w = bf16, a.w.scales = good.w.scales));
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = 0);
    BAD(ASSAY_E_SHAPE, "w", (a.w = bf16, a.w.rows = 0));
    BAD(ASSAY_E_SHAPE, "w", (a.w = bf16, a.w.columns = 0));
    BAD(ASSAY_E_SHAPE, "w.base", (a.w = bf16, a.w.rows = N + 1));
    BAD(ASSAY_E_SHAPE, "w.base", (a.w = bf16, a.w.columns = K + 1));
    BAD(ASSAY_E_SHAPE, "w.base", a.w.rows = N + 1);
    BAD(ASSAY_E_SHAPE, "w.high", a.w.format = ASSAY_WEIGHT_Q6G64);
    BAD(ASSAY_E_SHAPE, "w.scales", a.w.scales.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "r", a.r.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "r", a.r.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w.base", a.w.base.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "w.base", (a.w = bf16, a.w.base.dtype = ASSAY_F32));
    BAD(ASSAY_E_FORMAT, "w.scales", a.w.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "r", a.r.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", a.w.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", (a.w = bf16, a.w.base.stride[1] = 2));
    BAD(ASSAY_E_LAYOUT, "w.high", a.w.high.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "r", a.r.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.base.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.w.scales.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", (a.w = bf16, a.w.base.data = y + 2));
    BAD(ASSAY_E_ALIAS, "y", a.r.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.r.data = y, a.y.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
